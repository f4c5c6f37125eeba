"""The rater: how promising nodes are, one at a time, siblings together, by vote, or in pairs."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import dspy

from .. import signatures
from ..search.order import UNREAD
from ..search.protocol import Outcome, Rated, Unread
from ..search.rating import Rating, Together
from ..tasks import layout
from . import reader
from .compose import compose
from .predictor import Predict
from .scale import Anchored, Scale
from .shown import NodeView

Mode: TypeAlias = Literal["value", "siblings", "vote", "pairs"]
MODES: dict[str, Together] = {"value": "each", "siblings": "siblings", "vote": "level", "pairs": "pairs"}


class Rate(dspy.Module):
    """One LM call that rates: reasoning before the verdict, always.

    mode: "value", one node a call; "siblings", all children of one parent in a call; "vote", a whole level in
    a call that names the best; "pairs", two nodes a call. scale: of the first two. As a module of its own it
    takes the user's input fields and the role's, and gives a prediction whose `values` are a list of numbers
    (None: unread).
    """

    def __init__(
        self,
        user: type[dspy.Signature],
        *,
        mode: Mode = "value",
        scale: Scale,
        notes: str | None = None,
        shows_state: bool = True,
    ) -> None:
        super().__init__()
        if mode not in MODES:
            raise ValueError(f"rate={mode!r}: must be one of {', '.join(map(repr, MODES))}, a function or a module")
        self.mode: Mode = mode
        self.scale, self._shows_state = scale, shows_state
        leave_out = () if shows_state or mode != "value" else ("search_state",)
        role, told = self._role()
        self.predict = Predict(compose(user, role, notes=notes, leave_out=leave_out, descriptions=told))

    def _role(self) -> tuple[Any, dict[str, str]]:
        told = self.scale.told
        match self.mode:
            case "vote":
                return signatures.Vote, {}
            case "pairs":
                return signatures.Compare, {}
            case "siblings":
                return signatures.RateSiblings, {"thought_ratings": f"one line a candidate: its number, then {told}"}
            case _ if isinstance(self.scale, Anchored):
                return signatures.Assess, {}
            case _:
                return signatures.Rate, {"thought_rating": told}

    def rating(self, samples: int, join: Literal["sum", "mean"], near: float | None) -> Rating:
        """How a search asks this rater: the scale's numbers, or votes and wins, which prune nothing."""
        together = MODES[self.mode]
        if self.mode in ("vote", "pairs"):
            how: Literal["sum", "mean"] = "sum" if self.mode == "vote" else "mean"
            return Rating(
                together=together,
                samples=samples,
                join=how,
                unread=None,
                cut=None,
                low=0.0,
                high=1.0,
                near=near,
            )
        scale = self.scale
        return Rating(
            together=together,
            samples=samples,
            join=join,
            unread=scale.unread,
            cut=scale.cut,
            low=scale.low,
            high=scale.high,
            near=near,
        )

    def render(self, nodes: list[NodeView]) -> dict[str, Any]:
        """The role's own input fields."""
        if self.mode != "value":
            return {"search_candidates": layout.numbered(map(_candidate, nodes), "\n\n")}
        fields = {"search_path": nodes[0].steps}
        if self._shows_state:
            fields["search_state"] = nodes[0].text
        return fields

    def read(self, prediction: dspy.Prediction, count: int) -> Outcome:
        """One value a node. Unread if none can be read; one of several unread counts as the scale says."""
        mode, scale = self.mode, self.scale
        if mode == "vote":
            chosen = reader.vote(prediction.best_thought or "", count)
            return (
                Unread(_text(prediction)) if chosen is None else Rated(tuple(float(i == chosen) for i in range(count)))
            )
        if mode == "pairs":
            first = reader.comparison(prediction.better_thought or "")
            return Unread(_text(prediction)) if first is None else Rated((first, 1.0 - first))
        found = _readings(mode, scale, prediction, count)
        if not any(found):
            return Unread(_text(prediction))
        return Rated(
            tuple(scale.unread if r is None else r[0] for r in found),
            tuple(UNREAD if r is None else r[1] for r in found),
            sum(1 for r in found if r is not None and r[2]),
        )

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return self._values(self.predict(**inputs), inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return self._values(await self.predict.acall(**inputs), inputs)

    def _values(self, prediction: dspy.Prediction, inputs: dict[str, Any]) -> dspy.Prediction:
        shown = str(inputs.get("search_candidates", ""))
        count = 1 if self.mode == "value" else layout.items(shown)
        outcome = self.read(prediction, count)
        return dspy.Prediction(values=list(outcome.values) if isinstance(outcome, Rated) else [None] * count)


def _readings(mode: Mode, scale: Scale, prediction: dspy.Prediction, count: int) -> list[Any]:
    if mode == "siblings":
        return list(scale.read_many(prediction.thought_ratings or "", count))
    if isinstance(scale, Anchored):
        return [scale.joined(prediction.rating_reachable or "", prediction.rating_score or "")]
    return [scale.read(prediction.thought_rating or "")]


def _candidate(node: NodeView) -> str:
    """The steps, and the state where it says more; cut, as one that never ends would crowd the others out."""
    steps = layout.cut("; ".join(node.path))
    return steps if node.text == node.steps else f"{steps}\n{layout.cut(node.text)}"


def _text(prediction: dspy.Prediction) -> str:
    return "\n".join(str(value) for value in prediction.toDict().values())
