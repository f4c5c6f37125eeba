"""Data sets, metrics, and evaluation of programs on them. Loaded when asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .evaluate import Evaluate
    from .evaluation import EvaluationInterrupted, EvaluationResult, EvaluationStopped
    from .intervals import mcnemar, wilson
    from .metrics import ExactMatch, Solved, exact_match, solved
    from .paired import Difference

_FILES = {
    "Difference": "paired",
    "Evaluate": "evaluate",
    "EvaluationInterrupted": "evaluation",
    "EvaluationResult": "evaluation",
    "EvaluationStopped": "evaluation",
    "ExactMatch": "metrics",
    "Solved": "metrics",
    "exact_match": "metrics",
    "mcnemar": "intervals",
    "solved": "metrics",
    "wilson": "intervals",
}

__all__ = [
    "Difference",
    "Evaluate",
    "EvaluationInterrupted",
    "EvaluationResult",
    "EvaluationStopped",
    "ExactMatch",
    "Solved",
    "exact_match",
    "mcnemar",
    "solved",
    "wilson",
]


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_FILES[name]}", __name__), name)
