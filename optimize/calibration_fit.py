"""What a rater's values are worth, from labelled nodes: smoothed shares that never fall, depth by depth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from ..modules.worth import Curve, Worth

LEAST = 30  # labelled nodes of a depth, before it has a curve of its own
PRIOR = 2.0  # the nodes that the more general share counts for in a more special one
LOST = 0.02  # of all nodes that can be solved: the share that a prune threshold may cost

Labelled: TypeAlias = tuple[int, float, bool]  # depth, value on the scale, whether it can be solved


@dataclass(frozen=True, slots=True)
class Level:
    """All nodes of one value: how many they are, and how many of them can be solved."""

    value: float
    n: float
    good: float


def fit_worth(nodes: Sequence[Labelled], *, least: int = LEAST, lost: float = LOST) -> Worth:
    """A curve for each depth with at least `least` nodes, of both kinds; the pooled one for the others.

    The share of a value is that of the nodes so rated, with PRIOR nodes of the more general share added (the
    m-estimate, Cestnik 1990: of all depths for one depth, of all values for all depths), and made never to fall with
    the value by pooling adjacent violators. ValueError for nodes of one kind only.
    """
    truths = [truth for *_, truth in nodes]
    if len(set(truths)) < 2:
        kind = "can be solved" if True in truths else "cannot be solved"
        raise ValueError(
            f"all {len(nodes)} labelled nodes {kind}: nothing tells good ratings from bad ones; add examples"
        )
    base = sum(truths) / len(truths)
    shares = dict.fromkeys({value for _, value, _ in nodes}, base)
    pooled = _curve(nodes, shares, base)
    own = {value: pooled(value) for value in shares}
    by_depth: dict[int, Curve] = {}
    for depth in sorted({depth for depth, *_ in nodes}):
        here = [node for node in nodes if node[0] == depth]
        if len(here) >= least and len({truth for *_, truth in here}) == 2:
            by_depth[depth] = _curve(here, own, base)
    worth = Worth(pooled, by_depth)
    return Worth(pooled, by_depth, prune_below(worth, nodes, lost))


def _curve(nodes: Iterable[Labelled], general: Mapping[float, float], base: float) -> Curve:
    """general: what each value of the scale is worth as far as is known without these nodes."""
    counts: dict[float, list[bool]] = defaultdict(list)
    for _, value, truth in nodes:
        counts[value].append(truth)
    n, good = sum(map(len, counts.values())), sum(map(sum, counts.values()))
    levels = [
        Level(value, len(counts[value]) + PRIOR, sum(counts[value]) + PRIOR * share)
        for value, share in sorted(general.items())
    ]
    worths = isotonic(levels)
    flat = [(level.value, worth) for level, worth in zip(levels, worths, strict=True)]
    kept = [
        point
        for i, point in enumerate(flat)  # within a level stretch, its ends say all
        if i in (0, len(flat) - 1) or not flat[i - 1][1] == point[1] == flat[i + 1][1]
    ]
    return Curve(tuple(kept), unread=(good + PRIOR * base) / (n + PRIOR))


def isotonic(levels: Sequence[Level]) -> list[float]:
    """The shares nearest to those of `levels` that never fall: pool adjacent violators (Ayer et al. 1955)."""
    blocks: list[tuple[float, float, int]] = []  # good, n, levels
    for level in levels:
        good, n, size = level.good, level.n, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= good / n:
            before = blocks.pop()
            good, n, size = good + before[0], n + before[1], size + before[2]
        blocks.append((good, n, size))
    return [min(good / n, 1.0) for good, n, size in blocks for _ in range(size)]


def prune_below(worth: Worth, nodes: Iterable[Labelled], lost: float = LOST) -> float | None:
    """The highest cut below which at most the share `lost` of all nodes that can be solved is expected to lie.

    It stands midway between the worth of what is dropped and of what is kept. None: nothing can be dropped.
    """
    expected: dict[float, float] = defaultdict(float)  # by worth: how many of these nodes can be solved
    for depth, value, _ in nodes:
        found = worth.at(depth)(value)
        expected[found] += found
    most, dropped, cut = lost * sum(expected.values()), 0.0, None
    ordered = sorted(expected)
    for low, high in pairwise(ordered):
        dropped += expected[low]
        if dropped > most:
            break
        cut = (low + high) / 2
    return cut
