"""The formulas of Monte-Carlo tree search, each written once: UCT, PUCT, selection, backup."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from math import inf, log, sqrt
from typing import Any, Literal, TypeAlias

from .tree import EXPANDED, A, Node, S, Tree

Backup: TypeAlias = Literal["mean", "max", "discounted"]
Siblings: TypeAlias = Sequence[Node[Any, Any]]
Scores: TypeAlias = Callable[[Node[Any, Any], Siblings], list[float]]  # of children of that parent


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
        if not 0 < span < inf:
            return 0.5
        share = (value - self.low) / span
        return 0.0 if share < 0 else 1.0 if share > 1 else share


def exploitation(nodes: Siblings, bounds: Bounds, backup: Backup, unvisited: float) -> list[float]:
    """Q of each in 0..1. Each rollout in flight below counts as one that returned the least (virtual loss)."""
    found: list[float] = []
    for node in nodes:
        visits = node.visits
        if not visits:
            found.append(unvisited)
            continue
        q = bounds.normal(node.peak if backup == "max" else node.total / visits)
        found.append(q * visits / (visits + node.virtual) if node.virtual else q)
    return found


# Siblings are scored together, so that what hangs on their parent is worked out once.


def ucts(parent: Node[Any, Any], children: Siblings, c: float, bounds: Bounds, backup: Backup) -> list[float]:
    """Q(s,a) + c sqrt(ln N(s) / N(s,a)); an unvisited child comes first (Kocsis & Szepesvari 2006)."""
    logged = log(max(1, parent.visits + parent.virtual))
    return [
        q + c * sqrt(logged / n) if (n := child.visits + child.virtual) else inf
        for child, q in zip(children, exploitation(children, bounds, backup, 0.0), strict=True)
    ]


def pucts(parent: Node[Any, Any], children: Siblings, c: float, bounds: Bounds, backup: Backup) -> list[float]:
    """Q(s,a) + c P(s,a) sqrt(N(s)) / (1 + N(s,a)); an unvisited child has its parent's Q (Silver et al. 2017)."""
    root = sqrt(max(1, parent.visits + parent.virtual))
    (parents,) = exploitation((parent,), bounds, backup, 0.5)
    return [
        q + c * child.prior * root / (1 + child.visits + child.virtual)
        for child, q in zip(children, exploitation(children, bounds, backup, parents), strict=True)
    ]


def uct(parent: Node[Any, Any], child: Node[Any, Any], c: float, bounds: Bounds, backup: Backup = "mean") -> float:
    """`ucts` of one child."""
    return ucts(parent, (child,), c, bounds, backup)[0]


def puct(parent: Node[Any, Any], child: Node[Any, Any], c: float, bounds: Bounds, backup: Backup = "mean") -> float:
    """`pucts` of one child."""
    return pucts(parent, (child,), c, bounds, backup)[0]


def select(
    tree: Tree[S, A], scores: Scores, growing: Container[int], may_widen: Callable[[Node[S, A]], bool] | None = None
) -> list[Node[S, A]]:
    """The path from the root to the node where this rollout works: one to expand, or one that is being expanded.

    At each node the child of the highest score that has something left to do; equals by age.
    """
    node = tree.root
    path = [node]
    while node.status is EXPANDED and node.id not in growing and not (may_widen is not None and may_widen(node)):
        live = [child for child in tree.children(node) if not child.closed]
        if not live:
            break
        if len(live) > 1:
            found = scores(node, live)
            node = live[found.index(max(found))]
        else:
            node = live[0]
        path.append(node)
    return path


def backup(
    path: Sequence[Node[S, A]], value: float, discount: float = 1.0, rewards: bool = False
) -> tuple[float, float]:
    """Add one return to every node of `path`, whose last node is worth `value`; give the least and the most added.

    Without `rewards` every node gets `value`. With them, the return is discounted and takes in each step's reward:
    G(leaf) = value, G(parent) = r(child) + discount G(child). Rewards 1, 0, 1, value 0, discount 1: 2 at the root.
    """
    returned = least = most = value
    for node in reversed(path):
        node.total = node.total + returned if node.visits else returned  # a leaf shares its value's memory
        node.visits += 1
        if returned > node.peak:
            node.peak = returned
        if rewards:
            least, most = min(least, returned), max(most, returned)
            returned = node.reward + discount * returned
    return least, most


def close(tree: Tree[S, A], node: Node[S, A]) -> None:
    """Mark that nothing is left to do at `node`, and so upward at every ancestor of which that is true."""
    node.closed = True
    while node.parent is not None:
        node = tree[node.parent]
        if node.status is not EXPANDED or not all(tree[id].closed for id in node.children):
            return
        node.closed = True
