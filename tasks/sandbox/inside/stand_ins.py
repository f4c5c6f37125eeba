"""The examiner's side: what stands for the classes and objects of a program that runs in another process.

A stand-in has the operations that the real class has, and passes them on. Two things it does not take at their word:
an object that says it equals a plain value, and one that would do arithmetic with one. There an examiner compares
values that it holds itself; otherwise a class whose `__eq__` always says yes would pass every test. Classes that the
tests name are an exception, as it is their operations that are tested; but none equals everything.
"""

from __future__ import annotations

import types

from . import plain
from .operations import OF_DERIVED, OPERATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Ask = Callable[..., Any]

NUMBER, CLASS_NUMBER = "_number_of_thing", "_number_of_class"
_REAL = (types.FunctionType, types.GeneratorType, types.BuiltinFunctionType, types.MethodType, types.ModuleType)
REAL = {kind.__name__: kind for kind in (*_REAL, map, filter, zip, enumerate, reversed)}


def _operation(name: str) -> Any:
    def operation(self: Any, *args: Any) -> Any:
        return Kind._ask("operate", self, name, args)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return Kind._ask("call", self, args, kwargs)

    return call if name == "__call__" else operation


class Kind(type):
    """A class of the program."""

    _ask: Ask

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if CLASS_NUMBER not in cls.__dict__:
            raise TypeError(f"{cls.__name__}: a test cannot derive from a class of the program")
        return Kind._ask("call", cls, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") or CLASS_NUMBER not in cls.__dict__:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return live(cls, name, Kind._ask("get", cls, name))

    def __setattr__(cls, name: str, value: Any) -> None:
        Kind._ask("set", cls, name, value)


for _name in ("__getitem__", "__iter__", "__len__", "__contains__"):  # an Enum's members, say
    setattr(Kind, _name, _operation(_name))


class Thing(metaclass=Kind):
    """An object of the program."""

    def __getattr__(self, name: str) -> Any:
        return live(self, name, Kind._ask("get", self, name))

    def __setattr__(self, name: str, value: Any) -> None:
        Kind._ask("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        Kind._ask("delete", self, name)

    def __copy__(self) -> Any:
        return Kind._ask("copy", self, False)

    def __deepcopy__(self, memo: Any) -> Any:
        return Kind._ask("copy", self, True)

    def __repr__(self) -> str:
        """As that of Python's own kind of value that it derives from; without an address, which no run repeats."""
        base: Any = next((one for one in type(self).__mro__ if one in plain.BASES), None)
        told: str = f"<{type(self).__name__} object>" if base is None else base.__repr__(self)
        return told


class Errs(Exception, metaclass=Kind):
    """An error of the program's own classes: caught by its class, with the text and the arguments that it had."""

    def __getattr__(self, name: str) -> Any:
        return Kind._ask("get", self, name)

    def __str__(self) -> str:
        text: str = self.__dict__["_text"]
        return text


def kind_of(number: int, name: str, bases: tuple[Any, ...], operations: tuple[str, ...], module: str) -> Any:
    """What stands for a class. bases: those that the examiner knows, stand-ins among them.

    What derives from a container of Python's own has its operations, and is none here: see `derived_kind`.
    """
    kept = tuple(base for base in bases if isinstance(base, Kind) or base in _VALUES or base in _ERRORS)
    lineage = {above for base in kept for above in base.__mro__}
    value = next((base for base in _VALUES if base in lineage), None)
    own = {*operations, *(one for base in bases if base in plain.MUTABLE for one in vars(base))} & OPERATIONS
    namespace: dict[str, Any] = {CLASS_NUMBER: number, "__module__": module}
    if BaseException not in lineage:
        namespace |= {one: _operation(one) if value is None else _of_value(one, value) for one in own}
    if module == "builtins" and name in REAL:
        namespace["__class__"] = property(lambda self: REAL[name])
    first: tuple[Any, ...] = (Errs,) if BaseException in lineage else (Thing,)
    for chosen in (kept, tuple(one for one in kept if isinstance(one, Kind))[:1], ()):
        try:
            return type.__new__(Kind, name, _ordered(first, chosen), namespace)
        except TypeError:  # bases that fit in the program need not fit here
            continue
    raise TypeError(f"no stand-in for {name}")


def derived_kind(kind: Any, base: Any) -> Any:
    """A class of containers: one of Python's own in all that it does, with what `kind` adds."""
    kept = {one: getattr(kind, one) for one in OF_DERIVED if any(one in vars(above) for above in _above(kind))}
    return type.__new__(Kind, kind.__name__, (base, kind), {"__module__": kind.__module__, **kept})


def _above(kind: Any) -> list[Any]:
    return [above for above in kind.__mro__ if CLASS_NUMBER in vars(above)]


def _of_value(name: str, base: Any) -> Any:
    """An operation of a class that derives from a kind of value: its own, if the tests name it; else the value's."""
    ours, theirs = _operation(name), getattr(base, name, None)
    if name in OF_DERIVED:
        return ours

    def operation(self: Any, *args: Any) -> Any:
        if theirs is None or Kind._ask("tested", self):
            return ours(self, *args)
        return theirs(self, *args)

    return operation


def _ordered(first: tuple[Any, ...], bases: tuple[Any, ...]) -> tuple[Any, ...]:
    """`first` before the bases, unless one of them has it already."""
    return bases if any(first[0] in base.__mro__ for base in bases) else (*first, *bases)


_ERRORS = frozenset(plain.ERRORS.values())
_VALUES = tuple(base for base in plain.BASES if base not in plain.MUTABLE)


# ---- containers that belong to the program's objects, or to its global names


def live(owner: Any, name: str, value: Any) -> Any:
    """A container as one that is changed there when it is changed here; any other value as it is."""
    kind = _LIVE.get(type(value))
    if kind is None:
        return value
    made = kind(value)
    made._place = (owner, name)
    return made


class Live:
    _place: tuple[Any, str]


def _changing(base: Any, method: str) -> Any:
    def change(self: Any, *args: Any, **kwargs: Any) -> Any:
        Kind._ask("change", *self._place, method, args, kwargs)
        return getattr(base, method)(self, *args, **kwargs)

    return change


_CHANGES = {
    list: "append extend insert remove pop clear sort reverse __setitem__ __delitem__ __iadd__ __imul__",
    dict: "__setitem__ __delitem__ update pop popitem setdefault clear __ior__",
    set: "add discard remove clear update __ior__ __iand__ __isub__ __ixor__",
}
_LIVE: dict[Any, Any] = {
    base: type(f"Live{base.__name__}", (Live, base), {name: _changing(base, name) for name in names.split()})
    for base, names in _CHANGES.items()
}
