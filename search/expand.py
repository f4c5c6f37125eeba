"""The move every controller shares: propose, step and rate the children of some nodes."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeAlias, TypeVar

from .protocol import Propose, Request, Step
from .rating import Rating
from .tree import OPEN, UNJUDGED, A, Node, S, Tree

T = TypeVar("T")
Steps: TypeAlias = Generator[Sequence[Request], None, T]


def expand(
    tree: Tree[S, A], nodes: Sequence[Node[S, A]], n: int | None, rating: Rating, keep: int | None
) -> Steps[list[Node[S, A]]]:
    """Return the open children of `nodes`, rated, in order. Batches: propose, step (unless code did), rate."""
    yield [Propose(node.id, n) for node in nodes]
    families = [tree.children(node) for node in nodes]
    yield [Step(c.id) for family in families for c in family if c.state is None and c.status is OPEN]
    rated = [[c for c in family if c.status is OPEN or c.reason is UNJUDGED] for family in families]
    yield from rating.rate(rated, keep)
    return [c for family in families for c in family if c.status is OPEN]
