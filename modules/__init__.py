"""Who answers: one module a role, and the programs that search with them."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .calls.limit import limit
from .loading import load
from .prediction import SearchFailed, SearchPrediction
from .tree_of_thoughts import TreeOfThoughts

if TYPE_CHECKING:
    from .execution import aexecute, execute
    from .lats import LATS
    from .lessons import Lessons
    from .progress import SearchProgress
    from .rap import RAP
    from .recording import Recording, RecordLM, ReplayLM
    from .repeatable_tools import repeatable

__all__ = [
    "LATS",
    "RAP",
    "Lessons",
    "RecordLM",
    "Recording",
    "ReplayLM",
    "SearchFailed",
    "SearchPrediction",
    "SearchProgress",
    "TreeOfThoughts",
    "aexecute",
    "execute",
    "limit",
    "load",
    "repeatable",
]

# With their roles and worlds: loaded when they are asked for.
_FILES = {
    "LATS": "lats",
    "Lessons": "lessons",
    "RAP": "rap",
    "RecordLM": "recording",
    "Recording": "recording",
    "ReplayLM": "recording",
    "SearchProgress": "progress",
    "aexecute": "execution",
    "execute": "execution",
    "repeatable": "repeatable_tools",
}


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])  # by which Python says what was meant
    return getattr(import_module(f".{_FILES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
