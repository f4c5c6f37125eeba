"""The reward of RAP: how likely a step is called good, joined with the share of the goal that is met."""

from __future__ import annotations

from typing import Any

import dspy

from .. import signatures
from ..search.protocol import Outcome, Rated, Unread
from ..search.rating import Rating
from . import reader as reading
from .compose import compose
from .judge import blended
from .shown import NodeView


class Approve(dspy.Module):
    """One LM call that says yes or no; the mean over `samples` of them stands for P(yes)."""

    def __init__(self, user: type[dspy.Signature], *, notes: str | None = None) -> None:
        super().__init__()
        self.predict = dspy.Predict(compose(user, signatures.Approve, notes=notes))

    def rating(self, samples: int) -> Rating:
        return Rating(join="mean", samples=samples, unread=0.0, cut=None, low=0.0, high=1.0)

    def render(self, node: NodeView) -> dict[str, Any]:
        return {"search_path": node.steps, "search_state": node.text}

    def read(self, prediction: dspy.Prediction, node: NodeView, blend: float) -> Outcome:
        word = reading.verdict(prediction.step_verdict or "", ["yes", "no"])
        if word is None:
            return Unread(f"{prediction.step_reasoning or ''}\n{prediction.step_verdict or ''}".strip())
        return Rated((blended(float(word == "yes"), node, blend, 0.0),), (word,))

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return self.predict(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return await self.predict.acall(**inputs)
