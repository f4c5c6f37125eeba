"""What a search that is over tells of its nodes: whether a solution could still follow, and how that is known.

A node of which nobody knows has no label. That a search left a node alone, pruned it, or ran out of calls below it says
nothing about it, so that none of these makes a negative.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..search import SearchResult
from ..search.protocol import Illegal
from ..search.tree import DUPLICATE, EXPANDED, ILLEGAL, SOLVED, TERMINAL, WRONG, Node
from ..tasks import Task, stepping
from .real_steps import RealSteps

MOST_MOVES = 10_000  # of a state, before nobody says any more that all were tried


class Why(enum.StrEnum):
    """How a label is known."""

    SOLUTION = "a solution follows"
    METRIC = "the metric accepts what follows"
    SOLVABLE = "code says that it can be solved"
    UNSOLVABLE = "code says that it cannot be solved"
    WRONG = "it is finished, and no solution"
    FAILED = "it was tried, and judged wrong"
    EXHAUSTED = "all that can follow was searched, and is no solution"


@dataclass(frozen=True, slots=True)
class Label:
    """truth: whether a solution can still follow."""

    truth: bool
    why: Why


def labels(
    result: SearchResult[Any, Any], *, accepted: bool | None = None, proposals_are_all: bool = False
) -> dict[int, Label]:
    """The labels of the nodes that have one, by id.

    accepted: what a metric says of the answer; None: only code is asked. A refused answer is no solution, and an
    accepted one makes its path good. proposals_are_all: trust the proposer to have named all that can follow, where
    the task does not list its `moves`; without that, only a listed state is ever exhausted.

    Good: a solution follows, or code (`task.solvable`) says so and has refuted others of this tree, so that its yes
    means something. Bad: code refutes it, it is finished and wrong, or each of its moves was tried and is bad. A
    duplicate has its first node's label. In a predicted world a step leads from one state to another only if the
    task's own `apply` confirms it, where there is one.
    """
    found: dict[int, Label] = {}
    real = RealSteps(result)
    solutions = {node.id for node in result.tree if node.status is SOLVED}
    if accepted is False:
        solutions.discard(result.best.id)
    for id in sorted(solutions):
        found |= _path(result, real, result.tree[id], Why.SOLUTION)
    if accepted:
        found = _path(result, real, result.best, Why.METRIC) | found
    found |= {id: label for id, label in _by_code(result).items() if id not in found}
    _spread(result, real, found, proposals_are_all)
    return found


def _path(result: SearchResult[Any, Any], real: RealSteps, end: Node[Any, Any], why: Why) -> dict[int, Label]:
    path = result.tree.path(end)
    return {node.id: Label(True, why) for node in path} if all(map(real.is_so, path[1:])) else {}


def _by_code(result: SearchResult[Any, Any]) -> dict[int, Label]:
    task, found = result.task, dict[int, Label]()
    for node in result.tree:
        if node.status is TERMINAL and node.reason == WRONG:
            found[node.id] = Label(False, Why.WRONG)
        elif task is not None and node.state is not None:
            truth = task.solvable(node.state)
            if truth is not None:
                found[node.id] = Label(truth, Why.SOLVABLE if truth else Why.UNSOLVABLE)
    if any(label.why is Why.UNSOLVABLE for label in found.values()):
        return found
    return {id: label for id, label in found.items() if not label.truth}


def _spread(result: SearchResult[Any, Any], real: RealSteps, found: dict[int, Label], proposals_are_all: bool) -> None:
    """From children to parents, and from first nodes to duplicates, until nothing is new."""
    before = -1
    while before != len(found):
        before = len(found)
        for node in reversed(list(result.tree)):
            if node.id in found:
                continue
            if node.status is DUPLICATE:
                if node.reason in found:
                    found[node.id] = found[node.reason]
            elif node.children and (label := _of_children(result, real, node, found, proposals_are_all)):
                found[node.id] = label


def _of_children(
    result: SearchResult[Any, Any],
    real: RealSteps,
    node: Node[Any, Any],
    found: Mapping[int, Label],
    proposals_are_all: bool,
) -> Label | None:
    children = result.tree.children(node)
    good = next((found[c.id] for c in children if c.id in found and found[c.id].truth and real.is_so(c)), None)
    if good is not None:
        return good
    dead = all((c.status is ILLEGAL or (c.id in found and not found[c.id].truth)) and real.is_so(c) for c in children)
    if dead and node.status is EXPANDED and _all_tried(result, node, proposals_are_all):
        return Label(False, Why.EXHAUSTED)
    return None


def _all_tried(result: SearchResult[Any, Any], node: Node[Any, Any], proposals_are_all: bool) -> bool:
    """Whether the node's children are all that can follow."""
    task = result.task
    if not isinstance(task, Task) or not task.has("moves") or node.state is None:
        return proposals_are_all and node.reason is None  # a reason: a reply was lost
    children = result.tree.children(node)
    states = {task.key(child.state) for child in children if child.state is not None} - {None}
    actions = {result.shown(child) for child in children if child.status is not ILLEGAL}
    for number, move in enumerate(islice(task.moves(node.state), MOST_MOVES + 1)):
        if number == MOST_MOVES:
            return False
        if task.show(move) in actions:
            continue
        landing = stepping.step(task, node.state, move)
        if not isinstance(landing, Illegal) and (landing.key is None or landing.key not in states):
            return False
    return True
