"""LLM tree search as DSPy program modules.

import dspy, thoughtree
dspy.configure(lm=dspy.LM("openai/gpt-4o-mini"))
solve = thoughtree.TreeOfThoughts("question -> answer", controller=thoughtree.Beam(width=3))
print(solve(question="...").answer)
"""

import logging
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .local import local_lm
    from .modules import (
        LATS,
        RAP,
        Lessons,
        Recording,
        RecordLM,
        ReplayLM,
        SearchFailed,
        SearchPrediction,
        SearchProgress,
        TreeOfThoughts,
        aexecute,
        execute,
        limit,
        load,
        repeatable,
    )
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
    from .search import ABMCTS, DFS, MCTS, Beam, BestFirst, Budget, Illegal, NodeStatus, SearchResult, SearchStatus
    from .tasks import Blocksworld, FreeText, Game24, Task
    from .viewer import view

    __version__: str

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


# All are loaded when they are first asked for: so the command line answers an interrupt before DSPy is there, and who
# only reads results never loads it.
_HOMES = {
    "modules": (
        *("LATS", "RAP", "TreeOfThoughts", "Lessons", "aexecute", "execute", "repeatable", "limit", "load"),
        *("RecordLM", "Recording", "ReplayLM", "SearchFailed", "SearchPrediction", "SearchProgress"),
    ),
    "search": (
        *("ABMCTS", "DFS", "MCTS", "Beam", "BestFirst", "Budget"),
        *("Illegal", "NodeStatus", "SearchResult", "SearchStatus"),
    ),
    "tasks": ("Blocksworld", "FreeText", "Game24", "Task"),
    "optimize": (
        *("Evaluate", "ExactMatch", "SearchTuner", "Solved", "exact_match", "load_examples", "solved"),
        *("BootstrapSearch", "RoleOptimizer", "gepa_metric", "role_examples"),
        *("calibrate_rater", "compare", "distill", "preference_pairs", "supervised_rows"),
    ),
    "local": ("local_lm",),
    "schema": ("result_schema",),
    "viewer": ("view",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_SUBPACKAGES = (  # and modules that are used by their names
    *("events", "live", "modules", "offline", "optimize", "search", "signatures", "tasks", "testing", "viewer"),
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        found: Any = version(__name__)
    elif name in _HOME:
        found = getattr(import_module(f".{_HOME[name]}", __name__), name)
    elif name in _SUBPACKAGES:
        return import_module(f".{name}", __name__)
    else:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])  # by which Python says what was meant
    return globals().setdefault(name, found)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})
