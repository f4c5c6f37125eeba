"""A reward function that verifies finished answers, in the shape of dspy.Refine's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from numbers import Real
from typing import Any

import dspy


@dataclass(frozen=True, slots=True)
class Reward:
    """`fn(inputs, prediction) -> float | Prediction(score, feedback)`; an answer that reaches `threshold` is
    verified.

    A function that calls an LM says how often at most, by an attribute `calls`.
    """

    fn: Callable[..., Any]
    threshold: float
    raised: list[Exception | None] = field(default_factory=list[Exception | None])  # for each answer; None: it has one

    @property
    def calls(self) -> int:
        return int(getattr(self.fn, "calls", 0))

    def judge(self, inputs: Mapping[str, Any], fields: Mapping[str, Any]) -> tuple[float, str | None]:
        """Score and feedback. ValueError for a score that is no finite number; else what the function raises."""
        try:
            found = self._score(inputs, fields)
        except Exception as error:
            self.raised.append(error)
            raise
        self.raised.append(None)
        return found

    def _score(self, inputs: Mapping[str, Any], fields: Mapping[str, Any]) -> tuple[float, str | None]:
        given = self.fn(dict(inputs), dspy.Prediction(**fields))
        feedback = None
        if isinstance(given, dspy.Prediction | dspy.Example):
            feedback = given.get("feedback")
            given = given.get("score")
        if not isinstance(given, Real) or not isfinite(given):
            name = getattr(self.fn, "__name__", type(self.fn).__name__)
            raise ValueError(f"reward_fn {name} gave {given!r}: must be a finite number, or a Prediction with a score")
        return float(given), None if feedback is None else str(feedback)
