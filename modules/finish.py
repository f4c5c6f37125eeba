"""From a node to the output fields: by code where code can, and whether they are verified."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import dspy
from dspy.adapters.utils import annotation_allows_none

from ..search.protocol import Answered, Illegal, Stepped, Unread
from ..search.tree import Node, NodeStatus
from ..tasks import stepping
from .about import build
from .answer import from_text, typed
from .reward import Reward


class UntoldAnswer(Exception):
    """The task's `answer` raised `error`."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"the task's `answer` raised {type(error).__name__}")
        self.error = error


@dataclass(frozen=True, slots=True)
class Finisher:
    """What is known about the answers of one call. mode: the plan's `answer`."""

    user: type[dspy.Signature]
    task: Any
    inputs: Mapping[str, Any]
    mode: str
    reward: Reward | None
    raised: list[Exception] = field(default_factory=list[Exception])  # by the task's `answer`, of states it made itself

    @property
    def may_call(self) -> bool:
        """Whether an answer of this program may need a closing call."""
        return closes(self.mode, self.user, self.task)

    def needs_call(self, node: Node[Any, Any]) -> bool:
        """Whether a field is left that only a model can fill."""
        return self.mode == "lm" or (self.mode == "auto" and len(self.known(node)) < len(self.user.output_fields))

    def known(self, node: Node[Any, Any]) -> dict[str, Any]:
        """The output fields that code can tell: the node's own, the task's, or what its last step states."""
        if node.answer is not None:
            return node.answer
        if node.state is None or not (node.id or node.status is NodeStatus.SOLVED):
            return {}
        try:
            found = self._told(node.state)
        except UntoldAnswer as untold:  # what the search has found is not lost for it
            self.raised.append(untold.error)
            return {}
        if self.task.has("answer"):
            return {name: _as_type(self.user, name, found[name]) for name in self.user.output_fields if name in found}
        if not node.id:
            return {}
        # Free text: what the last thought states, if it fits the one output field.
        stated = stepping.marked_answer(self.task.show(node.action)) or next(iter(found.values()), None)
        return (from_text(self.user, stated) if stated else None) or {}

    def _told(self, state: Any) -> Mapping[str, Any]:
        """What the task says of a state. UntoldAnswer: it raised; TypeError: what it gave is no mapping of fields."""
        try:
            said = self.task.answer(state)
        except Exception as error:
            raise UntoldAnswer(error) from error
        found = stepping.given(self.task, "answer", said)
        if not isinstance(found, Mapping):
            kind = type(self.task).__name__
            raise TypeError(f"{kind}.answer returned {found!r}; return a dict of fields, {{}} where there are none")
        return found

    def candidate(self, path: list[str]) -> dict[str, Any]:
        """Fields for a candidate that nobody turned into an answer: its text where that fits the type."""
        if self.mode == "path" or (self.mode != "auto" and path):
            text = "\n".join(path)
        else:
            text = (stepping.marked_answer(path[-1]) or path[-1]) if path else ""
        fields: dict[str, Any] = dict.fromkeys(self.user.output_fields)
        *_, last = self.user.output_fields
        for form in (text, path) if text and not self.task.has("answer") else ():
            with suppress(ValueError, TypeError):
                fields[last] = typed(self.user, last, form)
                break
        return fields

    def step(self, landing: Stepped | Illegal, action: Any) -> Stepped | Illegal:
        """Where code led, after a reward function has had its say about a finished answer."""
        if self.reward is None or not isinstance(landing, Stepped) or not (landing.claimed or landing.solved):
            return landing
        if landing.solved:
            fields = self._told(landing.state) or None
        else:
            fields = from_text(self.user, stepping.marked_answer(self.task.show(action)) or "")
        if fields is None:
            return landing  # nothing to reward yet: the closing call's answer will be judged
        score, feedback = self.reward.judge(self.inputs, fields)
        return replace(
            landing,
            solved=score >= self.reward.threshold,
            claimed=False,
            terminal=True,
            missed=score < self.reward.threshold,
            value=score,
            observation=feedback,
        )

    def read(self, prediction: Any, known: Mapping[str, Any]) -> Answered | Unread:
        """A model's answer, but for what code knows better, judged. Unread where a field is missing."""
        fields = {name: known.get(name, prediction.get(name)) for name in self.user.output_fields}
        for name, info in self.user.output_fields.items():
            if fields[name] is None and not annotation_allows_none(info.annotation):
                return Unread(str({name: value for name, value in fields.items() if value is not None}))
        return self.judged(fields)

    def judged(self, fields: dict[str, Any]) -> Answered:
        """A model's answer, checked by the task and by the reward function, if there are any."""
        verified, rule, score, feedback = False, None, None, None
        if self.task.has("check"):
            try:
                verdict = stepping.given(self.task, "check", self.task.check(fields))
            except Illegal as illegal:
                verdict = illegal
            verified = not isinstance(verdict, Illegal) and bool(verdict)
            rule = (
                None if verified else verdict.rule if isinstance(verdict, Illegal) else "the task refuses this answer"
            )
        if self.reward is not None and rule is None:
            score, feedback = self.reward.judge(self.inputs, fields)
            verified = score >= self.reward.threshold
            rule = None if verified else f"its reward is under {self.reward.threshold:g}"
        return Answered(fields, verified, rule, score, feedback)


def closes(mode: str, user: type[dspy.Signature], task: Any) -> bool:
    """Whether code can leave a field open. A task that answers fills the outputs of its own signature."""
    if mode != "auto":
        return mode == "lm"
    if not task.has("answer") or getattr(task, "leaves_open", False):
        return True
    own = task.signature
    filled = user if own is None else build(own) if isinstance(own, str) else own
    return not set(user.output_fields) <= set(filled.output_fields)


def _as_type(user: type[dspy.Signature], name: str, value: Any) -> Any:
    """The task's value as the field's type; a value that does not fit is the task's, and stays as it is."""
    if value is None:
        return None
    try:
        return typed(user, name, value)
    except (ValueError, TypeError):
        return value
