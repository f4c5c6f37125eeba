"""Tree search as a pure state machine, and its drivers. Standard library only.

`Search` asks for requests and is told outcomes; `run`, `drive` (threads) and `adrive` (asyncio) answer them.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .abmcts import ABMCTS
from .beam import Beam
from .best_first import BestFirst
from .budget import Budget, Ended, SearchStatus
from .controller import Controller, Routine
from .dfs import DFS
from .expand import expand
from .mcts import MCTS
from .protocol import (
    Answer,
    Answered,
    Ask,
    Failed,
    Illegal,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Reflect,
    Reflected,
    Refused,
    Reply,
    Request,
    Step,
    Stepped,
    Unread,
    Usage,
)
from .rating import Rating
from .roles import ProtocolError
from .stopping import Stop
from .tree import Node, NodeStatus, Tree

if TYPE_CHECKING:
    from .codec import Codec
    from .journal import Journal, JournalError
    from .loop import adrive
    from .plain import run
    from .pump import Event
    from .result import SearchResult
    from .search import Search
    from .threads import drive

# Loaded when they are asked for: what makes a program needs no search to be run.
_FILES = {
    "Codec": "codec",
    "Event": "pump",
    "Journal": "journal",
    "JournalError": "journal",
    "Search": "search",
    "SearchResult": "result",
    "adrive": "loop",
    "drive": "threads",
    "run": "plain",
}

__all__ = [
    "ABMCTS",
    "DFS",
    "MCTS",
    "Answer",
    "Answered",
    "Ask",
    "Beam",
    "BestFirst",
    "Budget",
    "Codec",
    "Controller",
    "Ended",
    "Event",
    "Failed",
    "Illegal",
    "Journal",
    "JournalError",
    "Node",
    "NodeStatus",
    "Outcome",
    "Propose",
    "Proposed",
    "ProtocolError",
    "Rate",
    "Rated",
    "Rating",
    "Reflect",
    "Reflected",
    "Refused",
    "Reply",
    "Request",
    "Routine",
    "Search",
    "SearchResult",
    "SearchStatus",
    "Step",
    "Stepped",
    "Stop",
    "Tree",
    "Unread",
    "Usage",
    "adrive",
    "drive",
    "expand",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])  # by which Python says what was meant
    found = getattr(import_module(f".{_FILES[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
