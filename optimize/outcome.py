"""What became of one example."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import dspy

from ..search.protocol import FREE, Usage


@dataclass(frozen=True, slots=True)
class Outcome:
    """One example, run once.

    index: its place in the dev set, from 0. prediction: an empty one where the program failed. score: None where the
    program or the metric failed; a failure is no low score. feedback: of the metric, in words. error: one line,
    without keys. at: "program", "metric" or "limit" (a ceiling around the evaluation did not let it finish): where it
    failed. details: the traceback, where that was asked for. fatal: no other example would fare better (a wrong key).
    spent: LM calls, tokens, dollars, and call time, by the search's own meter where the program is a search.
    judged: what the metric's own calls spent. unpriced: calls whose dollars nobody knows, and `spent` lacks.
    seconds: wall time of the program. solved: whether code verified the answer; None for no search.
    faults: calls of a search that failed without ending it. resumed: read from the folder of an earlier run.
    """

    index: int
    example: dspy.Example
    prediction: Any = field(default_factory=dspy.Prediction)
    score: float | None = None
    feedback: str | None = None
    error: str | None = None
    at: str | None = None
    details: str | None = None
    fatal: bool = False
    spent: Usage = FREE
    judged: Usage = FREE
    unpriced: int = 0
    seconds: float = 0.0
    solved: bool | None = None
    faults: int = 0
    resumed: bool = False
