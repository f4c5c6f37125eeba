"""Large trees to be viewed."""

from __future__ import annotations

from typing import Any

from thoughtree.search import Beam, Rating, SearchResult, SearchStatus
from thoughtree.search.protocol import Usage
from thoughtree.search.tree import NodeStatus, Tree

BRANCHING = 10


def wide(nodes: int, branching: int = BRANCHING) -> SearchResult[Any, Any]:
    """A result with so many nodes: `branching` children each, breadth first, with words, values and reasons."""
    tree: Tree[str, str] = Tree("the beginning")
    for id in range(1, nodes):
        parent = tree[(id - 1) // branching]
        node = tree.add(parent, f"step {id}: reduce the remainder by {id % 97} and bound the rest")
        node.state, node.value, node.ratings = f"{parent.state}\nremainder {id % 97}", float(id % 20), 1
        node.verdict = "maybe"
        parent.status = NodeStatus.EXPANDED
    for node in tree:
        if not node.children and node.id % 3:
            node.status, node.reason = NodeStatus.PRUNED, 12.0
    return SearchResult(
        status=SearchStatus.UNVERIFIED,
        ended=None,
        best=tree[nodes - 1],
        tree=tree,
        spent=Usage(nodes, 100 * nodes, 0.0, 1.0),
        spent_by={"rate": Usage(nodes, 100 * nodes, 0.0, 1.0)},
        unread={},
        failed=0,
        errors={},
        clamped=0,
        rating=Rating(),
        controller=Beam().dump(),
    )
