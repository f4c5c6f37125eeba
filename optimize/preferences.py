"""Preference pairs: of two siblings the one that a solution follows, against one that is known to lead nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import dspy

from ..modules.act import Act
from ..modules.choose import Choose, listed_in
from ..modules.header import digest
from ..modules.program import Program
from ..search import SearchResult
from ..search.labels import state_of
from ..search.protocol import Propose
from ..search.tree import DUPLICATE, FAILED, ILLEGAL, Node
from ..tasks import layout
from .chat import Message, exchange
from .hindsight import Label, labels
from .real_steps import RealSteps
from .role_sets import seen_in
from .seen import Seen
from .sources import results_in
from .wording import written


@dataclass(frozen=True, slots=True)
class Sibling:
    """A child with what is known of it. truth: None: nobody knows."""

    node: Node[Any, Any]
    step: str
    truth: bool | None
    why: str


def preference_pairs(
    results: Any,
    program: Program | None = None,
    *,
    margin: float | None = None,
    examples: Sequence[dspy.Example] | None = None,
    metric: Callable[..., Any] | None = None,
    metric_threshold: float | None = None,
    proposals_are_all: bool = False,
) -> list[dict[str, Any]]:
    """Pairs of next steps from one state, for preference tuning: rows of `prompt`, `chosen` and `rejected` messages.

        pairs = preference_pairs([found_1, found_2], program)

    A chosen step is one that a verified solution follows, or of which code says that it can be solved; a rejected one
    is illegal, was finished and wrong, is refuted by code, or exhausted (see `hindsight.labels`). Neither was merely
    left alone. margin: also pairs of which nobody knows more than their values, at least so far apart, on the
    rating's scale (times its samples, where they are summed); what is known is never reversed by it.

    results: predictions of a search, results, saved ones, (example, prediction) pairs, an evaluation's result, or
    journals. program: the one that made them; prompts are then those of its proposer, for one step, and code judges
    what it can. A result, and a journal, then need `examples` (their inputs). Without it, the prompt tells the steps
    and the state in plain words, and only what the search itself found out is known. metric, metric_threshold,
    proposals_are_all: as of `role_examples`.

    Each row also says why (`chosen_why`, `rejected_why`), which nodes these are (`node`, `chosen_node`,
    `rejected_node`), and their values. Equal rows are given once. ValueError for a margin that is no number above 0.
    """
    if margin is not None and (isinstance(margin, bool) or not isfinite(margin) or margin <= 0):
        raise ValueError(f"margin={margin!r}: must be a finite number above 0, or None for pairs that are known")
    rows: dict[str, dict[str, Any]] = {}
    if program is None:
        if metric is not None:
            raise ValueError("metric=: needs the program that made these results")
        for inputs, result in results_in(results):
            found = labels(result, proposals_are_all=proposals_are_all)
            known = {node.id: found.get(node.id) for node in result.tree}
            _keep(rows, _pairs(result, known, _Words(result, inputs), margin))
    else:
        for seen in seen_in(results, program, examples, metric, metric_threshold, proposals_are_all):
            role = seen.role(Propose(0, 1))
            told = _Words(seen.result, seen.inputs) if role is None else _Role(seen, role)
            known = {node.id: seen.label(node, role) for node in seen.result.tree}
            _keep(rows, _pairs(seen.result, known, told, margin))
    return list(rows.values())


def _keep(rows: dict[str, dict[str, Any]], found: Iterator[dict[str, Any]]) -> None:
    for row in found:
        rows.setdefault(digest([row["prompt"], row["chosen"], row["rejected"]]), row)


def _pairs(
    result: SearchResult[Any, Any],
    known: Mapping[int, Label | None],
    told: _Words | _Role,
    margin: float | None,
) -> Iterator[dict[str, Any]]:
    real = RealSteps(result)
    for parent in result.tree:
        siblings = [
            _sibling(result, child, known[child.id])
            for child in result.tree.children(parent)
            if child.status not in (DUPLICATE, FAILED) and real.is_so(child)
        ]
        for good in siblings:
            for bad in siblings:
                why = _preferred(good, bad, margin)
                if why is None or good.step == bad.step:
                    continue
                said = told.row(parent, good, bad)
                if said is None:
                    continue
                prompt, chosen, rejected = said
                yield {
                    "prompt": prompt,
                    "chosen": [chosen],
                    "rejected": [rejected],
                    "chosen_why": why[0],
                    "rejected_why": why[1],
                    "node": parent.id,
                    "chosen_node": good.node.id,
                    "rejected_node": bad.node.id,
                    "chosen_value": good.node.value,
                    "rejected_value": bad.node.value,
                }


def _sibling(result: SearchResult[Any, Any], node: Node[Any, Any], label: Label | None) -> Sibling:
    if node.status is ILLEGAL:
        return Sibling(node, result.shown(node), False, f"illegal: {node.reason}")  # read or not
    if label is None:
        return Sibling(node, written(result, node), None, "")
    return Sibling(node, written(result, node), label.truth, label.why.value)


def _preferred(good: Sibling, bad: Sibling, margin: float | None) -> tuple[str, str] | None:
    """Why the one is better and the other worse; None: that is not known."""
    if good.truth is True and bad.truth is False:
        return good.why, bad.why
    one, other = good.node, bad.node
    if margin is None or good.truth is False or bad.truth is True or one.value is None or other.value is None:
        return None
    if good.truth is bad.truth is not None or one.rater != other.rater or one.value - other.value < margin:
        return None
    return good.why or f"rated {one.value:g}", bad.why or f"rated {other.value:g}"


class _Role:
    """Prompts and replies of the program's own proposer, asked for one step."""

    def __init__(self, seen: Seen, role: Any) -> None:
        self._seen, self._role = seen, role

    def row(self, parent: Node[Any, Any], good: Sibling, bad: Sibling) -> tuple[list[Message], Message, Message] | None:
        signature, fields = self._role.predict.signature, self._seen.fields(Propose(parent.id, 1))
        chosen, rejected = self._reply(fields, good), self._reply(fields, bad)
        if chosen is None or rejected is None:
            return None
        prompt, said = exchange(signature, {**fields, **chosen})
        return prompt, said, exchange(signature, {**fields, **rejected})[1]

    def _reply(self, fields: dict[str, Any], sibling: Sibling) -> dict[str, Any] | None:
        """None: this proposer cannot say it."""
        if isinstance(self._role, Act):
            return {"next_action": sibling.step}
        if isinstance(self._role, Choose):
            listed, shown = listed_in(fields["allowed_steps"]), self._seen.result.shown(sibling.node)
            return {"chosen_steps": str(listed.index(shown) + 1)} if shown in listed else None
        return {"next_thoughts": layout.numbered([sibling.step])}


class _Words:
    """Where no prompt of ours is known: the problem, the steps and the state in plain words."""

    def __init__(self, result: SearchResult[Any, Any], inputs: dict[str, Any] | None) -> None:
        self._result, self._inputs = result, inputs or {}

    def row(self, parent: Node[Any, Any], good: Sibling, bad: Sibling) -> tuple[list[Message], Message, Message]:
        steps = layout.numbered(self._result.steps(parent)) or "(none yet)"
        state = state_of(self._result, parent)
        parts = [f"{name}: {value}" for name, value in self._inputs.items()]
        parts += [f"Steps so far:\n{steps}", *([f"State:\n{state}"] if state else []), "What is the next step?"]
        chosen, rejected = ({"role": "assistant", "content": sibling.step} for sibling in (good, bad))
        return [{"role": "user", "content": "\n\n".join(parts)}], chosen, rejected
