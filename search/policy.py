"""The formulas of Monte-Carlo tree search, each written once: UCT, PUCT, selection, backup."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from math import inf, log, sqrt
from typing import Any, Literal, TypeAlias

from .tree import EXPANDED, A, Node, S, Tree

Backup: TypeAlias = Literal["mean", "max", "discounted"]
Score: TypeAlias = Callable[[Node[Any, Any], Node[Any, Any]], float]


class Bounds:
    """The range of values, to bring them to 0..1. Declared by a scale, or found as values are backed up."""

    __slots__ = ("declared", "high", "low")

    def __init__(self, low: float | None = None, high: float | None = None) -> None:
        self.declared = low is not None and high is not None
        self.low, self.high = (low, high) if low is not None and high is not None else (inf, -inf)

    def widen(self, value: float) -> None:
        """Take a value into account. A declared scale stays as it is."""
        if not self.declared:
            self.low, self.high = min(self.low, value), max(self.high, value)

    def normal(self, value: float) -> float:
        """`value` between 0 and 1; 0.5 while all values are equal."""
        span = self.high - self.low
        return min(1.0, max(0.0, (value - self.low) / span)) if 0 < span < inf else 0.5


def exploitation(node: Node[Any, Any], bounds: Bounds, backup: Backup) -> float:
    """Q in 0..1. Each rollout in flight below counts as one that returned the least (virtual loss)."""
    q = bounds.normal(node.peak if backup == "max" else node.total / node.visits)
    return q if not node.virtual else q * node.visits / (node.visits + node.virtual)


def uct(parent: Node[Any, Any], child: Node[Any, Any], c: float, bounds: Bounds, backup: Backup = "mean") -> float:
    """Q(s,a) + c sqrt(ln N(s) / N(s,a)); an unvisited child comes first (Kocsis & Szepesvari 2006)."""
    n = child.visits + child.virtual
    if not n:
        return inf
    q = exploitation(child, bounds, backup) if child.visits else 0.0
    return q + c * sqrt(log(max(1, parent.visits + parent.virtual)) / n)


def puct(parent: Node[Any, Any], child: Node[Any, Any], c: float, bounds: Bounds, backup: Backup = "mean") -> float:
    """Q(s,a) + c P(s,a) sqrt(N(s)) / (1 + N(s,a)); an unvisited child has its parent's Q (Silver et al. 2017)."""
    n = child.visits + child.virtual
    known = child if child.visits else parent
    q = exploitation(known, bounds, backup) if known.visits else 0.5
    return q + c * child.prior * sqrt(max(1, parent.visits + parent.virtual)) / (1 + n)


def select(
    tree: Tree[S, A], score: Score, growing: Container[int], may_widen: Callable[[Node[S, A]], bool]
) -> list[Node[S, A]]:
    """The path from the root to the node where this rollout works: one to expand, or one that is being expanded.

    At each node the child of the highest `score` that has something left to do; equals by age.
    """
    node = tree.root
    path = [node]
    while node.status is EXPANDED and node.id not in growing and not may_widen(node):
        best, most = None, -inf
        for id in node.children:
            child = tree[id]
            if not child.closed and ((value := score(node, child)) > most or best is None):
                best, most = child, value
        if best is None:
            break
        node = best
        path.append(node)
    return path


def backup(path: Sequence[Node[S, A]], value: float, discount: float = 1.0, rewards: bool = False) -> None:
    """Add one return to every node of `path`, whose last node is worth `value`.

    Without `rewards` every node gets `value`. With them, the return is discounted and takes in each step's reward:
    G(leaf) = value, G(parent) = r(child) + discount G(child). Rewards 1, 0, 1, value 0, discount 1: 2 at the root.
    """
    returned = value
    for node in reversed(path):
        node.visits += 1
        node.total += returned
        node.peak = max(node.peak, returned)
        if rewards:
            returned = node.reward + discount * returned


def close(tree: Tree[S, A], node: Node[S, A]) -> None:
    """Mark that nothing is left to do at `node`, and so upward at every ancestor of which that is true."""
    node.closed = True
    while node.parent is not None:
        node = tree[node.parent]
        if node.status is not EXPANDED or not all(tree[id].closed for id in node.children):
            return
        node.closed = True
