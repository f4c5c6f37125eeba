"""The program's side of an examination: it is asked for what it has and does, and answers with values.

The questions come from another process, the examiner, which alone knows the tests and judges. Nothing that is said here
can make one pass, but the right values.
"""

from __future__ import annotations

import io
import sys
from _thread import RLock

from . import plain
from .asked import Asked
from .operations import OPERATIONS
from .wire import Reader, Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .line import Line


class Witness:
    """Answers for a program that has run, `names` being its own."""

    def __init__(self, line: Line, names: dict[str, Any]) -> None:
        self._line, self._names = line, names
        self._things: list[Any] = []  # by their numbers
        self._numbers: dict[int, int] = {}
        self._stand_ins: dict[int, Asked] = {}
        self._turn = RLock()  # threads of the program ask one after another
        self._answering = False

    def answer_all(self) -> bool:
        """Says that the program has run, and answers until all is asked. False: the examiner went before that."""
        self._line.send(b"ready")
        while (data := self._line.receive()) is not None:
            reader = Reader(data, self._made)
            capture, *question = reader.get()
            if question[0] == "bye":
                return True
            self._answering = True
            answer = self._answer(capture, question, data, reader.mutable)
            with self._turn:
                self._answering = False
            self._line.send(answer)
        return False

    def _answer(self, capture: bool, question: list[Any], data: bytes, mutable: list[Any]) -> bytes:
        stdout, printed = sys.stdout, io.StringIO()
        if capture:
            sys.stdout = printed
        try:
            kind, said = "value", getattr(self, f"_{question[0]}")(*question[1:])
        except BaseException as error:
            kind, said = "raised", error
        finally:
            if capture:
                sys.stdout = stdout
        try:
            return self._written(kind, said, capture, question, data, mutable, printed.getvalue())
        except BaseException as error:  # of the program's own code, or a value without end
            return self._written("raised", error, capture, question, data, mutable, "")

    def _written(
        self, kind: str, said: Any, capture: bool, question: list[Any], data: bytes, mutable: list[Any], printed: str
    ) -> bytes:
        """The answer, and the new content of containers that were handed over and have changed since."""
        writer = Writer(self._described, mutable)
        writer.put(kind).put(printed).put(said)
        if mutable and Writer(self._described).put((capture, *question)).data != data:
            for container in mutable:
                writer.inside(container)
        return b"a" + bytes(writer.data)

    # ---- what can be asked

    def _name(self, name: str) -> Any:
        try:
            return self._names[name]
        except KeyError:
            raise NameError(f"name {name!r} is not defined") from None

    def _call(self, thing: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return thing(*args, **kwargs)

    def _get(self, thing: Any, name: str) -> Any:
        return getattr(thing, name)

    def _set(self, thing: Any, name: str, value: Any) -> None:
        setattr(thing, name, value)

    def _delete(self, thing: Any, name: str) -> None:
        delattr(thing, name)

    def _operate(self, thing: Any, name: str, args: Sequence[Any]) -> Any:
        if isinstance(thing, type) and name == "__getitem__":
            return thing[args[0]]  # type: ignore[index]
        operation = getattr(type(thing), name, None)
        if operation is None:
            raise TypeError(f"{type(thing).__name__!r} object does not support {name}")
        return operation(thing, *args)

    def _names_of(self) -> list[str]:
        return [name for name in self._names if type(name) is str]

    def _change(self, owner: Any, name: str, method: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Calls a method of a container that is an attribute of `owner`, or a global name (None)."""
        getattr(self._there(owner, name), method)(*args, **kwargs)

    def _there(self, owner: Any, name: str) -> Any:
        return self._names[name] if owner is None else getattr(owner, name)

    def _copy(self, thing: Any, deep: bool) -> Any:
        import copy

        return copy.deepcopy(thing) if deep else copy.copy(thing)

    def _await(self, thing: Any) -> Any:
        import asyncio

        async def awaited() -> Any:
            return await thing

        return asyncio.run(awaited())

    def _about(self, kind: type) -> tuple[Any, ...]:
        """A class: its name, where it is from, its bases, and the operations that it has itself."""
        own = {name for name in vars(kind) if name in OPERATIONS and vars(kind)[name] is not None}
        bases = tuple(base for base in kind.__bases__ if base is not object)
        return kind.__name__, str(kind.__module__), bases, tuple(sorted(own))

    # ---- values that are not plain

    def _number(self, thing: Any) -> int:
        if id(thing) not in self._numbers:
            self._numbers[id(thing)] = len(self._things)
            self._things.append(thing)
        return self._numbers[id(thing)]

    def _described(self, value: Any) -> tuple[Any, ...]:
        if type(value) is Asked:
            return "yours", value._number
        if (found := plain.described(value)) is not None:
            return found
        kind = type(value)
        if issubclass(kind, type):
            return "class", self._number(value)
        if issubclass(kind, BaseException):
            return "error", self._number(value), kind, _text(value), tuple(map(_told, value.args))
        if kind.__name__ == "coroutine" and hasattr(value, "cr_frame"):
            return "coroutine", self._number(value)
        for base in plain.BASES:
            if issubclass(kind, base):
                return "like", self._number(value), self._number(kind), _base_value(base, value)
        return "object", self._number(value), self._number(kind)

    def _made(self, kind: str, parts: tuple[Any, ...]) -> Any:
        if kind == "yours":
            return self._things[parts[0]]
        if kind == "mine":
            return self._stand_ins.setdefault(parts[0], Asked(self.ask, parts[0]))
        if kind == "there":
            return self._there(*parts)
        if kind == "base":
            return parts[0]
        if kind == "error":
            return parts[0](parts[1])
        return plain.made(kind, parts)

    def ask(self, number: int, what: str, *parts: Any) -> Any:
        """Asks the examiner, from within an answer, about something that it has handed over."""
        with self._turn:
            return self._ask(number, what, *parts)

    def _ask(self, number: int, what: str, *parts: Any) -> Any:
        if not self._answering:
            raise RuntimeError("what a test hands over is used after it")
        self._line.send(b"q" + bytes(Writer(self._described).put((number, what, *parts)).data))
        data = self._line.receive()
        while data is not None:
            reader = Reader(data, self._made)
            capture, *question = reader.get()
            if question[0] not in ("returned", "raises"):
                self._line.send(self._answer(capture, question, data, reader.mutable))
                data = self._line.receive()
                continue
            if question[0] == "raises":
                raise question[1]
            return question[1]
        raise SystemExit("the examiner is gone")


def _base_value(base: type, value: Any) -> Any:
    """What a value of a class derived from one of Python's own is, to that one."""
    if base is dict:
        return dict(zip(dict.keys(value), dict.values(value), strict=True))
    if base in (list, tuple, set, frozenset):
        return base(base.__iter__(value))
    if base is str:
        return str.__str__(value)[:]
    if base is complex:
        return complex(value.real, value.imag)
    if base is bytearray:
        return bytearray(value)
    if base is bytes:
        return bytes.__bytes__(value)
    return int.__int__(value) if base is int else float.__float__(value)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # its own code, which may do anything
        return "(its text cannot be made)"


def _told(value: Any) -> Any:
    """An argument of an error, as it is or as text."""
    return value if value is None or type(value) in (bool, int, float, str, bytes) else _text_of(value)


def _text_of(value: Any) -> str:
    try:
        return repr(value)
    except BaseException:
        return "(its text cannot be made)"
