"""The chooser: of the steps that the task allows, those that a model prefers. It cannot propose an illegal one."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from itertools import islice
from typing import Any

import dspy

from .. import signatures
from ..search.protocol import Illegal, Outcome, Proposed, Unread
from ..search.tree import ILLEGAL, Tree
from ..tasks import layout
from . import reader
from .compose import compose
from .predictor import Predict
from .propose import ALL, DEAD_END
from .shown import NodeView
from .trajectory import lessons_shown, trajectory

MOST = 100  # steps that one prompt lists
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


def legal_moves(task: Any, state: Any) -> dict[str, Any]:
    """The legal moves by the text that a prompt shows of each, in the task's order; more than MOST are cut, and warned
    of.
    """
    moves = list(islice(task.moves(state), MOST + 1))
    if len(moves) > MOST:
        warnings.warn(
            f"propose='choose': {type(task).__name__} lists more than {MOST} moves, and a model is shown the first "
            f"{MOST}; list the likely ones first, or propose in another way",
            UserWarning,
            stacklevel=2,
        )
    found: dict[str, Any] = {}
    for move in moves[:MOST]:
        found.setdefault(" ".join(str(task.show(move)).split()), move)
    return found


def chosen(task: Any, state: Any, text: Any) -> Any:
    """The legal move that is shown as `text`: the move itself, whatever the task would read in the text."""
    moves = legal_moves(task, state)
    return moves[text] if text in moves else Illegal("not among the listed steps")


def open_steps(task: Any, tree: Tree[Any, Any], id: int, *, before: bool = False) -> list[str]:
    """What a chooser is shown here: the legal moves that the node has no child by. It may be asked about again.

    before: what it was shown first, when there were no children.
    """
    node = tree[id]
    if before:
        return list(legal_moves(task, node.state))
    taken = {" ".join(str(task.show(c.action)).split()) for c in tree.children(node) if c.status is not ILLEGAL}
    return [text for text in legal_moves(task, node.state) if text not in taken]


def wanted_shape(count: int, n: int | None) -> dict[str, Any]:
    """What a server that holds replies to a JSON schema is asked for: numbers from 1 to `count`."""
    number = {"type": "integer", "enum": list(range(1, count + 1))}
    most = count if n is None else min(n, count)
    numbers = {"type": "array", "items": number, "minItems": 1 if n is None else most, "maxItems": most}
    schema = {
        "type": "object",
        "properties": {"chosen_steps": numbers},
        "required": ["chosen_steps"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "chosen_steps", "strict": True, "schema": schema}}


def holds_shape(lm: Any) -> bool:
    """Whether `lm` holds its replies to a JSON schema, as far as DSPy knows."""
    try:
        return bool(getattr(lm, "supports_response_schema", False)) and "response_format" in lm.supported_params
    except dspy.LMError:  # of a model that nobody knows; whether it can be called, its first call tells
        return False


def refuses_shape(error: BaseException, config: dict[str, Any]) -> bool:
    """Whether a call failed for asking for it."""
    told = str(error).lower()
    named = any(word in told for word in ("response_format", "json_schema", "schema"))
    return isinstance(error, dspy.LMError) and "response_format" in config and named
