"""How nodes get their value: how often each is asked about, together with whom, and how replies are joined."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import isfinite
from typing import Any, Literal, TypeAlias

from .order import UNREAD, value
from .protocol import Rate, Request
from .tree import Node

MOST_SAMPLES = 1000  # of one rating: they are asked for at once
Together: TypeAlias = Literal["each", "siblings", "level", "pairs"]
Family: TypeAlias = Sequence[Node[Any, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """One way to rate a batch of new nodes, given as families of siblings.

    together: "each" node in a request of its own; the "siblings" of one parent in one request; the whole "level"
        in one (a vote, or scores); every two nodes of the batch in "pairs" (a comparison).
    samples: how often each such request is asked.
    join: "sum" (the paper's: three times sure is 60) or "mean". A sum is the mean of the samples that came, times
        `samples`, so that a lost one moves nothing.
    unread: the value of a reply that cannot be read; None: no sample at all.
    cut: the value of one sample under which a node is hopeless; None: this scale prunes nothing.
    low, high: the ends of the scale of one sample.
    declared: False: low and high are only a guess, and values are to be measured against each other.
    near: with a cheap rater, the dear one is asked about nodes whose cheap value is within `near` of the last
        one kept (where fewer are given than kept: within `near` of another). None: there is no cheap rater.
    adaptive: the first sample of each node is asked alone, the others only where it has not settled the value
        (`Rated.settled`).
    """

    together: Together = "each"
    samples: int = 1
    join: Literal["sum", "mean"] = "sum"
    unread: float | None = 1.0
    cut: float | None = 1.0
    low: float = 0.0
    high: float = 20.0
    near: float | None = None
    declared: bool = True
    adaptive: bool = False

    def __post_init__(self) -> None:
        if self.together not in ("each", "siblings", "level", "pairs"):
            raise ValueError(f"Rating(together={self.together!r}): must be 'each', 'siblings', 'level' or 'pairs'")
        if self.join not in ("sum", "mean"):
            raise ValueError(f"Rating(join={self.join!r}): must be 'sum' or 'mean'")
        samples: Any = self.samples
        if not isinstance(samples, int) or isinstance(samples, bool) or not 1 <= samples <= MOST_SAMPLES:
            raise ValueError(f"Rating(samples={samples!r}): must be an integer of at least 1, at most {MOST_SAMPLES}")
        if not (isfinite(self.low) and isfinite(self.high) and self.low < self.high):
            raise ValueError(f"Rating(low={self.low!r}, high={self.high!r}): must be finite, low under high")
        for name in ("unread", "cut"):
            number = getattr(self, name)
            if number is not None and not isfinite(number):
                raise ValueError(f"Rating({name}={number!r}): must be a finite number, or None")
        if self.unread is not None and self.cut is not None and self.unread < self.cut:
            raise ValueError(
                f"Rating(unread={self.unread!r}, cut={self.cut!r}): an unread reply would prune its node; "
                "raise unread or lower cut"
            )
        if self.adaptive and (self.together != "each" or self.near is not None):
            raise ValueError(f"Rating(adaptive=True, together={self.together!r}): must be 'each', without near")
        if self.near is not None and not (isfinite(self.near) and self.near >= 0):
            raise ValueError(f"Rating(near={self.near!r}): must be a finite number of at least 0, or None")

    @property
    def scale(self) -> int:
        """What one sample's value is multiplied by in a node's value."""
        return self.samples if self.join == "sum" else 1

    @property
    def threshold(self) -> float | None:
        """The cut, on the scale of node values."""
        return None if self.cut is None else _joined(self.cut, self.scale)

    def rate(self, families: Sequence[Family], keep: int | None) -> Generator[Sequence[Request], None, None]:
        """Yield the batches that give `families` their values; `keep` of all of them will be kept (None: all)."""
        families = [[node for node in family if node.value is None] for family in families]
        if self.adaptive and self.samples > 1:
            nodes = [node for family in families for node in family]
            yield [Rate((node.id,)) for node in nodes]
            unsettled = [node for node in nodes if node.ratings < self.samples]
            yield [Rate((node.id,), k) for node in unsettled for k in range(1, self.samples)]
            return
        if self.near is None:
            yield self.requests(families)
            return
        yield self.requests(families, "cheap")
        close = self.near_ties([node for family in families for node in family], keep)
        yield self.requests([[node for node in family if node.id in close] for family in families])

    def requests(self, families: Sequence[Family], rater: str = "rate") -> list[Request]:
        if self.together == "pairs":
            return list(self._pairs([n.id for family in families for n in family], rater))
        groups: list[tuple[int, ...]]
        if self.together == "each":
            groups = [(n.id,) for family in families for n in family]
        elif self.together == "siblings":
            groups = [tuple(n.id for n in family) for family in families]
        else:
            groups = [tuple(n.id for family in families for n in family)]
        if self.samples == 1:
            return [Rate(ids, 0, rater) for ids in groups if ids]
        return [Rate(ids, k, rater) for ids in groups if ids for k in range(self.samples)]

    def _pairs(self, ids: list[int], rater: str) -> Iterator[Rate]:
        """Every two nodes. Each comes first in about half of its pairs: a judge may prefer the first."""
        for (i, a), (j, b) in combinations(enumerate(ids), 2):
            for k in range(self.samples):
                yield Rate((a, b) if (i + j + k) % 2 else (b, a), k, rater)

    def near_ties(self, nodes: Family, keep: int | None) -> set[int]:
        """The ids of the nodes that the cheap rater cannot tell apart where it matters."""
        assert self.near is not None
        rated = sorted((n for n in nodes if n.value is not None), key=value, reverse=True)
        unrated = {n.id for n in nodes if n.value is None}  # whom the cheap rater lost, the dear one rates

        def near(a: Node[Any, Any], b: Node[Any, Any]) -> bool:
            return _joined(abs(value(a) - value(b)), 1) <= reach

        reach = _joined(self.near, self.scale)
        if keep is None or len(rated) <= keep:
            return unrated | {n.id for pair in pairwise(rated) if near(*pair) for n in pair}
        if not near(rated[keep - 1], rated[keep]):
            return unrated  # the line between kept and dropped is clear
        return unrated | {n.id for n in rated if near(n, rated[keep - 1])}

    def add(
        self, node: Node[Any, Any], sample: float, verdict: str | None, rater: str = "rate", settled: bool = False
    ) -> None:
        """Fold one sample into the node's value. A dear rating replaces a cheap one.

        A first sample that settles the value stands for all of them.
        """
        if node.rater != rater:
            node.rater, node.ratings, node.sampled, node.value, node.verdict = rater, 0, 0.0, None, None
        if settled and not node.ratings:
            node.ratings, node.sampled = self.samples - 1, sample * (self.samples - 1)
        node.ratings += 1
        node.sampled = node.sampled + sample if node.ratings > 1 else sample
        joined = _joined(node.sampled / node.ratings, self.scale)
        node.value = sample if joined == sample else joined  # one object for what is mostly one number
        if verdict != UNREAD or node.ratings == 1:  # a verdict that was read stands before one that was not
            node.verdict = verdict

    def lose(self, node: Node[Any, Any], rater: str = "rate") -> bool:
        """Count a rating that never came; True if none will come about it. A cheap one's loss leaves the dear."""
        if rater != "rate":
            return False
        node.lost += 1
        return self.together == "each" and node.lost >= self.samples and node.value is None


def _joined(mean: float, scale: int) -> float:
    """A node's value. Rounded, so that neither ties nor the cut hang on the order of samples, by the last bit."""
    return round(mean * scale, 12)
