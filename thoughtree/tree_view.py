"""A search tree as text: actions, states, values, statuses and reasons."""

from __future__ import annotations

from typing import Any

from rich.text import Text
from rich.tree import Tree

from .search import Node, NodeStatus, SearchResult
from .search.labels import action_of, state_of, status_of, worth_of
from .search.visible import one_line

STYLES = {
    NodeStatus.SOLVED: "bold green",
    NodeStatus.TERMINAL: "yellow",
    NodeStatus.PRUNED: "dim",
    NodeStatus.DUPLICATE: "dim",
    NodeStatus.ILLEGAL: "red",
    NodeStatus.FAILED: "red",
}


def tree_view(result: SearchResult[Any, Any]) -> Tree:
    """The whole tree. The nodes on the path that is given back are bold."""
    tree, chosen = result.tree, {node.id for node in result.tree.path(result.best)}
    views: dict[int, Tree] = {}
    for node in tree:  # a parent precedes its children
        label = _label(result, node, node.id in chosen)
        parent = None if node.parent is None else views[node.parent]
        views[node.id] = Tree(label, guide_style="dim") if parent is None else parent.add(label)
    return views[0]


def _label(result: SearchResult[Any, Any], node: Node[Any, Any], chosen: bool) -> Text:
    label = Text(overflow="fold").append(f"#{node.id} ", "dim")
    label.append(action_of(result, node), "bold" if chosen else "")
    if state := one_line(state_of(result, node)):
        label.append(f"  [{state}]")
    if worth := worth_of(node):
        label.append(f"  {worth}", "cyan")
    return label.append(f"  {status_of(node)}", STYLES.get(node.status))
