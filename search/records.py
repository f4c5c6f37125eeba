"""A search tree as a table: one record a node, plain values alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from .labels import reason_of, state_of
from .visible import visible

if TYPE_CHECKING:
    from .result import SearchResult

Scalar: TypeAlias = str | int | float | bool | None


def records(result: SearchResult[Any, Any]) -> list[dict[str, Scalar]]:
    """One for each node, by id; see `SearchResult.to_records`."""
    path = {node.id for node in result.tree.path(result.best)}
    found: list[dict[str, Scalar]] = []
    for node in result.tree:
        calls, tokens, cost, seconds = result.by_node.get(node.id, (0, 0, 0.0, 0.0))
        found.append(
            {
                "id": node.id,
                "parent": node.parent,
                "depth": node.depth,
                "action": visible(result.shown(node)) if node.id else None,
                "state": visible(state_of(result, node)) or None,
                "status": node.status.value,
                "reason": reason_of(node) or None,
                "on_path": node.id in path,
                "value": node.value,
                "verdict": None if node.verdict is None else visible(node.verdict),
                "ratings": node.ratings,
                "lost_ratings": node.lost,
                "prior": node.prior,
                "reward": node.reward,
                "visits": node.visits,
                "mean": node.q if node.visits else None,
                "children": len(node.children),
                "calls": calls,
                "tokens": tokens,
                "cost": cost,
                "seconds": seconds,
                "observation": _text(node.observation),
                "answer": _text(node.answer),
            }
        )
    return found


def _text(value: Any) -> str | None:
    """Text as it is, all else as JSON."""
    if value is None:
        return None
    return visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
