"""Calling a metric and reading what it says, whichever of DSPy's kinds it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import dspy

TAKES = 5  # a GEPA metric's: gold, prediction, trace, predictor's name, predictor's trace


@dataclass(frozen=True, slots=True)
class Score:
    """What a metric said of one prediction. value: finite, higher is better. feedback: in words, where it gives any."""

    value: float
    feedback: str | None = None


class Scorer:
    """A metric of any of DSPy's kinds: a function, a module, or an object with `__call__`.

    It is given the example and the prediction, and None for whatever else it cannot do without (a trace; a
    predictor's name and trace, as GEPA's metrics take them). It returns a bool, a number, or an object or mapping
    with `score` and perhaps `feedback`. TypeError for something that cannot be called so.
    """

    def __init__(self, metric: Callable[..., Any]) -> None:
        if not callable(metric) or isinstance(metric, type):
            raise TypeError(
                f"metric={metric!r}: must be a function of (example, prediction), such as thoughtree.solved"
            )
        self.metric, self.name = metric, name_of(metric)
        self._more = _required(metric) - 2
        if self._more < 0 or self._more > TAKES - 2:
            raise TypeError(
                f"metric={self.name}: takes {self._more + 2} arguments; let it take (example, prediction, trace=None)"
            )

    def call(self, example: Any, prediction: Any) -> Any:
        """What the metric itself returns: a coroutine, if it is an async function."""
        return self.metric(example, prediction, *[None] * self._more)

    def read(self, said: Any) -> Score:
        """TypeError or ValueError for what is no score: a failure is not 0."""
        if inspect.isawaitable(said):
            if inspect.iscoroutine(said):
                said.close()
            raise TypeError(f"metric {self.name} is async: evaluate with `await evaluate.acall(program)`")
        feedback = None
        if isinstance(said, Mapping):
            said, feedback = said.get("score"), said.get("feedback")
        elif not isinstance(said, int | float) and hasattr(said, "score"):
            said, feedback = said.score, getattr(said, "feedback", None)
        value = _number(said)
        if value is None:
            raise TypeError(f"metric {self.name} returned {said!r}: a score is a bool or a number")
        if not isfinite(value):
            raise ValueError(f"metric {self.name} returned {said!r}: a score is finite")
        return Score(value, None if feedback is None else str(feedback))


def name_of(metric: Any) -> str:
    """A metric by its name: a function's own, else its class's."""
    return str(getattr(metric, "__name__", None) or type(metric).__name__)


def _required(metric: Callable[..., Any]) -> int:
    """How many positional arguments it cannot do without; 2 where it takes any number, or says nothing."""
    called = metric
    if isinstance(metric, dspy.Module):  # its `__call__` takes anything, and hands it on
        kind: Any = type(metric)
        called = getattr(kind, "forward", None) or kind.aforward
    try:
        parameters = list(inspect.signature(called).parameters.values())[called is not metric :]  # without self
    except (TypeError, ValueError):  # of something built in
        return 2
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(positional) < 2 and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return len(positional)
    return max(2, sum(p.default is p.empty for p in positional))


def _number(said: Any) -> float | None:
    """A bool or any kind of number (numpy's, Fraction, Decimal) as a float; None for text and all else."""
    if isinstance(said, str | bytes) or said is None or not hasattr(said, "__float__"):
        return None
    try:
        return float(said)
    except (TypeError, ValueError, OverflowError):
        return None
