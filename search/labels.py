"""A node in words: its action, its state, what became of it. One line each, and nothing that a terminal obeys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .tree import DUPLICATE, PRUNED, Node
from .visible import one_line

if TYPE_CHECKING:
    from .result import SearchResult


def action_of(result: SearchResult[Any, Any], node: Node[Any, Any]) -> str:
    """The action that made it, on one line; the root has none."""
    return one_line(result.shown(node)) if node.id else "start"


def state_of(result: SearchResult[Any, Any], node: Node[Any, Any]) -> str:
    """Its state as text, its lines kept: as the task renders it, or as it was saved; "" where there is none."""
    state, task = node.state, result.task
    if state is None:
        return ""
    if task is not None:
        has: Any = getattr(task, "has", None)  # a task that does not say how states look has none to show
        return task.render(state) if has is None or has("render") else ""
    return state if isinstance(state, str) else json.dumps(state, ensure_ascii=False, default=str)


def status_of(node: Node[Any, Any]) -> str:
    """Its status, with the reason."""
    reason = reason_of(node)
    if not reason:
        return node.status.value
    joined = {DUPLICATE: " of node ", PRUNED: " at "}.get(node.status, ": ")
    return f"{node.status.value}{joined if _is_number(node.reason) else ': '}{reason}"


def reason_of(node: Node[Any, Any]) -> str:
    """Why it has its status: a duplicate's is the id of the first such node, a pruned one's what it fell short of."""
    if node.reason is None:
        return ""
    return f"{node.reason:g}" if isinstance(node.reason, float) else one_line(str(node.reason))


def worth_of(node: Node[Any, Any]) -> str:
    """Its value and verdict; "" where it has none."""
    value = [] if node.value is None else [f"{node.value:g}"]
    return " ".join([*value, one_line(node.verdict)] if node.verdict else value)


def cut(text: str, most: int) -> str:
    """At most `most` characters, the last an ellipsis where something is left out."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _is_number(reason: Any) -> bool:
    return isinstance(reason, int | float) and not isinstance(reason, bool)
