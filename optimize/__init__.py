"""Data sets, metrics, evaluation of programs on them, and tuning. Loaded when asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .evaluate import Evaluate
    from .evaluation import EvaluationInterrupted, EvaluationResult, EvaluationStopped
    from .examples import load_examples
    from .intervals import mcnemar, wilson
    from .log import LogError
    from .metrics import ExactMatch, Solved, exact_match, solved
    from .paired import Difference
    from .rows import DataError
    from .space import Space, space_of
    from .studies import StudyError
    from .tuner import SearchTuner
    from .tuning import Tuning

_FILES = {
    "DataError": "rows",
    "Difference": "paired",
    "Evaluate": "evaluate",
    "EvaluationInterrupted": "evaluation",
    "EvaluationResult": "evaluation",
    "EvaluationStopped": "evaluation",
    "ExactMatch": "metrics",
    "LogError": "log",
    "SearchTuner": "tuner",
    "Solved": "metrics",
    "Space": "space",
    "StudyError": "studies",
    "Tuning": "tuning",
    "exact_match": "metrics",
    "load_examples": "examples",
    "mcnemar": "intervals",
    "solved": "metrics",
    "space_of": "space",
    "wilson": "intervals",
}

__all__ = [
    "DataError",
    "Difference",
    "Evaluate",
    "EvaluationInterrupted",
    "EvaluationResult",
    "EvaluationStopped",
    "ExactMatch",
    "LogError",
    "SearchTuner",
    "Solved",
    "Space",
    "StudyError",
    "Tuning",
    "exact_match",
    "load_examples",
    "mcnemar",
    "solved",
    "space_of",
    "wilson",
]


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_FILES[name]}", __name__), name)
