"""What rollouts come to: backup, and what the returns that were backed up say about an action, Q(s,a)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Literal, TypeAlias

from .rating import Rating
from .tree import A, Node, S

Kind: TypeAlias = Literal["mean", "max", "discounted"]


class Bounds:
    """The range of values, to bring them to 0..1. Declared by a scale, or found as values are backed up."""

    __slots__ = ("declared", "high", "low")

    def __init__(self, low: float | None = None, high: float | None = None) -> None:
        self.declared = low is not None and high is not None
        self.low, self.high = (low, high) if low is not None and high is not None else (inf, -inf)

    @classmethod
    def of(cls, rating: Rating) -> Bounds:
        """The scale of node values, where one is declared."""
        return cls(rating.low * rating.scale, rating.high * rating.scale) if rating.declared else cls()

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


def mean(node: Node[Any, Any]) -> float:
    """W(s) / N(s) of a visited node."""
    return node.total / node.visits


def peak(node: Node[Any, Any]) -> float:
    """The highest return of a visited node."""
    return node.peak


class Returns:
    """How returns are backed up, and read.

    kind: "mean" and "max": of the values at and below a node. "discounted": returns that take in each step's reward,
        G(leaf) = value, G(parent) = r(child) + discount G(child). bounds: of Q; a sum of rewards has no declared ones.
    v: V(s) of a visited node. q: Q(s,a) of the action that led to one.
    """

    __slots__ = ("bounds", "discount", "discounted", "q", "v")

    def __init__(self, bounds: Bounds, kind: Kind = "mean", discount: float = 1.0) -> None:
        self.discounted, self.discount = kind == "discounted", discount
        self.bounds = Bounds() if self.discounted else bounds
        self.v: Callable[[Node[Any, Any]], float] = peak if kind == "max" else mean
        self.q = self.discounted_q if self.discounted else self.v

    def discounted_q(self, node: Node[Any, Any]) -> float:
        """Q(s,a) = r(s,a) + discount V(s'), of the action that led to a visited node s'."""
        return node.reward + self.discount * self.v(node)


def backup(path: Sequence[Node[S, A]], value: float, returns: Returns) -> None:
    """Add one return to every node of `path`, whose last node is worth `value`.

    Mean and max: every node gets `value`. Discounted: rewards 1, 0, 1, value 0, discount 1 give 2 at the root.
    """
    returned, discounted, widen = value, returns.discounted, returns.bounds.widen
    for node in reversed(path):
        node.total = node.total + returned if node.visits else returned  # a leaf shares its value's memory
        node.visits += 1
        if returned > node.peak:
            node.peak = returned
        if discounted and node.id:
            returned = node.reward + returns.discount * returned
            widen(returned)
    if not discounted:
        widen(value)
