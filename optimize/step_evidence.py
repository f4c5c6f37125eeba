"""Proposals judged by what is known of the state they were made in: which are legal, and where each leads."""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..modules.act import Act
from ..modules.choose import Choose
from ..search.protocol import Illegal, Proposed
from ..tasks import stepping
from ..tasks.environment_task import EnvironmentTask
from .hindsight import Label

LONGEST = 200  # characters of a reply that feedback quotes


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one reply of one role is worth.

    score: 0 to 1. right: fit to be shown as an example. feedback: what was wrong with it, and what was right, in words.
    """

    score: float
    right: bool
    feedback: str


class Kind(enum.Enum):
    GOOD = "good"
    UNKNOWN = "nobody knows where this leads"
    BAD = "a dead end"
    ILLEGAL = "illegal"
    REPEATED = "the same as one before it"


@dataclass(frozen=True, slots=True)
class Steps:
    """What is known of the steps from one state.

    n: how many were asked for. by_action, by_key: labels of the states that steps lead to, by the step's text and by
    the task's key. illegal: steps that an environment refused, with its rule. good: steps that a solution follows, as
    the task asks for them. tells: whether code knows good states from bad ones here. listed: what there was to
    choose from, where that was the question.
    """

    role: Any
    task: Any
    state: Any
    n: int | None
    by_action: Mapping[str, Label]
    by_key: Mapping[Hashable, Label]
    illegal: Mapping[str, str]
    good: tuple[str, ...]
    tells: bool
    listed: tuple[str, ...] = ()

    def judge(self, prediction: Any) -> Judgement:
        """score: half for at least one good step, half for the share of steps that are good (half for unknown ones).

        Where no good step is known, the share alone. right: there is a good step, and no illegal one.
        """
        found = self.kinds(prediction)
        if not found:
            return Judgement(0.0, False, "No step could be read from the reply." + self._missed([]))
        kinds = [kind for _, kind, _ in found]
        share = (kinds.count(Kind.GOOD) + kinds.count(Kind.UNKNOWN) / 2) / len(kinds)
        hit = Kind.GOOD in kinds
        score = (hit + share) / 2 if self.good or self.tells else share
        lines = [f"`{quoted(text)}`: {kind.value}{f' ({why})' if why else ''}." for text, kind, why in found]
        return Judgement(score, hit and Kind.ILLEGAL not in kinds, "\n".join(lines) + self._missed(kinds))

    def kinds(self, prediction: Any) -> list[tuple[str, Kind, str]]:
        """Each step of the reply, what it is, and why, in the reply's order."""
        seen: set[str] = set()
        return [self._kind(text, seen) for text in self.texts(prediction)]

    def texts(self, prediction: Any) -> list[Any]:
        """The steps as the reply words them."""
        if "thoughts" in prediction:  # of the role as a module of its own
            return list(prediction.thoughts)
        if isinstance(self.role, Choose):
            read = self.role.read(prediction, self.n, self.listed)
        else:
            read = self.role.read(prediction) if isinstance(self.role, Act) else self.role.read(prediction, self.n)
        return list(read.actions) if isinstance(read, Proposed) else []

    def places(self, texts: Iterable[Any]) -> str:
        """Steps of the list as a chooser writes them: their numbers."""
        return ", ".join(str(self.listed.index(text) + 1) for text in texts if text in self.listed)

    def as_asked(self, text: str) -> str:
        """A step of a reply in the task's own form, where the task gives one."""
        action = stepping.parse(self.task, self.state, text) if self.task.has("write") else None
        return text if action is None or isinstance(action, Illegal) else str(self.task.write(action, self.state))

    def _kind(self, text: Any, seen: set[str]) -> tuple[str, Kind, str]:
        action = stepping.parse(self.task, self.state, text)
        if isinstance(action, Illegal):
            return str(text), Kind.ILLEGAL, action.rule
        shown = self.task.show(action)
        if shown in seen:
            return str(text), Kind.REPEATED, ""
        seen.add(shown)
        if shown in self.illegal:
            return str(text), Kind.ILLEGAL, self.illegal[shown]
        label = self.by_action.get(shown)
        if not steps_in_code(self.task, self.state):
            return str(text), *_labelled(label)
        landing = stepping.step(self.task, self.state, action)
        if isinstance(landing, Illegal):
            return str(text), Kind.ILLEGAL, landing.rule
        if landing.solved:
            return str(text), Kind.GOOD, "it solves the problem"
        if label is None and landing.key is not None:
            label = self.by_key.get(landing.key)
        if label is None and self.tells and (truth := self.task.solvable(landing.state)) is not None:
            words = "code says that it can be solved" if truth else "code says that it cannot be solved"
            return str(text), Kind.GOOD if truth else Kind.BAD, words
        return str(text), *_labelled(label)

    def _missed(self, kinds: list[Kind]) -> str:
        if Kind.GOOD in kinds or not self.good:
            return ""
        return f"\nMissing: {', '.join(f'`{quoted(text)}`' for text in self.good[:3])}, after which a solution follows."


def steps_in_code(task: Any, state: Any) -> bool:
    """Whether the task itself says where a step leads, without touching any world."""
    return not isinstance(task, EnvironmentTask) and (task.has("apply") or isinstance(state, tuple))


def quoted(text: Any) -> str:
    """On one line, and not without end."""
    words = " ".join(str(text).split())
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} ..."


def _labelled(label: Label | None) -> tuple[Kind, str]:
    if label is None:
        return Kind.UNKNOWN, ""
    return (Kind.GOOD if label.truth else Kind.BAD), label.why.value
