"""One example for one role: what it is asked, the right reply as far as it is known, and how any reply is judged."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import dspy

from ..modules.act import Act
from ..modules.approve import Approve
from ..modules.choose import Choose
from ..modules.judge import Judge
from ..modules.rate import Rate
from ..modules.scale import Anchored
from ..modules.scale import Verdicts as Words
from ..search.protocol import Illegal
from ..tasks import layout
from .hindsight import Label
from .seen import Evidence
from .step_evidence import Judgement, Steps
from .verdict_evidence import Verdicts


class RoleExample(dspy.Example):
    """A dspy.Example whose inputs are those of a role's predictor, and whose other fields are the right reply.

    role: "propose", "rate" or "world". truth: of a rating of one node, whether a solution can follow. `judge` says what
    a reply is worth; it is no field, so that the example is saved, copied and shown as any other.
    """

    def __init__(self, base: Any = None, *, role: str = "", evidence: Evidence | None = None, **fields: Any) -> None:
        super().__init__(base, **fields)
        known = isinstance(base, RoleExample)
        self._role: str = base._role if known else role
        self._evidence: Evidence | None = base._evidence if known else evidence

    def __deepcopy__(self, memo: dict[int, Any]) -> RoleExample:
        copied = RoleExample(self)
        copied._store = deepcopy(self._store, memo)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        """What replies are judged by holds a task and prompts of this process: a pickled example is its fields."""
        return {**self.__dict__, "_evidence": None}

    @property
    def role(self) -> str:
        return self._role

    @property
    def evidence(self) -> Evidence | None:
        return self._evidence

    @property
    def truth(self) -> bool | None:
        label = self._label
        return None if label is None else label.truth

    @property
    def why(self) -> str | None:
        """How `truth` is known."""
        label = self._label
        return None if label is None else label.why.value

    @property
    def _label(self) -> Label | None:
        found = self._evidence
        return found.labels[0] if isinstance(found, Verdicts) and len(found.labels) == 1 else None

    def judge(self, prediction: Any) -> Judgement:
        """What this reply is worth: of the role's predictor, or of the role as a module."""
        if self._evidence is None:
            raise ValueError("this example was made from its fields alone, and knows nothing to judge a reply by")
        return self._evidence.judge(prediction)


def reply_of(evidence: Evidence) -> dict[str, Any]:
    """The output fields that are known to be right; reasoning is nobody's to invent. Empty where none is."""
    if isinstance(evidence, Steps):
        if not evidence.good:
            return {}
        if isinstance(evidence.role, Choose):
            right = [text for text in evidence.listed if (known := evidence.by_action.get(text)) and known.truth]
            return {"chosen_steps": evidence.places(right)} if right else {}
        acts = isinstance(evidence.role, Act)
        return {"next_action": evidence.good[0]} if acts else {"next_thoughts": layout.numbered(evidence.good)}
    if isinstance(evidence, Verdicts):
        return _verdict(evidence)
    truth = evidence.truth
    said = f"ILLEGAL: {truth.rule}" if isinstance(truth, Illegal) else evidence.task.render(truth.state)
    return {"next_state": said}


def _verdict(evidence: Verdicts) -> dict[str, Any]:
    role: Any = evidence.role
    truths = [None if label is None else label.truth for label in evidence.labels]
    if isinstance(role, Judge):
        return {"attempt_score": "1" if truths[0] else "0"}
    if isinstance(role, Approve):
        return {"step_verdict": "yes" if truths[0] else "no"}
    assert isinstance(role, Rate)
    if role.mode == "vote":
        return {"best_thought": str(truths.index(True) + 1)}
    if role.mode == "pairs":
        return {"better_thought": str(truths.index(True) + 1)}
    words = _words(role)
    if role.mode == "siblings":
        if None in truths:
            return {}
        return {"thought_ratings": layout.numbered(words[bool(truth)] for truth in truths)}
    if isinstance(role.scale, Anchored):
        return {"rating_reachable": "yes" if truths[0] else "no", "rating_score": words[bool(truths[0])]}
    return {"thought_rating": words[bool(truths[0])]}


def _words(role: Rate) -> Mapping[bool, str]:
    """The ends of the role's scale as it is told to write them."""
    if isinstance(role.scale, Words):
        ordered = sorted(role.scale.values, key=lambda word: role.scale.values[word])  # type: ignore[union-attr]
        return {False: ordered[0], True: ordered[-1]}
    return {False: f"{role.scale.low:g}", True: f"{role.scale.high:g}"}
