"""What a program may do with the things of a test's own that it is handed."""

from __future__ import annotations

from .operations import OPERATIONS, WITH_OTHERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def permitted(module: str, thing: Any, what: str, *parts: Any) -> Any:
    """What the program asks of a thing that a test handed over. `module`: of the classes that tests define.

    Functions may be called, iterators drawn from, and objects of classes that the test defines
    used. Nothing else: from most objects a way leads to whatever the examiner has.
    """
    own = type(thing).__module__ == module
    match what, parts:
        case "call", (args, kwargs) if callable(thing):
            return thing(*args, **kwargs)
        case "get", (str(name),) if own and not name.startswith("_"):
            return getattr(thing, name)
        case "set", (str(name), value) if own and not name.startswith("_"):
            return setattr(thing, name, value)
        case "operate", ("__bool__", ()):
            return bool(thing) if own else True
        case "operate", (str(name), args) if name in OPERATIONS and (own or name in ("__iter__", "__next__")):
            method = getattr(type(thing), name, None)
            if method is not None:
                return method(thing, *args)
            if name in WITH_OTHERS and name != "__contains__":
                return NotImplemented
        case "get", (name,):
            raise AttributeError(f"{type(thing).__name__!r} object has no attribute {name!r}")
    raise TypeError(f"{type(thing).__name__!r} object: not supported")
