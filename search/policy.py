"""The way down the tree in Monte-Carlo tree search: UCT, PUCT, selection; and which subtrees are done with."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from math import inf, log, sqrt
from typing import Any, TypeAlias

from .returns import Returns
from .tree import EXPANDED, A, Node, S, Tree

Siblings: TypeAlias = Sequence[Node[Any, Any]]
Scores: TypeAlias = Callable[[Node[Any, Any], Siblings], list[float]]  # of children of that parent

# Virtual loss, in the form of Liu et al. 2020 (WU-UCT, arXiv 1810.11755): a rollout in flight is visits whose returns
# are not known yet. They count in N, which lowers the bound of the way that it took, and are no samples of Q: counted
# as losses there, they would drive the next rollouts off the best way for as long as it is in work. `pending` is how
# many visits a rollout brings: with one counted where an expansion backs eight children up, all crowd into one place.
#
# Siblings are scored together, so that what hangs on their parent is worked out once.


def uct(parent: Node[Any, Any], children: Siblings, c: float, returns: Returns, pending: float = 1.0) -> list[float]:
    """Q(s,a) + c sqrt(ln N(s) / N(s,a)) of each; an unvisited child comes first (Kocsis & Szepesvari 2006)."""
    logged, normal, q = log(max(1.0, parent.visits + pending * parent.virtual)), returns.bounds.normal, returns.q
    return [
        (normal(q(child)) if child.visits else 0.0) + c * sqrt(logged / n)
        if (n := child.visits + pending * child.virtual)
        else inf
        for child in children
    ]


def puct(parent: Node[Any, Any], children: Siblings, c: float, returns: Returns, pending: float = 1.0) -> list[float]:
    """Q(s,a) + c P(s,a) sqrt(N(s)) / (1 + N(s,a)) of each (Silver et al. 2017).

    P: the children's priors, which are weights, over their sum. An unvisited child has its parent's V for Q.
    """
    normal, q = returns.bounds.normal, returns.q
    grown = c * sqrt(max(1.0, parent.visits + pending * parent.virtual))
    weights = [child.prior for child in children]
    whole = sum(weights)
    if not whole:
        weights, whole = [1.0] * len(children), len(children)
    v = normal(returns.v(parent)) if parent.visits else 0.5
    return [
        (normal(q(child)) if child.visits else v)
        + weight / whole * grown / (1 + child.visits + pending * child.virtual)
        for child, weight in zip(children, weights, strict=True)
    ]


def selection(
    tree: Tree[S, A],
    scores: Scores,
    growing: Container[int] = (),
    may_widen: Callable[[Node[S, A]], bool] | None = None,
    taken: Container[int] = (),
) -> list[Node[S, A]]:
    """The path from the root to the node where a rollout works: one to expand, or one that is being expanded.

    At each node the child of the highest score that has something left to do and is not `taken`; equals by age. Where
    all that are left are taken, the path ends above them, at a node that is expanded.
    """
    node = tree.root
    path = [node]
    while node.status is EXPANDED and node.id not in growing and not (may_widen is not None and may_widen(node)):
        live = [child for child in tree.children(node) if not child.closed and child.id not in taken]
        if not live:
            break
        if len(live) > 1:
            found = scores(node, live)
            node = live[found.index(max(found))]
        else:
            node = live[0]
        path.append(node)
    return path


def close(tree: Tree[S, A], node: Node[S, A]) -> None:
    """Mark that nothing is left to do at `node`, and so upward at every ancestor of which that is true."""
    node.closed = True
    while node.parent is not None:
        node = tree[node.parent]
        if node.status is not EXPANDED or not all(tree[id].closed for id in node.children):
            return
        node.closed = True


def reopen(tree: Tree[S, A], node: Node[S, A]) -> None:
    """Mark that something is left to do at `node`, and so at all its ancestors."""
    while node.closed:
        node.closed = False
        if node.parent is None:
            return
        node = tree[node.parent]
