"""Tree search as a pure state machine, and its drivers. Standard library only.

`Search` asks for requests and is told outcomes; `run`, `drive` (threads) and `adrive` (asyncio) answer them.
"""

from .abmcts import ABMCTS
from .beam import Beam
from .best_first import BestFirst
from .budget import Budget, Ended, SearchStatus
from .codec import Codec
from .controller import Controller, Routine
from .dfs import DFS
from .expand import expand
from .journal import Journal, JournalError
from .loop import adrive
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
from .pump import Event
from .rating import Rating
from .result import SearchResult
from .roles import ProtocolError
from .run import run
from .search import Search
from .stopping import Stop
from .threads import drive
from .tree import Node, NodeStatus, Tree

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
