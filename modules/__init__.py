"""Who answers: one module a role, and the programs that search with them."""

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
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_FILES[name]}", __name__), name)
