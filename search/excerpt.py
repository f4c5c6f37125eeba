"""A part of a large tree that can still be read: the path that is given back, then what is nearest to the root."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .tree import Node

if TYPE_CHECKING:
    from .result import SearchResult


@dataclass(frozen=True, slots=True)
class Excerpt:
    """nodes: those that are kept, by id, each after its parent. path: ids of the path to the best node.

    hidden: by the id of a kept node, how many nodes below it are left out whose nearest kept ancestor it is.
    """

    nodes: tuple[Node[Any, Any], ...]
    path: frozenset[int]
    hidden: dict[int, int]
    _children: dict[int, list[Node[Any, Any]]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        below: dict[int, list[Node[Any, Any]]] = {}
        for node in self.nodes[1:]:
            assert node.parent is not None
            below.setdefault(node.parent, []).append(node)
        object.__setattr__(self, "_children", below)

    def children(self, node: Node[Any, Any]) -> list[Node[Any, Any]]:
        """Those of `node` that are kept."""
        return self._children.get(node.id, [])

    @property
    def left_out(self) -> int:
        return sum(self.hidden.values())


def excerpt(result: SearchResult[Any, Any], most: int | None = None) -> Excerpt:
    """At most `most` nodes (None: all), but always the whole path. ValueError for fewer than one."""
    if most is not None and (isinstance(most, bool) or most < 1):
        raise ValueError(f"most={most!r}: must be a whole number of at least 1, or None for all nodes")
    tree = result.tree
    path = {node.id for node in tree.path(result.best)}
    kept = set(path)
    if most is None or most >= len(tree):
        kept.update(range(len(tree)))
    else:
        for node in sorted(tree, key=lambda node: (node.depth, node.id)):  # a parent is less deep
            if len(kept) >= most:
                break
            kept.add(node.id)
    hidden: dict[int, int] = {}
    nearest: dict[int, int] = {}
    for node in tree if len(kept) < len(tree) else ():
        if node.id not in kept:
            parent = node.parent or 0
            nearest[node.id] = found = nearest.get(parent, parent)
            hidden[found] = hidden.get(found, 0) + 1
    return Excerpt(tuple(node for node in tree if node.id in kept), frozenset(path), hidden)
