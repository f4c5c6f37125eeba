"""LLM tree search as DSPy program modules.

import dspy, thoughtree
dspy.configure(lm=dspy.LM("openai/gpt-4o-mini"))
solve = thoughtree.TreeOfThoughts("question -> answer", controller=thoughtree.Beam(width=3))
print(solve(question="...").answer)
"""

import logging
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from .modules import SearchFailed, SearchPrediction, SearchProgress, TreeOfThoughts, limit, load
from .search import ABMCTS, DFS, MCTS, Beam, BestFirst, Budget, Illegal, NodeStatus, SearchResult, SearchStatus
from .tasks import FreeText, Game24, Task

if TYPE_CHECKING:
    from .local import local_lm
    from .modules import LATS, RAP, Lessons, Recording, RecordLM, ReplayLM, aexecute, execute, repeatable
    from .optimize import (
        BootstrapSearch,
        Evaluate,
        ExactMatch,
        RoleOptimizer,
        SearchTuner,
        Solved,
        calibrate_rater,
        compare,
        distill,
        exact_match,
        gepa_metric,
        load_examples,
        preference_pairs,
        role_examples,
        solved,
        supervised_rows,
    )
    from .schema import result_schema
    from .tasks import Blocksworld
    from .viewer import view


__version__ = version("thoughtree")
logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent, unless logging is configured

__all__ = [
    "ABMCTS",
    "DFS",
    "LATS",
    "MCTS",
    "RAP",
    "Beam",
    "BestFirst",
    "Blocksworld",
    "BootstrapSearch",
    "Budget",
    "Evaluate",
    "ExactMatch",
    "FreeText",
    "Game24",
    "Illegal",
    "Lessons",
    "NodeStatus",
    "RecordLM",
    "Recording",
    "ReplayLM",
    "RoleOptimizer",
    "SearchFailed",
    "SearchPrediction",
    "SearchProgress",
    "SearchResult",
    "SearchStatus",
    "SearchTuner",
    "Solved",
    "Task",
    "TreeOfThoughts",
    "__version__",
    "aexecute",
    "calibrate_rater",
    "compare",
    "distill",
    "exact_match",
    "execute",
    "gepa_metric",
    "limit",
    "load",
    "load_examples",
    "local_lm",
    "preference_pairs",
    "repeatable",
    "result_schema",
    "role_examples",
    "solved",
    "supervised_rows",
    "view",
]


# Loaded when they are asked for.
_LAZY = {
    **dict.fromkeys(("LATS", "RAP", "Lessons", "aexecute", "execute", "repeatable"), "modules"),
    **dict.fromkeys(("RecordLM", "Recording", "ReplayLM"), "modules"),
    **dict.fromkeys(
        ("Evaluate", "ExactMatch", "SearchTuner", "Solved", "exact_match", "load_examples", "solved"), "optimize"
    ),
    **dict.fromkeys(("BootstrapSearch", "RoleOptimizer", "gepa_metric", "role_examples"), "optimize"),
    **dict.fromkeys(("calibrate_rater", "compare", "distill", "preference_pairs", "supervised_rows"), "optimize"),
    "Blocksworld": "tasks",
    "local_lm": "local",
    "result_schema": "schema",
    "view": "viewer",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_LAZY[name]}", __name__), name)
