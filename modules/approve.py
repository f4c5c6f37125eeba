"""The reward of RAP: how likely a step is called good, joined with the share of the goal that is met.

P(yes) is read from the probabilities of the verdict's tokens, in one call, where the model gives them (`likelihood`):
what it makes of the step after the sentence of reasoning that it has just written. Where it gives none, the mean of
`samples` verdicts of 1 and 0 stands for it.
"""

from __future__ import annotations

from typing import Any

import dspy

from .. import signatures
from ..search.protocol import Outcome, Rated, Unread
from ..search.rating import Rating
from . import reader as reading
from .compose import compose
from .judge import blended
from .likelihood import chance, taken
from .predictor import Predict
from .shown import NodeView

MAYBE = 0.5  # what an unread verdict stands for: neither yes nor no
VERDICT = "step_verdict"


class Approve(dspy.Module):
    """One LM call that says yes or no, of the latest step of a plan."""

    def __init__(self, user: type[dspy.Signature], *, notes: str | None = None) -> None:
        super().__init__()
        self.predict = Predict(compose(user, signatures.Approve, notes=notes))

    def rating(self, samples: int, gives_probabilities: bool = False) -> Rating:
        """gives_probabilities: one reply may tell what all samples would."""
        adaptive = gives_probabilities and samples > 1
        return Rating(join="mean", samples=samples, unread=MAYBE, cut=None, low=0.0, high=1.0, adaptive=adaptive)

    def render(self, node: NodeView) -> dict[str, Any]:
        return {"search_path": node.steps, "search_state": node.text}

    def read(self, prediction: dspy.Prediction, node: NodeView, blend: float) -> Outcome:
        """The value of the step. Unread where there is no verdict: then only the goal's share tells anything."""
        tokens = taken(prediction)
        word = reading.verdict(prediction.step_verdict or "", ["yes", "no"])
        if word is None:
            return self.unread(prediction, node, blend)
        likely = chance(tokens, VERDICT, word)
        if likely is None:
            return Rated((blended(float(word == "yes"), node, blend, 0.0),), (word,))
        return Rated((blended(likely, node, blend, 0.0),), (f"P(yes) = {likely:.3g}",), settled=True)

    def unread(self, prediction: dspy.Prediction, node: NodeView, blend: float) -> Unread:
        """A reply without a verdict, or one that was cut off before its end."""
        taken(prediction)
        said = f"{prediction.get('step_reasoning') or ''}\n{prediction.get(VERDICT) or ''}"
        return Unread(said.strip(), blended(MAYBE, node, blend, 0.0))

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return self.predict(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return await self.predict.acall(**inputs)
