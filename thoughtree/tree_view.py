"""A search tree as text: actions, states, values, statuses and reasons."""

from __future__ import annotations

from typing import Any

from rich.text import Text
from rich.tree import Tree

from .search import Node, NodeStatus, SearchResult
from .search.excerpt import excerpt
from .search.labels import action_of, cut, state_of, status_of, worth_of
from .search.visible import one_line

LONGEST = 60  # characters of an action or a state on a line that is cut
STYLES = {
    NodeStatus.SOLVED: "bold green",
    NodeStatus.TERMINAL: "yellow",
    NodeStatus.PRUNED: "dim",
    NodeStatus.DUPLICATE: "dim",
    NodeStatus.ILLEGAL: "red",
    NodeStatus.FAILED: "red",
}


def tree_view(result: SearchResult[Any, Any], most: int | None = None, *, one_line_each: bool = False) -> Tree:
    """The tree; the nodes on the path that is given back are bold.

    most: nodes that are shown (None: all), see `excerpt`. one_line_each: a node's line is cut where the terminal ends.
    """
    part = excerpt(result, most)
    views: dict[int, Tree] = {}
    for node in part.nodes:  # a parent precedes its children
        label = _label(result, node, node.id in part.path, one_line_each)
        parent = None if node.parent is None else views[node.parent]
        views[node.id] = Tree(label, guide_style="dim") if parent is None else parent.add(label)
    return views[0]


def _label(result: SearchResult[Any, Any], node: Node[Any, Any], chosen: bool, one_line_each: bool) -> Text:
    label = Text(overflow="ellipsis" if one_line_each else "fold", no_wrap=one_line_each)
    label.append(f"#{node.id} ", "dim").append(_part(action_of(result, node), one_line_each), "bold" if chosen else "")
    if state := one_line(state_of(result, node)):
        label.append(f"  [{_part(state, one_line_each)}]")
    if worth := worth_of(node):
        label.append(f"  {worth}", "cyan")
    return label.append(f"  {status_of(node)}", STYLES.get(node.status))


def _part(text: str, shortened: bool) -> str:
    """A long action leaves room for what became of it."""
    return cut(text, LONGEST) if shortened else text
