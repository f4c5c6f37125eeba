"""The actor: one next action, from the trajectory and the lessons of earlier attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy

from .. import signatures
from ..search.protocol import Outcome, Proposed, Unread
from .compose import compose
from .predictor import Predict
from .shown import NodeView
from .tool_call import with_thought
from .trajectory import lessons_shown, trajectory


class Act(dspy.Module):
    """One LM call that gives one action; an expansion makes as many calls as it wants children."""

    def __init__(
        self, user: type[dspy.Signature], *, notes: str | None = None, action_format: str, thinks: bool = False
    ) -> None:
        """thinks: the reasoning is part of the proposal, for an environment that keeps it."""
        super().__init__()
        self.action_format, self.thinks = action_format, thinks
        self.predict = Predict(compose(user, signatures.Act, notes=notes))

    def render(self, node: NodeView, lessons: Sequence[str]) -> dict[str, Any]:
        return {
            "search_path": trajectory(node.trajectory),
            "search_lessons": lessons_shown(lessons),
            "action_format": self.action_format,
        }

    def read(self, prediction: dspy.Prediction, n: int = 1) -> Outcome:
        """The action as it was written; what it means is the environment's to say."""
        action = (prediction.next_action or "").strip()
        thought = str(prediction.act_reasoning or "")
        if not action:
            return Unread(thought)
        return Proposed((with_thought(thought, action) if self.thinks else action,))

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return self.predict(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return await self.predict.acall(**inputs)
