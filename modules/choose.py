"""The chooser: of the steps that the task allows, those that a model prefers. It can name no other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import dspy

from .. import signatures
from ..search.protocol import Outcome, Proposed, Unread
from ..tasks import layout
from . import reader
from .compose import compose
from .predictor import Predict
from .propose import ALL, DEAD_END
from .shown import NodeView
from .trajectory import lessons_shown, trajectory

_LISTED = re.compile(r"^[0-9]+\. (.+)$", re.MULTILINE)


class Choose(dspy.Module):
    """One LM call that gives the numbers of some of the listed steps, the best first.

    As a module of its own it takes the user's input fields, `search_path`, `search_state` (where the task renders
    states), `allowed_steps` (a list of texts, or one text with a numbered step a line) and `num_choices`, and gives a
    prediction whose `thoughts` are the chosen texts.
    """

    def __init__(
        self,
        user: type[dspy.Signature],
        *,
        notes: str | None = None,
        shows_state: bool = True,
        reads_lessons: bool = False,
    ) -> None:
        """reads_lessons: of an actor in an environment, who is shown observations and the lessons of failures."""
        super().__init__()
        self.shows_state, self.reads_lessons = shows_state, reads_lessons
        shown = {"search_state": shows_state, "search_lessons": reads_lessons}
        leave_out = tuple(name for name, wanted in shown.items() if not wanted)
        self.predict = Predict(compose(user, signatures.Choose, notes=notes, leave_out=leave_out))

    def render(
        self, node: NodeView, n: int | None, steps: Sequence[str], lessons: Sequence[str] = ()
    ) -> dict[str, Any]:
        """The role's own input fields."""
        path = trajectory(node.trajectory) if self.reads_lessons else node.steps
        fields = {"num_choices": ALL if n is None else str(n), "search_path": path}
        if self.shows_state:
            fields["search_state"] = node.text
        if self.reads_lessons:
            fields["search_lessons"] = lessons_shown(lessons)
        return fields | {"allowed_steps": layout.numbered(steps)}

    def read(self, prediction: dspy.Prediction, n: int | None, steps: Sequence[str], *, cut: bool = False) -> Outcome:
        """The chosen steps, in their own words; Unread where no number of the list is chosen.

        A number that is not in the list stands for no step; beside others that are, it becomes an illegal one.
        cut: the reply is, so that its last number may be half of one.
        """
        text = prediction.chosen_steps or ""
        found = reader.choices(text, steps)
        found = found[: -1 if cut else None][:n]
        if not any(choice.place is not None for choice in found):
            return Proposed(()) if not cut and DEAD_END.fullmatch(reader.clean(text).strip()) else Unread(text)
        named = (unlisted(c.said) if c.place is None else steps[c.place] for c in found)
        return Proposed(tuple(named))

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return self._thoughts(self.predict(**_asked(inputs)), inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return self._thoughts(await self.predict.acall(**_asked(inputs)), inputs)

    def _thoughts(self, prediction: dspy.Prediction, inputs: dict[str, Any]) -> dspy.Prediction:
        n = str(inputs.get("num_choices", ""))
        steps = listed_in(_asked(inputs)["allowed_steps"])
        chosen = self.read(prediction, int(n) if n.isdigit() else None, steps)
        return dspy.Prediction(thoughts=list(chosen.actions) if isinstance(chosen, Proposed) else [])


def _asked(inputs: dict[str, Any]) -> dict[str, Any]:
    steps = inputs.get("allowed_steps", "")
    return inputs if isinstance(steps, str) else {**inputs, "allowed_steps": layout.numbered(steps)}


def unlisted(number: str) -> str:
    """What stands for a choice of a number that was not in the list."""
    return f"no step of the list: {number}"


def listed_in(allowed_steps: str) -> list[str]:
    """The steps of a prompt's numbered list."""
    return _LISTED.findall(allowed_steps)
