"""Which node a search that verified nothing gives back: the deepest that it reached, or the best that it saw."""

from __future__ import annotations

from .order import value
from .tree import EXPANDED, FAILED, OPEN, PRUNED, TERMINAL, UNJUDGED, A, Node, S, Tree


def candidates(tree: Tree[S, A]) -> list[Node[S, A]]:
    """The states that the search reached and kept; only if there are none, those that it gave up. The root is none.

    A failed node with a value was reached and rated; only its expansion was lost. States that still wait for their
    rating are candidates only where there is no other.
    """
    reached = [n for n in tree if n.id and n.state is not None and _kept(n)]
    if not reached:
        reached = [n for n in tree if n.id and n.state is not None and n.status is PRUNED]
    return [n for n in reached if n.value is not None or n.status is TERMINAL] or reached


def _kept(node: Node[S, A]) -> bool:
    return node.status in (OPEN, EXPANDED, TERMINAL) or (node.status is FAILED and node.value is not None)


def best_of_deepest(tree: Tree[S, A]) -> Node[S, A]:
    """The best-valued candidate of the deepest level that has one; ties to the earlier (Yao et al. 2023).

    Finished states that nobody can judge (a full crossword) come first: a deeper one that is not finished is none.
    """
    usable = candidates(tree)
    if not usable:
        return tree.root
    usable = [n for n in usable if n.reason is UNJUDGED] or usable
    deepest = max(n.depth for n in usable)
    return max((n for n in usable if n.depth == deepest), key=lambda n: (value(n), -n.id))


def best_seen(tree: Tree[S, A]) -> Node[S, A]:
    """The best-valued candidate of any depth; ties to the deeper, then the earlier."""
    return max(candidates(tree), key=lambda n: (value(n), n.depth, -n.id), default=tree.root)
