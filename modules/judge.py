"""The judge: how close an attempt has come, blended with what the environment itself can tell."""

from __future__ import annotations

from typing import Any

import dspy

from .. import signatures
from ..search.protocol import Outcome, Rated, Unread
from ..search.rating import Rating
from . import reader as reading
from .compose import compose
from .predictor import Predict
from .shown import NodeView
from .trajectory import trajectory


class Judge(dspy.Module):
    """One LM call that reasons, then scores an attempt from 0 to 1."""

    def __init__(self, user: type[dspy.Signature], *, notes: str | None = None) -> None:
        super().__init__()
        self.predict = Predict(compose(user, signatures.Judge, notes=notes))

    def rating(self) -> Rating:
        """An unread score is asked for once more, then counts 0; nothing is pruned."""
        return Rating(join="mean", unread=0.0, cut=None, low=0.0, high=1.0)

    def render(self, node: NodeView) -> dict[str, Any]:
        return {"search_path": trajectory(node.trajectory)}

    def read(self, prediction: dspy.Prediction, node: NodeView, blend: float, agreement: float) -> Outcome:
        """The value of the attempt; see `blended`."""
        found = reading.number(prediction.attempt_score or "", 0.0, 1.0)
        if found is None:
            return Unread(f"{prediction.judge_reasoning or ''}\n{prediction.attempt_score or ''}".strip())
        return Rated((blended(found.value, node, blend, agreement),), (f"{found.value:g}",), int(found.clamped))

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return self.predict(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return await self.predict.acall(**inputs)


def blended(score: float, node: NodeView, blend: float, agreement: float) -> float:
    """The model's score joined with what else is known of the node.

    blend: the weight of the environment's own value (a share of tests passed), where it gave one. agreement: the weight
    of self-consistency, the share of sampled siblings that say the same.
    """
    known = node.observation.get("value") if isinstance(node.observation, dict) else None
    value = score if known is None else (1 - blend) * score + blend * known
    return (1 - agreement) * value + agreement * node.agreement
