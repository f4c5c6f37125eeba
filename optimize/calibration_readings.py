"""What a rater said of each node of finished searches, and whether the node could be solved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..modules.rate import Rate as Rater
from ..search.order import UNREAD
from ..search.protocol import Rate, Rated, Request
from .seen import Seen


@dataclass(frozen=True, slots=True)
class Reading:
    """One value of one node.

    search, node: where. value: on the rater's scale, of this sample alone. verdict: in the rater's words, if it has
    any. truth: whether the node can be solved; None: nobody knows. sample: its number. request: what was asked.
    """

    search: int
    node: int
    depth: int
    value: float
    verdict: str | None
    truth: bool | None
    sample: int = 0
    request: Request | None = None


def on_scale(program: Any) -> bool:
    """Whether the program's rater is one of ours that speaks on a scale, so that its values can be given a worth."""
    return isinstance(program.rate, Rater) and program.plan.rate in ("value", "siblings")


def readings_of(searches: Sequence[Seen]) -> list[Reading]:
    """Of all searches. Where code decides for some of them, it does for all."""
    code = any(seen.tells for seen in searches)
    return [reading for i, seen in enumerate(searches) for reading in _readings(i, seen, code)]


def _readings(number: int, seen: Seen, code: bool) -> Iterator[Reading]:
    tree = seen.result.tree
    if not on_scale(seen.program):
        for node in tree:
            if node.value is not None and node.verdict != UNREAD and node.ratings:
                yield Reading(number, node.id, node.depth, node.value, node.verdict, _truth(seen, node.id, code))
        return
    role = seen.program.rate
    for request, entries in seen.entries.items():
        if not isinstance(request, Rate) or request.rater != "rate":
            continue
        for predictor, _, made in entries:
            if predictor is not role.predict:
                continue
            said = role.read(made, len(request.nodes))
            if not isinstance(said, Rated):
                continue
            for id, value, verdict in zip(request.nodes, said.values, said.verdicts or (), strict=True):
                if verdict != UNREAD:
                    truth = _truth(seen, id, code)
                    yield Reading(number, id, tree[id].depth, value, verdict, truth, request.sample, request)


def _truth(seen: Seen, id: int, code: bool) -> bool | None:
    """The node's label. Hindsight asks code only where it refuted something in the same tree."""
    label = seen.labels.get(id)
    if label is not None:
        return label.truth
    task, state = seen.result.task, seen.result.tree[id].state
    return task.solvable(state) if code and task is not None and state is not None else None
