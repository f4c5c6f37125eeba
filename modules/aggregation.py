"""One answer from many finished paths: each votes for its own with its reward (Hao et al. 2023, section 3.4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..search import SearchResult
from ..search.tree import DUPLICATE, TERMINAL, UNJUDGED, Node


def agreed(
    result: SearchResult[Any, Any], answer_of: Callable[[Node[Any, Any]], dict[str, Any]]
) -> Node[Any, Any] | None:
    """The best path to the answer with the most reward behind it; None where no path is finished and unjudged.

    A path's reward is the mean value of its steps. One that led to a state which had been reached before is a path of
    its own, and votes with that state's value. answer_of: the output fields that code can tell of a node.
    """
    votes: dict[str, float] = {}
    best: dict[str, tuple[float, Node[Any, Any]]] = {}
    for node in result.tree:
        end = result.tree[node.reason] if node.status is DUPLICATE and isinstance(node.reason, int) else node
        if end.status is not TERMINAL or end.reason is not UNJUDGED:
            continue
        if not (fields := answer_of(end)):
            continue
        answer = json.dumps(fields, sort_keys=True, default=str)
        reward = _reward(result, node, end)
        votes[answer] = votes.get(answer, 0.0) + reward
        if node is end and (answer not in best or reward > best[answer][0]):
            best[answer] = reward, node
    if not votes:
        return None
    return best[max(votes, key=lambda answer: votes[answer])][1]


def _reward(result: SearchResult[Any, Any], node: Node[Any, Any], end: Node[Any, Any]) -> float:
    """The mean value of the steps to `node`, whose last one is worth what `end` is."""
    path = [*result.tree.path(node)[1:-1], end]
    return sum(step.value or 0.0 for step in path) / len(path)
