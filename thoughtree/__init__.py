"""LLM tree search as DSPy program modules.

import dspy, thoughtree
dspy.configure(lm=dspy.LM("openai/gpt-4o-mini"))
solve = thoughtree.TreeOfThoughts("question -> answer", controller=thoughtree.Beam(width=3))
print(solve(question="...").answer)
"""

from importlib.metadata import version

from .modules import SearchFailed, SearchPrediction, SearchProgress, TreeOfThoughts, limit, load
from .search import DFS, Beam, BestFirst, Budget, Illegal, NodeStatus, SearchResult, SearchStatus
from .tasks import FreeText, Game24, Task

__version__ = version("thoughtree")

__all__ = [
    "DFS",
    "Beam",
    "BestFirst",
    "Budget",
    "FreeText",
    "Game24",
    "Illegal",
    "NodeStatus",
    "SearchFailed",
    "SearchPrediction",
    "SearchProgress",
    "SearchResult",
    "SearchStatus",
    "Task",
    "TreeOfThoughts",
    "__version__",
    "limit",
    "load",
]
