"""The search step by step: what each reply was about, and when each node came, got its value and its status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..search import NodeStatus
from ..search.protocol import Propose, Rate
from ..search.roles import ROLES
from ..search.story import Told
from ..search.visible import one_line
from .runs import Run

LONGEST = 160  # characters of what a step says
Step = list[Any]  # role, nodes, what came of it, tokens, dollars, seconds


@dataclass(slots=True)
class Timeline:
    """Step 0 is before the first reply. By node: the steps at which it came, had its value, and its final status.

    first: its status before that, as it came.
    """

    steps: list[Step]
    born: list[int]
    rated: list[int]
    settled: list[int]
    first: list[str]


def timeline(run: Run) -> Timeline:
    return _of_replies(run) if run.story is not None and run.story.told else _of_tree(run)


def _of_replies(run: Run) -> Timeline:
    """From the journal: a step is a reply."""
    story, tree = run.story, run.result.tree
    assert story is not None
    count = len(tree)
    born = [*story.born, *[len(story.told)] * count][:count]
    rated, expanded = list(born), list(born)
    for step, told in enumerate(story.told, 1):
        for id in told.nodes:
            if id < count and isinstance(told.request, Rate):
                rated[id] = step
            elif id < count and isinstance(told.request, Propose) and expanded[id] == born[id]:
                expanded[id] = step
    settled = list(born)
    for node in tree:
        id = node.id
        if node.status is NodeStatus.EXPANDED:
            settled[id] = expanded[id]
        elif node.status in (NodeStatus.PRUNED, NodeStatus.TERMINAL, NodeStatus.FAILED):
            settled[id] = max(story.settled.get(id, 0), rated[id] if node.status is NodeStatus.PRUNED else born[id])
        else:
            settled[id] = max(story.settled.get(id, 0), born[id])
    first = [row["status"] for row in story.rows]
    first = ["open" if settled[id] > born[id] else (first[id] if id < len(first) else "open") for id in range(count)]
    return Timeline([_step(told) for told in story.told], born, rated, settled, first)


def _step(told: Told) -> Step:
    _, tokens, cost, seconds = told.usage
    role = told.request.rater if isinstance(told.request, Rate) else ROLES[type(told.request)]
    said = _said(told.outcome) + (f" (attempt {told.attempt + 1})" if told.attempt else "")
    return [role, list(told.nodes), said, int(tokens), float(f"{cost:.6g}"), float(f"{seconds:.4g}")]


def _said(outcome: list[Any] | None) -> str:
    """What came of a reply, in a few words."""
    match outcome:
        case None:
            return "by code"
        case ["proposed", actions, *_]:
            return f"{len(actions)} proposal{'s' * (len(actions) != 1)}"
        case ["rated", values, verdicts, *_]:
            words = verdicts or [""] * len(values)
            return ", ".join(f"{value:g} {word}".strip() for value, word in zip(values, words, strict=False))[:LONGEST]
        case ["stepped", _, _, flags, *_]:
            return "a goal" if flags[0] else "stepped"
        case ["illegal", rule, *_]:
            return f"illegal: {one_line(str(rule))}"[:LONGEST]
        case ["reflected", lesson, *_]:
            return f"lesson: {one_line(str(lesson))}"[:LONGEST]
        case ["answered", _, verified, *_]:
            return "answered, and code verified it" if verified else "answered"
        case ["unread", *_]:
            return "a reply that could not be read"
        case ["failed", error, *_]:
            return f"failed: {one_line(str(error))}"[:LONGEST]
        case _:
            return ""


def _of_tree(run: Run) -> Timeline:
    """From the tree alone: a step is the children that came of one node in a row."""
    tree = run.result.tree
    steps: list[Step] = []
    born, opened = [0] * len(tree), [0] * len(tree)
    before: int | None = None
    for node in tree:
        if node.parent is None:
            continue
        if node.parent != before:
            steps.append(["propose", [node.parent], 0, 0, 0.0, 0.0])
            before = node.parent
            opened[node.parent] = opened[node.parent] or len(steps)
        steps[-1][2] += 1
        born[node.id] = len(steps)
    for step in steps:
        step[2] = f"{step[2]} child{'ren' * (step[2] != 1)}"
    settled = [opened[n.id] or born[n.id] if n.status is NodeStatus.EXPANDED else born[n.id] for n in tree]
    first = ["open" if settled[n.id] > born[n.id] else n.status.value for n in tree]
    return Timeline(steps, born, list(born), settled, first)
