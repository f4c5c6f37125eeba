"""Data sets, metrics, evaluation of programs on them, and tuning. Loaded when asked for."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bootstrap_search import Bootstrapped, BootstrapSearch
    from .calibrating import calibrate_rater
    from .calibration import Calibration, Reliability
    from .comparing import compare
    from .comparing_report import Comparison
    from .distilling import Distilled, distill
    from .evaluate import Evaluate
    from .evaluation import EvaluationInterrupted, EvaluationResult, EvaluationStopped
    from .examples import load_examples
    from .fine_tuning import supervised_rows
    from .gepa import gepa_metric
    from .intervals import mcnemar, wilson
    from .log_lines import LogError
    from .metrics import ExactMatch, Solved, exact_match, solved
    from .paired import Difference
    from .preferences import preference_pairs
    from .role_example import RoleExample
    from .role_metrics import role_metric
    from .role_optimizer import RoleOptimizer
    from .role_sets import role_examples
    from .role_tuning import RoleTuning
    from .rows import DataError
    from .shared_run import SharedRun
    from .space import Space, space_of
    from .studies import StudyError
    from .tuner import SearchTuner
    from .tuning import Tuning

_FILES = {
    "BootstrapSearch": "bootstrap_search",
    "Bootstrapped": "bootstrap_search",
    "Calibration": "calibration",
    "Comparison": "comparing_report",
    "DataError": "rows",
    "Difference": "paired",
    "Distilled": "distilling",
    "Evaluate": "evaluate",
    "EvaluationInterrupted": "evaluation",
    "EvaluationResult": "evaluation",
    "EvaluationStopped": "evaluation",
    "ExactMatch": "metrics",
    "LogError": "log_lines",
    "Reliability": "calibration",
    "RoleExample": "role_example",
    "RoleOptimizer": "role_optimizer",
    "RoleTuning": "role_tuning",
    "SearchTuner": "tuner",
    "SharedRun": "shared_run",
    "Solved": "metrics",
    "Space": "space",
    "StudyError": "studies",
    "Tuning": "tuning",
    "calibrate_rater": "calibrating",
    "compare": "comparing",
    "distill": "distilling",
    "exact_match": "metrics",
    "gepa_metric": "gepa",
    "load_examples": "examples",
    "mcnemar": "intervals",
    "preference_pairs": "preferences",
    "role_examples": "role_sets",
    "role_metric": "role_metrics",
    "solved": "metrics",
    "space_of": "space",
    "supervised_rows": "fine_tuning",
    "wilson": "intervals",
}

__all__ = [
    "BootstrapSearch",
    "Bootstrapped",
    "Calibration",
    "Comparison",
    "DataError",
    "Difference",
    "Distilled",
    "Evaluate",
    "EvaluationInterrupted",
    "EvaluationResult",
    "EvaluationStopped",
    "ExactMatch",
    "LogError",
    "Reliability",
    "RoleExample",
    "RoleOptimizer",
    "RoleTuning",
    "SearchTuner",
    "SharedRun",
    "Solved",
    "Space",
    "StudyError",
    "Tuning",
    "calibrate_rater",
    "compare",
    "distill",
    "exact_match",
    "gepa_metric",
    "load_examples",
    "mcnemar",
    "preference_pairs",
    "role_examples",
    "role_metric",
    "solved",
    "space_of",
    "supervised_rows",
    "wilson",
]


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])  # by which Python says what was meant
    return getattr(import_module(f".{_FILES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
