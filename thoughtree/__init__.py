"""LLM tree search as DSPy program modules.

import dspy, thoughtree
dspy.configure(lm=dspy.LM("openai/gpt-4o-mini"))
solve = thoughtree.TreeOfThoughts("question -> answer", controller=thoughtree.Beam(width=3))
print(solve(question="...").answer)
"""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from .modules import SearchFailed, SearchPrediction, SearchProgress, TreeOfThoughts, limit, load
from .search import ABMCTS, DFS, MCTS, Beam, BestFirst, Budget, Illegal, NodeStatus, SearchResult, SearchStatus
from .tasks import FreeText, Game24, Task

if TYPE_CHECKING:
    from .modules import LATS, RAP, Lessons, aexecute, execute, repeatable
    from .tasks import Blocksworld

__version__ = version("thoughtree")

__all__ = [
    "ABMCTS",
    "DFS",
    "LATS",
    "MCTS",
    "RAP",
    "Beam",
    "BestFirst",
    "Blocksworld",
    "Budget",
    "FreeText",
    "Game24",
    "Illegal",
    "Lessons",
    "NodeStatus",
    "SearchFailed",
    "SearchPrediction",
    "SearchProgress",
    "SearchResult",
    "SearchStatus",
    "Task",
    "TreeOfThoughts",
    "__version__",
    "aexecute",
    "execute",
    "limit",
    "load",
    "repeatable",
]


def __getattr__(name: str) -> Any:
    if name not in ("LATS", "RAP", "Blocksworld", "Lessons", "aexecute", "execute", "repeatable"):  # loaded late
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import modules, tasks

    return getattr(tasks if name == "Blocksworld" else modules, name)
