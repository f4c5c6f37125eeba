"""The closing call: the user's output fields from the path to a node."""

from __future__ import annotations

from typing import Any

import dspy
from dspy.adapters.utils import parse_value

from .. import signatures
from .compose import compose
from .predictor import Predict
from .shown import NodeView
from .trajectory import observed_text, trajectory


class Answer(dspy.Module):
    """One LM call that answers from the steps taken; without any, a direct answer."""

    def __init__(self, user: type[dspy.Signature], *, notes: str | None = None) -> None:
        super().__init__()
        self.predict = Predict(compose(user, signatures.Answer, notes=notes, answers=True))

    def render(self, node: NodeView) -> dict[str, Any]:
        if any(isinstance(seen, dict) and observed_text(seen) for seen in node.observations):
            return {"search_path": trajectory(node.trajectory)}  # in an environment, the answer is in what was seen
        return {"search_path": node.steps}

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return self.predict(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return await self.predict.acall(**inputs)


def typed(user: type[dspy.Signature], name: str, value: Any) -> Any:
    """`value` as the output field's type. ValueError if it is none."""
    info = user.output_fields[name]
    return parse_value(value, info.annotation)


def from_text(user: type[dspy.Signature], text: str) -> dict[str, Any] | None:
    """The output fields that a final thought states: one field, of its type; else None."""
    if len(user.output_fields) != 1:
        return None
    (name,) = user.output_fields
    try:
        return {name: typed(user, name, text)}
    except (ValueError, TypeError):
        return None


def empty(user: type[dspy.Signature]) -> dict[str, Any]:
    """Every output field, as None."""
    return dict.fromkeys(user.output_fields)
