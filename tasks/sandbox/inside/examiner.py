"""The examiner: runs the checks, in a process that the program cannot reach, on stand-ins for what it has.

It is forked before the program starts, reads the checks by itself, and asks the program's process for what the checks
name, call and do. So a program never sees a check, can say nothing on the channel of verdicts, and is judged by the
values that it gives.
"""

from __future__ import annotations

import marshal
import os
import sys

from . import plain
from .checks import run_checks
from .operations import WITH_OTHERS
from .permitted import permitted
from .scope import scope
from .stand_ins import CLASS_NUMBER, NUMBER, Errs, Kind, Live, Thing, kind_of, live
from .wire import Reader, Writer, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from .channel import Channel
    from .line import Line

_exit = os._exit


def read_checks(source: int) -> list[tuple[str, str | None]]:
    """What the host has sent after its order."""
    with open(source, "rb", 0, closefd=False) as file:
        parts = []
        while part := file.read(1 << 20):
            parts.append(part)
    found: list[tuple[str, str | None]] = marshal.loads(b"".join(parts))
    return found


def examine(checks: list[tuple[str, str | None]], setup: str, name: str, line: Line, channel: Channel) -> NoReturn:
    """Runs `checks` when the program has, says how each went, and lets the program come to its end."""
    examiner = Examiner(line, name)
    if line.receive() is None:  # the program never came so far
        _exit(0)
    names = scope(checks, setup, name, examiner.named, frozenset(examiner.ask("names_of")))

    def say(*texts: str) -> None:
        _flush_all()
        channel.say(*texts)

    run_checks(checks, names, say)
    _flush_all()
    examiner.leave()


def _flush_all() -> None:
    try:
        sys.__stdout__.flush()  # type: ignore[union-attr]
    except (OSError, ValueError):  # closed by a check
        return


class Examiner:
    """Asks the program's process, and makes stand-ins of its answers."""

    def __init__(self, line: Line, module: str) -> None:
        self._line, self._module = line, module
        self._kinds: dict[int, Any] = {}
        self._things: dict[int, Any] = {}
        self._mine: list[Any] = []  # what was handed over, by number
        self._numbers: dict[int, int] = {}
        self._named: set[Any] = set()
        self._settled: dict[str, Any] = {}
        self._stdout = sys.stdout
        Kind._ask = self._asked

    def leave(self) -> NoReturn:
        self._line.send(bytes(Writer(self._described).put((False, "bye")).data))
        _exit(0)

    def named(self, name: str) -> Any:
        """What the program has by that name. NameError if it has nothing.

        It is asked each time, but for its functions and classes: nobody gives their names to others.
        """
        if name in self._settled:
            return self._settled[name]
        value = live(None, name, self.ask("name", name))
        if isinstance(value, Kind):
            self._named.add(value)
        if isinstance(value, Kind) or type(value).__name__ == "function":
            self._settled[name] = value
        return value

    # ---- questions

    def _asked(self, what: str, *parts: Any) -> Any:
        if what != "operate":
            value = self.ask(what, *parts)
            if what == "get" and isinstance(value, Kind):
                self._named.add(value)
            return value
        thing, name, args = parts
        if name in ("__eq__", "__ne__"):
            same = self._equal(thing, args[0])
            return same if name == "__eq__" or same is NotImplemented else not same
        if name in WITH_OTHERS and not self._tested(thing) and not all(isinstance(one, Thing) for one in args):
            if name == "__contains__":
                return any(args[0] is one or args[0] == one for one in thing)
            kind = type(thing).__name__
            raise TypeError(f"a {kind}, a class of the program's own, where the test expects a plain value")
        return self.ask("operate", thing, name, args)

    def _tested(self, thing: Any) -> bool:
        """Is its class one that the tests name, or derived from one?"""
        return not self._named.isdisjoint(type(thing).__mro__)

    def _equal(self, thing: Any, other: Any) -> Any:
        if thing is other:
            return True
        if not isinstance(other, Thing) and not self._tested(thing):
            return NotImplemented
        said = self.ask("operate", thing, "__eq__", (other,))
        if said is NotImplemented or not said:
            return said
        return said if not self._equals_everything(thing) else False

    def _equals_everything(self, thing: Any) -> bool:
        """Does it claim to equal an object that the program has never seen?"""
        try:
            said = self.ask("operate", thing, "__eq__", (object(),))
        except Exception:  # it looks into what it compares itself with
            return False
        return said is not NotImplemented and bool(said)

    def ask(self, what: str, *parts: Any) -> Any:
        """One question, and its answer. What the program raises is raised."""
        message = Writer(self._described).put((sys.stdout is not self._stdout, what, *parts))
        self._send(message)
        while True:
            data = self._line.receive()
            if data is None:  # no verdict: the host is told how the program ended
                _flush_all()
                _exit(1)
            if data[:1] == b"q":
                self._send(Writer(self._described).put((False, *self._obliged(data))))
                continue
            try:
                return self._read(data, message, what == "operate" and parts[1] == "__next__")
            except (plain.Strange, LookupError, ValueError, AttributeError) as error:
                if getattr(error, "_is_answer", False):
                    raise
                raise TypeError(f"what the program gives cannot be read: {error}") from None

    def _send(self, message: Writer) -> None:
        try:
            self._line.send(bytes(message.data))
        except OSError:
            _exit(1)

    def _read(self, data: bytes, message: Writer, draws: bool) -> Any:
        """draws: an iterator of the program's was asked for its next value."""
        reader = Reader(data, self._made, message.mutable, at=1)
        kind, printed, said = reader.get(), reader.get(), reader.get()
        if not reader.over:
            for container, new in [(one, reader.inside()) for one in message.mutable]:
                replace(container, new)
        if printed:
            sys.stdout.write(str(printed))
        if kind != "raised":
            return said
        error = said if isinstance(said, BaseException) else TypeError("what was raised is no error")
        if isinstance(error, StopIteration) and not draws:
            # It would end an iteration of the test's own, and `all(map(...))` would hold for what was never tested.
            error = RuntimeError("the program raised StopIteration")
        object.__setattr__(error, "_is_answer", True)
        raise error

    # ---- what the program asks back, while it answers

    def _obliged(self, data: bytes) -> tuple[str, Any]:
        try:
            number, what, *parts = Reader(data, self._made, at=1).get()
            return "returned", permitted(self._module, self._mine[number], what, *parts)
        except BaseException as error:
            return "raises", error

    # ---- values that are not plain

    def _described(self, value: Any) -> tuple[Any, ...]:
        number = _number(value)
        if number is not None:
            return "yours", number
        if isinstance(value, Live):
            return "there", *value._place
        if (found := plain.described(value)) is not None:
            return found
        kind = type(value)
        if isinstance(value, BaseException):
            return "error", kind if kind in plain.ERRORS.values() else Exception, str(value)
        for base in plain.BASES:
            if issubclass(kind, base):
                return "base", base(value)
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._mine)
            self._mine.append(value)
        return "mine", self._numbers[id(value)]

    def _made(self, kind: str, parts: tuple[Any, ...]) -> Any:
        match kind, parts:
            case "yours", (int(number),):
                return self._mine[number]
            case "class", (int(number),):
                return self._kind(number)
            case "coroutine", (int(number),):
                return self._awaited(number)
            case "object", (int(number), int(of)):
                return self._thing(number, self._kind(of), ())
            case "like", (int(number), int(of), base):
                return self._thing(number, self._kind(of), (base,))
            case "error", (int(number), of, str(text), tuple(args)):
                return self._error(number, of, text, args)
        return plain.made(kind, parts)

    def _kind(self, number: int) -> Any:
        if number not in self._kinds:
            bare = type.__new__(Kind, "class", (Thing,), {CLASS_NUMBER: number})
            name, module, bases, operations, _ = self.ask("about", bare)
            self._kinds[number] = kind_of(number, name, bases, operations, module)
        return self._kinds[number]

    def _thing(self, number: int, of: Any, base: Sequence[Any]) -> Any:
        known = self._things.get(number)
        if known is not None and not base:
            return known
        plain_base = next((one for one in of.__mro__ if one in plain.BASES), None)
        if base and plain_base is None:
            return base[0]
        made = object.__new__(of) if plain_base is None else plain_base.__new__(of, *base)
        if base and plain_base in (list, dict, set, bytearray):
            replace(made, base[0]) if plain_base is not bytearray else bytearray.extend(made, base[0])
        object.__setattr__(made, NUMBER, number)
        self._things[number] = made
        return made

    def _error(self, number: int, of: Any, text: str, args: Sequence[Any]) -> BaseException:
        if not isinstance(of, Kind):
            kind = of if of in plain.ERRORS.values() else Exception
            return _plain_error(kind, text, args)
        new: Any = BaseException.__new__
        made = new(of, *args)
        made.args = tuple(args)
        made.__dict__.update({"_text": text, NUMBER: number})
        return made  # type: ignore[no-any-return]

    async def _awaited(self, number: int) -> Any:
        thing = object.__new__(Thing)
        object.__setattr__(thing, NUMBER, number)
        return self.ask("await", thing)


def _plain_error(kind: Any, text: str, args: Sequence[Any]) -> BaseException:
    """One of Python's own errors, with the same arguments if it takes them, and the same text in any case."""
    try:
        error: BaseException = kind(*args)
        return error if str(error) == text else kind(text)
    except Exception:
        return TypeError(text) if not issubclass(kind, Exception) else Exception(text)


def _number(value: Any) -> int | None:
    """The program's number for what stands for a thing or a class of it."""
    found: int | None = None
    if isinstance(value, Kind):
        found = type.__getattribute__(value, "__dict__").get(CLASS_NUMBER)
    elif isinstance(value, Thing | Errs):
        found = value.__dict__.get(NUMBER)
    return found
