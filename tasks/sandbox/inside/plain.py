"""What passes between a program and its examiner as it is: values of Python's own, and names of its library."""

from __future__ import annotations

import builtins
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TYPES = {name: value for name, value in vars(builtins).items() if isinstance(value, type) and name[:2] != "__"}
ERRORS = {name: value for name, value in TYPES.items() if issubclass(value, BaseException)}
MUTABLE = (list, dict, set, bytearray)
BASES = (int, float, complex, str, bytes, tuple, list, dict, set, frozenset, bytearray)

# Modules whose functions an examiner calls in its own process: they compute, and reach for nothing.
_LIBRARY = """
bisect cmath collections copy datetime decimal fractions functools heapq itertools json math operator random re
statistics string textwrap typing
"""
LIBRARY = frozenset(_LIBRARY.split())

_VIEWS = {"dict_keys": "keys", "dict_values": "values", "dict_items": "items"}


def described(value: Any) -> tuple[Any, ...] | None:
    """The kind and the parts of a value of Python's own that is not plain; None for any other."""
    kind: Any = type(value)
    name = getattr(value, "__name__", None)
    if kind is type and isinstance(name, str) and TYPES.get(name) is value:
        return "type", name
    if kind in (range, slice):
        return kind.__name__, value.start, value.stop, value.step
    if kind.__name__ in _VIEWS and kind.__module__ == "builtins":
        return "view", _VIEWS[kind.__name__], list(value)
    if kind.__module__ in LIBRARY and _of_library(kind.__module__, kind.__name__) is kind:
        return _of_value(kind, value)
    return _of_name(value)


def _of_name(value: Any) -> tuple[Any, ...] | None:
    """A module or a function of the library, by its name."""
    name = getattr(value, "__name__", None)
    if type(value) is type(sys):
        return ("module", name) if name in LIBRARY and sys.modules.get(str(name)) is value else None
    if type(value) in (type(len), type(described), type):
        module = value.__module__
        if module in LIBRARY and _of_library(module, name) is value:
            return "library", module, name
        if module == "builtins" and getattr(builtins, str(name), None) is value:
            return "library", module, name
    return None


def _of_library(module: str, name: Any) -> Any:
    return getattr(sys.modules.get(module), name, None) if isinstance(name, str) else None


def _of_value(kind: type, value: Any) -> tuple[Any, ...] | None:
    """One of the library's own kinds of value."""
    match kind.__name__:
        case "Decimal":
            return "made", "decimal", "Decimal", (str(value),)
        case "Fraction":
            return "made", "fractions", "Fraction", (value.numerator, value.denominator)
        case "deque":
            return "made", "collections", "deque", (list(value), value.maxlen)
        case "OrderedDict" | "Counter":
            return "made", "collections", kind.__name__, (dict(value),)
        case "defaultdict":
            factory = value.default_factory
            return "made", "collections", "defaultdict", (factory if factory in BASES else None, dict(value))
        case "date" | "datetime" | "time" | "timedelta":
            _, parts = value.__reduce__()
            if all(type(part) in (int, bytes) for part in parts):  # no time zone of the program's own
                return "made", "datetime", kind.__name__, parts
    return None


class Strange(Exception):
    """A description that is none of ours."""


def made(kind: str, parts: tuple[Any, ...]) -> Any:
    """The value of a description. Strange for another one, or for a name that is not of the library."""
    match kind, parts:
        case "type", (str(name),) if name in TYPES:
            return TYPES[name]
        case "range", (start, stop, step):
            return range(start, stop, step)
        case "slice", (start, stop, step):
            return slice(start, stop, step)
        case "view", ("keys", list(items)):
            return dict.fromkeys(items).keys()
        case "view", ("values", list(items)):
            return dict(enumerate(items)).values()
        case "view", ("items", list(items)):
            return dict(items).items()
        case "module", (str(name),) if name in LIBRARY:
            return _module(name)
        case "library", ("builtins", str(name)) if not name.startswith("_"):
            return getattr(builtins, name)
        case "library", (str(module), str(name)) if module in LIBRARY and not name.startswith("_"):
            return getattr(_module(module), name)
        case "made", (str(module), str(name), tuple(arguments)) if (module, name) in _MADE:
            return getattr(_module(module), name)(*arguments)
    raise Strange(f"{kind!r}")


def _module(name: str) -> Any:
    __import__(name)
    return sys.modules[name]


_MADE = {
    ("decimal", "Decimal"), ("fractions", "Fraction"), ("collections", "deque"), ("collections", "OrderedDict"),
    ("collections", "Counter"), ("collections", "defaultdict"), ("datetime", "date"), ("datetime", "datetime"),
    ("datetime", "time"), ("datetime", "timedelta"),
}  # fmt: skip
