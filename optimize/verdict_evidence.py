"""Ratings and predictions of a world judged by what is known: by the search's outcome, or by the task's own rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..modules import reader
from ..modules.approve import Approve
from ..modules.judge import Judge
from ..modules.rate import Rate
from ..modules.scale import Verdicts as Words
from ..modules.world import agrees
from ..search.protocol import Illegal, Rated, Stepped
from .hindsight import Label
from .step_evidence import Judgement, quoted

EVEN = 0.5  # the share of a verdict that says neither


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What is known of the nodes that one rating is about.

    labels: one for each node, None where nobody knows. names: the nodes as feedback calls them.
    """

    role: Any
    labels: tuple[Label | None, ...]
    names: tuple[str, ...]

    def judge(self, prediction: Any) -> Judgement:
        """score: the mean, over the nodes that are known, of how far the verdict is on the right side, 0 to 1.

        right: it is on the right side for each of them. A "maybe" is on neither.
        """
        shares = self.shares(prediction)
        if shares is None:
            return Judgement(0.0, False, "No rating could be read from the reply.")
        known = self._known(shares)
        if not known:
            return Judgement(EVEN, False, "Nobody knows what would have been right here.")
        agreement = [agreed for agreed, _ in known]
        score = sum(agreement) / len(agreement)
        return Judgement(score, min(agreement) > EVEN, "\n".join(line for _, line in known))

    def wrong(self, prediction: Any) -> list[str]:
        """What feedback says of the verdicts that are on the wrong side."""
        shares = self.shares(prediction)
        return [] if shares is None else [line for agreed, line in self._known(shares) if agreed < EVEN]

    def _known(self, shares: list[float | None]) -> list[tuple[float, str]]:
        """Of each verdict on a node that is known: how far it is on the right side, and that in words."""
        found: list[tuple[float, str]] = []
        for share, label, name in zip(shares, self.labels, self.names, strict=True):
            if share is None or label is None:
                continue
            agreed = share if label.truth else 1.0 - share
            verdict = "promising" if share > EVEN else "hopeless" if share < EVEN else "neither promising nor hopeless"
            judged = "rightly" if agreed > EVEN else "wrongly" if agreed < EVEN else "undecidedly"
            found.append((agreed, f"`{quoted(name)}` was {judged} called {verdict}: {label.why.value}."))
        return found

    def shares(self, prediction: Any) -> list[float | None] | None:
        """How promising the reply calls each node, from 0 to 1; None: it says nothing of it. None: it is unread."""
        role, count = self.role, len(self.labels)
        if isinstance(role, Judge):
            found = reader.number(prediction.attempt_score or "", 0.0, 1.0)
            return None if found is None else [found.value]
        if isinstance(role, Approve):
            word = reader.verdict(prediction.step_verdict or "", ["yes", "no"])
            return None if word is None else [float(word == "yes")]
        values = _values(role, prediction, count)
        if values is None:
            return None
        if role.mode == "vote":
            return [1.0 if value else None for value in values]
        return [rank(value, role) for value in values]


def _values(role: Rate, prediction: Any, count: int) -> list[float] | None:
    if "values" in prediction:  # of the role as a module of its own
        values = list(prediction["values"])
        return None if len(values) != count or None in values else values
    read = role.read(prediction, count)
    return list(read.values) if isinstance(read, Rated) else None


def rank(value: float, role: Rate) -> float:
    """Where a value lies on the role's scale, 0 to 1. Words lie evenly: on 20, 1 and 0.001, maybe is a half."""
    if role.mode == "pairs":
        return value
    if isinstance(role.scale, Words):
        ordered = sorted(set(role.scale.values.values()))
        return ordered.index(value) / (len(ordered) - 1) if value in ordered else EVEN
    return (value - role.scale.low) / (role.scale.high - role.scale.low)


@dataclass(frozen=True, slots=True)
class Transition:
    """Where the task's own rules say that an action leads."""

    role: Any
    task: Any
    state: Any
    action: Any
    truth: Stepped | Illegal

    def judge(self, prediction: Any) -> Judgement:
        """score: 1 for the right state, or for ILLEGAL where it is; else 0."""
        said = self.role.read(prediction, self.task, self.state, self.action)
        if not isinstance(said, Stepped | Illegal):
            return Judgement(0.0, False, "No next state could be read from the reply.")
        if agrees(said, self.truth):
            return Judgement(1.0, True, "The prediction is right.")
        return Judgement(0.0, False, f"The prediction is wrong. {self._wrong(said)}")

    def _wrong(self, said: Stepped | Illegal) -> str:
        if isinstance(self.truth, Illegal):
            return f"The action is not possible: {self.truth.rule}."
        if isinstance(said, Illegal):
            return f"The action is possible, and was called impossible: {said.rule}."
        known, told = _facts(self.truth.state), _facts(said.state)
        parts = [f"Missing: {', '.join(sorted(known - told))}."] if known - told else []
        parts += [f"Wrong: {', '.join(sorted(told - known))}."] if told - known else []
        return " ".join(parts)


def _facts(state: Any) -> set[str]:
    return {str(fact) for fact in getattr(state, "facts", ())}
