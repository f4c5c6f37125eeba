"""How nodes get their value: how often each is asked about, together with whom, and how replies are joined."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite
from typing import Any, Literal, TypeAlias

from .order import value
from .protocol import Rate, Request
from .tree import Node

Together: TypeAlias = Literal["each", "siblings", "level", "pairs"]
Family: TypeAlias = Sequence[Node[Any, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """One way to rate a batch of new nodes, given as families of siblings.

    together: "each" node in a request of its own; the "siblings" of one parent in one request; the whole "level"
        in one (a vote, or scores); every two nodes of the batch in "pairs" (a comparison).
    samples: how often each such request is asked.
    join: "sum" (the paper's: three times sure is 60) or "mean". A sum is the mean of the samples read, times
        `samples`, so that a sample that could not be read moves nothing.
    unread: the value of a reply that cannot be read; None: no sample at all.
    cut: the value of one sample under which a node is hopeless; None: this scale prunes nothing.
    low, high: the ends of the scale of one sample.
    near: with a cheap rater, the dear one is asked about nodes whose cheap value is within `near` of the last
        one kept (where fewer are given than kept: within `near` of another). None: there is no cheap rater.
    """

    together: Together = "each"
    samples: int = 1
    join: Literal["sum", "mean"] = "sum"
    unread: float | None = 1.0
    cut: float | None = 1.0
    low: float = 0.0
    high: float = 20.0
    near: float | None = None

    def __post_init__(self) -> None:
        if self.together not in ("each", "siblings", "level", "pairs"):
            raise ValueError(
                f"Rating(together={self.together!r}): must be 'each', 'siblings', 'level' or 'pairs'"
            )
        if self.join not in ("sum", "mean"):
            raise ValueError(f"Rating(join={self.join!r}): must be 'sum' or 'mean'")
        if not isinstance(self.samples, int) or isinstance(self.samples, bool) or self.samples < 1:
            raise ValueError(f"Rating(samples={self.samples!r}): must be an integer of at least 1")
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            raise ValueError(f"Rating(low={self.low!r}, high={self.high!r}): must be finite, low under high")
        if self.unread is not None and self.cut is not None and self.unread < self.cut:
            raise ValueError(
                f"Rating(unread={self.unread!r}, cut={self.cut!r}): an unread reply would prune its node; "
                "raise unread or lower cut"
            )
        if self.near is not None and not (isfinite(self.near) and self.near >= 0):
            raise ValueError(f"Rating(near={self.near!r}): must be a finite number of at least 0, or None")

    @property
    def scale(self) -> int:
        """What one sample's value is multiplied by in a node's value."""
        return self.samples if self.join == "sum" else 1

    @property
    def threshold(self) -> float | None:
        """The cut, on the scale of node values."""
        return None if self.cut is None else self.cut * self.scale

    def rate(self, families: Sequence[Family], keep: int | None) -> Generator[Sequence[Request], None, None]:
        """Yield the batches that give `families` their values; `keep` of all of them will be kept (None: all)."""
        families = [[node for node in family if node.value is None] for family in families]
        if self.near is None:
            yield self.requests(families)
            return
        yield self.requests(families, "cheap")
        close = self.near_ties([node for family in families for node in family], keep)
        yield self.requests([[node for node in family if node.id in close] for family in families])

    def requests(self, families: Sequence[Family], rater: str = "rate") -> list[Request]:
        groups: list[tuple[int, ...]]
        if self.together == "each":
            groups = [(n.id,) for family in families for n in family]
        elif self.together == "siblings":
            groups = [tuple(n.id for n in family) for family in families]
        elif self.together == "level":
            groups = [tuple(n.id for family in families for n in family)]
        else:  # each comes first in about half of its pairs: a judge may prefer the first
            ids = [n.id for family in families for n in family]
            groups = [(a, b) if (i + j) % 2 else (b, a) for (i, a), (j, b) in combinations(enumerate(ids), 2)]
        if self.samples == 1:
            return [Rate(ids, 0, rater) for ids in groups if ids]
        return [Rate(ids, k, rater) for ids in groups if ids for k in range(self.samples)]

    def near_ties(self, nodes: Family, keep: int | None) -> set[int]:
        """The ids of the nodes that the cheap rater cannot tell apart where it matters."""
        assert self.near is not None
        rated = sorted((n for n in nodes if n.value is not None), key=value, reverse=True)
        reach = self.near * self.scale
        if keep is None or len(rated) <= keep:
            chosen = {
                n.id for a, b in zip(rated, rated[1:], strict=False) if value(a) - value(b) <= reach for n in (a, b)
            }
        else:
            edge = value(rated[keep - 1])
            chosen = {n.id for n in rated if abs(value(n) - edge) <= reach}
            if value(rated[keep - 1]) - value(rated[keep]) > reach:
                chosen = set()  # the line between kept and dropped is clear
        return chosen | {n.id for n in nodes if n.value is None}  # whom the cheap rater lost, the dear one rates

    def add(self, node: Node[Any, Any], sample: float, verdict: str | None, rater: str = "rate") -> None:
        """Fold one sample into the node's value, a running mean. A dear rating replaces a cheap one."""
        if node.rater != rater:
            node.rater, node.ratings, node.value = rater, 0, None
        n = node.ratings
        node.value = ((node.value or 0.0) * n + sample * self.scale) / (n + 1)
        node.ratings = n + 1
        node.verdict = verdict

    def lose(self, node: Node[Any, Any]) -> bool:
        """Count a rating that never came; True if none of those asked about this node alone will."""
        node.lost += 1
        return self.together == "each" and node.lost >= self.samples and node.value is None
