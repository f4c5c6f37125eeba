"""A search tree as text: actions, states, values, statuses and reasons."""

from __future__ import annotations

from typing import Any

from rich.text import Text
from rich.tree import Tree

from .search import Node, NodeStatus, SearchResult
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
    task: Any = result.task
    label = Text(overflow="fold").append(f"#{node.id} ", "dim")
    label.append(one_line(task.show(node.action)) if node.id else "start", "bold" if chosen else "")
    if node.state is not None and task.has("render"):
        label.append(f"  [{one_line(task.render(node.state))}]")
    if node.value is not None:
        label.append(f"  {node.value:g}", "cyan")
    if node.verdict:
        label.append(f" {one_line(node.verdict)}", "cyan")
    label.append(f"  {node.status}{_reason(node)}", STYLES.get(node.status))
    return label


def _reason(node: Node[Any, Any]) -> str:
    if node.reason is None:
        return ""
    if node.status is NodeStatus.DUPLICATE:
        return f" of node {node.reason}"
    if node.status is NodeStatus.PRUNED and isinstance(node.reason, float):  # a score; of a file, it may be anything
        return f" at {node.reason:g}"
    return f": {one_line(str(node.reason))}"
