"""What roles are shown of a tree: snapshots from the driver's thread, so no worker reads a growing one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..search.tree import Node, Tree


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node as a proposer or rater of the user's own is given it.

    id, depth: its place in the tree. state: the task's. path: the actions from the root, as text.
    """

    id: int
    depth: int
    state: Any
    path: tuple[str, ...]
    render: Callable[[Any], str] = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """The state as the task renders it."""
        return self.render(self.state)

    @property
    def steps(self) -> str:
        """The path as a numbered list."""
        return numbered(self.path) or "(none yet)"


def view(tree: Tree[Any, Any], id: int, task: Any) -> NodeView:
    node: Node[Any, Any] = tree[id]
    path = tuple(task.show(n.action) for n in tree.path(node)[1:])
    return NodeView(id, node.depth, node.state, path, task.render)


def numbered(lines: tuple[str, ...] | list[str]) -> str:
    return "\n".join(f"{i}. {line}" for i, line in enumerate(lines, 1))
