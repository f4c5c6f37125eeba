"""The examiner's side of what is not plain: what it says of its own things, and what it makes of the program's."""

from __future__ import annotations

from . import plain
from .stand_ins import CLASS_NUMBER, NUMBER, Errs, Kind, Live, Thing, derived_kind, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


_FILL: dict[Any, Any] = {
    list: list.extend,
    bytearray: bytearray.extend,
    dict: dict.update,
    set: set.update,
}


class Values:
    """Stand-ins by the program's numbers, one for each thing; and what was handed over, by numbers of its own."""

    def __init__(self) -> None:
        self.handed: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._kinds: dict[int, Any] = {}
        self._things: dict[int, Any] = {}
        self._named: set[Any] = set()  # classes

    def ask(self, what: str, *parts: Any) -> Any:
        raise NotImplementedError

    def named(self, value: Any) -> None:
        """The tests name this: if it is a class, its operations are what they test."""
        if isinstance(value, Kind):
            self._named.add(value)

    def tested(self, kind: Any) -> bool:
        """Do the tests name this class, or one that it derives from?"""
        return not self._named.isdisjoint(kind.__mro__)

    # ---- to the program

    def described(self, value: Any) -> tuple[Any, ...]:
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
            self._numbers[id(value)] = len(self.handed)
            self.handed.append(value)
        return "mine", self._numbers[id(value)]

    # ---- from the program

    def made(self, kind: str, parts: tuple[Any, ...]) -> Any:
        match kind, parts:
            case "yours", (int(number),):
                return self.handed[number]
            case "class", (int(number),):
                return self._kind(number)
            case "coroutine", (int(number),):
                return self._awaited(number)
            case "object", (int(number), int(of)):
                return self._thing(number, self._kind(of))
            case "like", (int(number), int(of), base):
                return self._like(number, self._kind(of), base)
            case "error", (int(number), of, str(text), tuple(args)):
                return _error(number, of, text, args)
        return plain.made(kind, parts)

    def _kind(self, number: int) -> Any:
        if number not in self._kinds:
            bare = type.__new__(Kind, "class", (Thing,), {CLASS_NUMBER: number})
            name, module, bases, operations = self.ask("about", bare)
            self._kinds[number] = kind_of(number, name, bases, operations, module)
        return self._kinds[number]

    def _thing(self, number: int, kind: Any) -> Any:
        if number not in self._things:
            base: Any = next((one for one in kind.__mro__ if one in plain.BASES), object)
            new: Any = base.__new__
            self._things[number] = _numbered(new(kind), number)
        return self._things[number]

    def _like(self, number: int, kind: Any, base: Any) -> Any:
        """What derives from a kind of value of Python's own: that value, with what its class adds."""
        of: Any = type(base)
        if of not in plain.BASES:
            raise plain.Strange(of.__name__)
        if of not in plain.MUTABLE:
            value: Any = of.__new__
            return _numbered(value(kind, base) if of in kind.__mro__ else base, number)
        if self.tested(kind):
            return self._thing(number, kind)  # whose content is the program's, and may change there
        made = of.__new__(derived_kind(kind, of))
        _FILL[of](made, base)
        return _numbered(made, number)

    async def _awaited(self, number: int) -> Any:
        return self.ask("await", _numbered(object.__new__(Thing), number))


def _numbered(made: Any, number: int) -> Any:
    if isinstance(made, Thing):
        object.__setattr__(made, NUMBER, number)
    return made


def _error(number: int, of: Any, text: str, args: Sequence[Any]) -> BaseException:
    """An error with the text and the arguments that it had."""
    if isinstance(of, Kind):
        new: Any = BaseException.__new__
        made = new(of, *args)
        made.args = tuple(args)
        made.__dict__.update({"_text": text, NUMBER: number})
        return made  # type: ignore[no-any-return]
    kind: Any = of if of in plain.ERRORS.values() else Exception
    try:
        error: BaseException = kind(*args)
        return error if str(error) == text else kind(text)
    except Exception:
        return Exception(text)


def _number(value: Any) -> int | None:
    """The program's number for what stands for a thing or a class of it."""
    found: int | None = None
    if isinstance(value, Kind):
        found = type.__getattribute__(value, "__dict__").get(CLASS_NUMBER)
    elif isinstance(value, Thing | Errs):
        found = value.__dict__.get(NUMBER)
    return found
