"""What roles are shown of a tree: snapshots from the driver's thread, so no worker reads a growing one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..search.tree import DUPLICATE, Node, Tree
from ..tasks import layout
from .trajectory import observed_text


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
    observations: tuple[Any, ...] = ()  # of the path's steps
    agreement: float = 1.0  # the share of its siblings, duplicates among them, that are this very action

    @property
    def observation(self) -> Any:
        """What its own step led to."""
        return self.observations[-1] if self.observations else None

    @property
    def trajectory(self) -> list[tuple[str, str]]:
        """Each action of the path with the text of what was observed."""
        return [(action, observed_text(seen)) for action, seen in zip(self.path, self.observations, strict=True)]

    @property
    def text(self) -> str:
        """The state as the task renders it."""
        return self.render(self.state)

    @property
    def steps(self) -> str:
        """The path as a numbered list."""
        return layout.numbered(self.path) or "(none yet)"


def view(tree: Tree[Any, Any], id: int, task: Any) -> NodeView:
    node: Node[Any, Any] = tree[id]
    path = tree.path(node)[1:]
    actions = tuple(task.show(n.action) for n in path)
    observations = tuple(n.observation for n in path)
    return NodeView(id, node.depth, node.state, actions, task.render, observations)


def agreement(tree: Tree[Any, Any], node: Node[Any, Any]) -> float:
    """How many of the node's siblings are duplicates of it, itself counted, over all of them."""
    if node.parent is None:
        return 1.0
    siblings = tree[node.parent].children
    return (sum(tree[id].reason == node.id and tree[id].status is DUPLICATE for id in siblings) + 1) / len(siblings)
