"""The proposer: n distinct next steps from the problem and the path so far."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterable, Mapping
from itertools import islice
from typing import Any

import dspy
from pydantic import BaseModel

from .. import signatures
from ..search.protocol import Outcome, Proposed, Unread
from . import reader
from .compose import compose
from .own import ordered
from .predictor import Predict
from .shown import NodeView

# A reply that says there is no next step: it was read, and is not asked again.
DEAD_END = re.compile(
    r"\W*(?:none|nothing|n/?a|(?:there (?:are|is) )?no (?:(?:more|further|other|legal|valid|possible|next) ){0,3}"
    r"(?:steps?|moves?|options?|thoughts?|proposals?)(?: (?:left|remain(?:ing)?|available|possible))?)\W*",
    re.IGNORECASE,
)
ALL = "as many as are worth trying"
ONE = (str, Mapping, BaseModel, dspy.Example)  # iterable, and not a list of proposals


class Propose(dspy.Module):
    """One LM call that lists next steps.

    As a module of its own it takes the user's input fields, `search_path`, `search_state` (where the task
    renders states) and `num_thoughts`, and gives a prediction whose `thoughts` are a list of strings.
    """

    def __init__(self, user: type[dspy.Signature], *, notes: str | None = None, shows_state: bool = True) -> None:
        super().__init__()
        self._shows_state = shows_state
        leave_out = () if shows_state else ("search_state",)
        self.predict = Predict(compose(user, signatures.Propose, notes=notes, leave_out=leave_out))

    def render(self, node: NodeView, n: int | None) -> dict[str, Any]:
        """The role's own input fields."""
        fields = {"search_path": node.steps, "num_thoughts": ALL if n is None else str(n)}
        if self._shows_state:
            fields["search_state"] = node.text
        return fields

    def read(self, prediction: dspy.Prediction, n: int | None) -> Outcome:
        """The proposals, or Unread where the reply holds none."""
        return proposed(prediction.next_thoughts, n)

    def read_cut(self, prediction: dspy.Prediction, n: int | None) -> Outcome:
        """The same of a reply that was cut: its last proposal may be half of one, and is left out."""
        text = prediction.next_thoughts or ""
        return proposed(reader.items(text)[:-1][:n] or None, n)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return self._thoughts(self.predict(**inputs), inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return self._thoughts(await self.predict.acall(**inputs), inputs)

    def _thoughts(self, prediction: dspy.Prediction, inputs: dict[str, Any]) -> dspy.Prediction:
        n = str(inputs.get("num_thoughts", ""))
        return dspy.Prediction(thoughts=reader.items(prediction.next_thoughts or "", int(n) if n.isdigit() else None))


def proposed(text: Any, n: int | None) -> Outcome:
    """What a proposer gave, whatever its shape: text, items in order, or a prediction whose last field is either; or a
    Proposed, which may hold priors.

    TypeError for items without an order, and for what was never awaited.
    """
    if isinstance(text, Proposed):
        return Proposed(text.actions[:n], None if text.priors is None else text.priors[:n])
    if isinstance(text, dspy.Prediction):
        fields = list(text.keys())
        text = text[fields[-1]] if fields else None
    if isinstance(text, Awaitable):
        raise TypeError(f"the proposer gave a {type(text).__name__} that nobody awaits; declare it with `async def`")
    if isinstance(text, Iterable) and not isinstance(text, ONE):
        items = ordered(text, "the proposer")
        found = (item for item in items if not (item is None or (isinstance(item, str) and not item.strip())))
        return Proposed(tuple(islice(found, n)))
    if text is None:
        return Unread("")
    if DEAD_END.fullmatch(reader.clean(str(text)).strip()):
        return Proposed(())
    read = reader.items(str(text), n)
    return Proposed(tuple(read)) if read else Unread(str(text))
