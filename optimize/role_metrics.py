"""The metric of single roles, and optimizers made to use it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from .gepa import GEPAMetric
from .metrics import solved
from .role_example import RoleExample


def role_metric(example: Any, prediction: Any, trace: Any = None) -> float | bool:
    """The metric of a role's own examples, 0 to 1; where a demonstration is wanted (`trace`), whether it is fit."""
    if not isinstance(example, RoleExample):
        raise TypeError(f"role_metric: {type(example).__name__} is no RoleExample; they come from role_examples(...)")
    judged = example.judge(prediction)
    return judged.score if trace is None else judged.right


class _RoleMetric:
    """On a role's own examples how right a reply is; on others, the metric that it stands in for."""

    def __init__(self, metric: Any) -> None:
        self.metric = metric
        self.__name__ = "role_metric"

    def __call__(self, example: Any, prediction: Any, trace: Any = None, *more: Any) -> Any:
        if isinstance(example, RoleExample):
            return role_metric(example, prediction, trace)
        return self.metric(example, prediction, trace, *more)


def judging_roles(optimizer: Any) -> Any:
    """The same optimizer with the metric of roles, wherever it keeps one; those inside another too."""
    found = copy(optimizer)
    if hasattr(found, "metric_fn"):  # GEPA's
        own = found.metric_fn
        found.metric_fn = own if isinstance(own, GEPAMetric) else GEPAMetric(own)
    elif hasattr(found, "metric"):
        found.metric = _RoleMetric(found.metric)
    if isinstance(getattr(found, "optimizers", None), dict):  # BetterTogether's
        found.optimizers = {name: judging_roles(one) for name, one in found.optimizers.items()}
    return found


def whole_metric(optimizer: Any) -> Callable[..., Any]:
    """The metric that the optimizer was made with, as one of the whole program; `solved` where it has none."""
    found: Any = getattr(optimizer, "metric_fn", None) or getattr(optimizer, "metric", None)
    if isinstance(found, GEPAMetric):
        found = found.metric
    return solved if found is None or found is role_metric else found
