"""Which node a search that verified nothing gives back: finished before unfinished, then depth, then value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from .order import value
from .tree import EXPANDED, FAILED, OPEN, PRUNED, TERMINAL, A, Node, S, Tree

# Usable nodes come before those that code judged wrong (terminal), and before those that were given up (pruned).
# A failed node with a value was reached and rated; only its expansion was lost.
TIERS = ((OPEN, EXPANDED, FAILED), (TERMINAL,), (PRUNED,))
Nodes: TypeAlias = Iterable[Node[Any, Any]]


def candidates(tree: Tree[S, A]) -> list[Node[S, A]]:
    """The nodes of the best tier that has any; the root is none. Rated nodes hide unrated ones."""
    for tier in TIERS:
        usable = [
            n
            for n in tree
            if n.id and n.state is not None and n.status in tier and (n.status is not FAILED or n.value is not None)
        ]
        if usable:
            return [n for n in usable if n.value is not None] or usable
    return []


def best_of_deepest(tree: Tree[S, A]) -> Node[S, A]:
    """The best-valued candidate of the deepest level that has one; ties to the earlier (Yao et al. 2023)."""
    usable = candidates(tree)
    if not usable:
        return tree.root
    deepest = max(n.depth for n in usable)
    return max((n for n in usable if n.depth == deepest), key=lambda n: (value(n), -n.id))


def best_seen(tree: Tree[S, A]) -> Node[S, A]:
    """The best-valued candidate of any depth; ties to the deeper, then the earlier."""
    return max(candidates(tree), key=lambda n: (value(n), n.depth, -n.id), default=tree.root)
