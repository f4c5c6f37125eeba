"""Progress of a running search: for `on_event`, for dspy.streamify, and for the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from dspy.streaming.messages import StatusMessage

if TYPE_CHECKING:
    from ..search import Search


class SearchProgress(StatusMessage, str):
    """Where a search stands. best: the value of the best candidate so far; None: none is rated.

    message: the same in words. As text it is a server-sent event, since `dspy.streaming.streaming_response`
    raises on every StatusMessage that is not, and passes on text that begins with "data:".
    """

    def __new__(
        cls, nodes: int = 0, calls: int = 0, cost: float = 0.0, depth: int = 0, best: float | None = None
    ) -> Self:
        told = {"nodes": nodes, "calls": calls, "cost": cost, "depth": depth, "best": best}
        return str.__new__(cls, f"data: {json.dumps({'progress': told})}\n\n")

    def __init__(
        self, nodes: int = 0, calls: int = 0, cost: float = 0.0, depth: int = 0, best: float | None = None
    ) -> None:
        self.nodes, self.calls, self.cost, self.depth, self.best = nodes, calls, cost, depth, best
        shown = "no value yet" if best is None else f"best {best:g}"
        super().__init__(f"{nodes} nodes, depth {depth}, {calls} calls, {shown}")

    def __repr__(self) -> str:
        return f"SearchProgress({self.message!r})"


def progress(search: Search[Any, Any]) -> SearchProgress:
    """Where `search` stands now."""
    tree, spent = search.tree, search.spent
    best = max((node.value for node in tree if node.value is not None), default=None)
    deepest = max(node.depth for node in tree)
    return SearchProgress(len(tree), spent.calls, spent.cost, deepest, best)
