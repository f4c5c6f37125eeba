"""The examiner: runs the checks, in a process that the program cannot reach, on stand-ins for what it has.

It is forked before the program starts, reads the checks by itself, and asks the program's process for what the checks
name, call and do. So a program never sees a check, can say nothing on the channel of verdicts, and is judged by the
values that it gives.
"""

from __future__ import annotations

import marshal
import os
import sys

from .checks import run_checks
from .decoys import among_decoys
from .operations import CHANGING, WITH_OTHERS
from .permitted import permitted
from .scope import scope
from .stand_ins import Kind, Thing, live
from .values import Values
from .wire import Reader, Writer, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    names = scope(checks, setup, name, examiner.name, frozenset(examiner.ask("names_of")))

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


class Examiner(Values):
    """Asks the program's process, and judges by values of its own."""

    def __init__(self, line: Line, module: str) -> None:
        super().__init__()
        self._line, self._module = line, module
        self._settled: dict[str, Any] = {}
        self._stdout = sys.stdout
        Kind._ask = self._passed_on

    def leave(self) -> NoReturn:
        self._line.send(bytes(Writer(self.described).put((False, "bye")).data))
        _exit(0)

    def name(self, name: str) -> Any:
        """What the program has by that name. NameError if it has nothing.

        It is asked each time, but for its functions and classes: nobody gives their names to others.
        """
        if name in self._settled:
            return self._settled[name]
        value = live(None, name, self.ask("name", name))
        self.named(value)
        if isinstance(value, Kind) or type(value).__name__ == "function":
            self._settled[name] = value
        return value

    # ---- what is done with stand-ins

    def _passed_on(self, what: str, *parts: Any) -> Any:
        if what == "operate":
            return self._operated(*parts)
        if what == "tested":
            return self.tested(type(parts[0]))
        value = self.ask(what, *parts)
        if what == "get" and isinstance(parts[0], Kind) and self.tested(parts[0]):
            self.named(value)  # a class in a class
        return value

    def _operated(self, thing: Any, name: str, args: tuple[Any, ...]) -> Any:
        """An operation, with what is asked beside it where a plain value is held against the program's object."""
        if name in ("__eq__", "__ne__"):
            same = self._equal(thing, args[0])
            return same if name == "__eq__" or same is NotImplemented else not same
        if name not in WITH_OTHERS or isinstance(thing, Kind) or all(isinstance(one, Thing) for one in args):
            return self.ask("operate", thing, name, args)
        if self.tested(type(thing)):
            return self.ask("operate", thing, name, args) if name in CHANGING else self._told_apart(thing, name, args)
        if name == "__contains__":
            return any(args[0] is one or args[0] == one for one in thing)
        kind = type(thing).__name__
        raise TypeError(f"a {kind}, a class of the program's own, where the test expects a plain value")

    def _equal(self, thing: Any, other: Any) -> Any:
        if thing is other:
            return True
        if isinstance(other, Thing | Kind):
            said = self.ask("operate", thing, "__eq__", (other,))
            return False if said is not NotImplemented and said and self._equals_everything(thing) else said
        return self._told_apart(thing, "__eq__", (other,)) if self.tested(type(thing)) else NotImplemented

    def _told_apart(self, thing: Any, name: str, args: tuple[Any, ...]) -> Any:
        """The answer to an operation with a plain value, which is asked for among others so that none can be fitted
        to it. Who equals one of the others as well equals nothing.
        """
        others, place = among_decoys(args[0])
        said = [self._tried(thing, name, (other, *args[1:])) for other in others]
        answers = [one for one in said if one is not NotImplemented and not isinstance(one, _Failed)]
        if name == "__eq__" and sum(map(bool, answers)) > 1:
            return False
        if isinstance(said[place], _Failed):
            raise said[place].error
        return said[place]

    def _tried(self, thing: Any, name: str, args: tuple[Any, ...]) -> Any:
        try:
            return self.ask("operate", thing, name, args)
        except Exception as error:  # raised again, where it was the value in question
            return _Failed(error)

    def _equals_everything(self, thing: Any) -> bool:
        """Does it claim to equal an object that the program has never seen?"""
        said = self._tried(thing, "__eq__", (object(),))
        return said is not NotImplemented and not isinstance(said, _Failed) and bool(said)

    # ---- questions

    def ask(self, what: str, *parts: Any) -> Any:
        """One question, and its answer. What the program raises is raised."""
        message = Writer(self.described).put((sys.stdout is not self._stdout, what, *parts))
        self._send(message)
        while (data := self._line.receive()) is not None:
            if data[:1] == b"q":
                self._send(Writer(self.described).put((False, *self._obliged(data))))
                continue
            try:
                kind, said = self._read(data, message)
            except Exception as error:
                raise TypeError(f"what the program gives cannot be read: {error}") from None
            if kind != "raised":
                return said
            if isinstance(said, StopIteration) and not (what == "operate" and parts[1] == "__next__"):
                # It would end an iteration of the test's own: `all(map(...))` would hold for what was never tested.
                raise RuntimeError("the program raised StopIteration")
            raise said if isinstance(said, BaseException) else TypeError("what was raised is no error")
        _flush_all()
        _exit(1)  # no verdict: the host is told how the program ended

    def _send(self, message: Writer) -> None:
        try:
            self._line.send(bytes(message.data))
        except OSError:
            _exit(1)

    def _read(self, data: bytes, message: Writer) -> tuple[Any, Any]:
        """An answer, with the new content of containers that were handed over, and with what was printed."""
        reader = Reader(data, self.made, message.mutable, at=1)
        kind, printed, said = reader.get(), reader.get(), reader.get()
        if not reader.over:
            for container, new in [(one, reader.inside()) for one in message.mutable]:
                replace(container, new)
        if printed:
            sys.stdout.write(str(printed))
        return kind, said

    def _obliged(self, data: bytes) -> tuple[str, Any]:
        """What the program asks back, while it answers."""
        try:
            number, what, *parts = Reader(data, self.made, at=1).get()
            return "returned", permitted(self._module, self.handed[number], what, *parts)
        except BaseException as error:
            return "raises", error


class _Failed:
    """Says nothing, in the place of an answer."""

    def __init__(self, error: Exception) -> None:
        self.error = error
