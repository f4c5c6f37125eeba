"""The reflector: one lesson from one failed attempt."""

from __future__ import annotations

import re
from typing import Any

import dspy

from .. import signatures
from ..search.protocol import Outcome, Reflected, Unread
from . import reader as reading
from .compose import compose
from .predictor import Predict
from .shown import NodeView
from .trajectory import feedback_text, trajectory

LEAST_WORDS = 3
_WORD = re.compile(r"[^\W\d_]{2,}")


class Reflect(dspy.Module):
    """One LM call about a failed attempt. A reply that is a bare answer is no lesson, and is not kept."""

    def __init__(self, user: type[dspy.Signature], *, notes: str | None = None) -> None:
        super().__init__()
        self.predict = Predict(compose(user, signatures.Reflect, notes=notes))

    def render(self, node: NodeView) -> dict[str, Any]:
        return {"search_path": trajectory(node.trajectory), "attempt_feedback": feedback_text(node.observation)}

    def read(self, prediction: dspy.Prediction) -> Outcome:
        lesson = reading.clean(prediction.attempt_lesson or "").strip()
        return Reflected(lesson) if len(_WORD.findall(lesson)) >= LEAST_WORDS else Unread(lesson)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return self.predict(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return await self.predict.acall(**inputs)
