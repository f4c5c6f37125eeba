"""Settings that no other one beats in both score and cost, and which of them to take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, get_args

from .race import Pick


class Point(NamedTuple):
    """score: the higher the better. cost: the lower the better."""

    score: float
    cost: float


def front(points: Mapping[int, Point]) -> list[int]:
    """The settings, cheapest first, that no other one is as good as for less, or better than for as much.

    Of equal points the first counts.
    """
    order = sorted(points, key=lambda number: (points[number].cost, -points[number].score, number))
    found: list[int] = []
    for number in order:
        if not found or points[number].score > points[found[-1]].score:
            found.append(number)
    return found


def picked(points: Mapping[int, Point], pick: Pick, tolerance: float) -> int:
    """One of the front. ValueError without a point.

    "best": the highest score. "cheapest": the cheapest within `tolerance` of the highest score (`Rule` adds what
    chance may do). "knee": the one
    farthest above the line from the cheapest to the best, both axes brought to 0..1 (Satopaa et al. 2011,
    doi 10.1109/ICDCSW.2011.20).
    """
    if pick not in get_args(Pick):
        raise ValueError(f"pick={pick!r}: must be one of {', '.join(map(repr, get_args(Pick)))}")
    if not points:
        raise ValueError("no setting was scored: there is nothing to pick from")
    ordered = front(points)
    best = ordered[-1]
    if pick == "best":
        return best
    if pick == "cheapest":
        return next(n for n in ordered if points[n].score >= points[best].score - tolerance - 1e-12)
    return max(ordered, key=lambda n: (_above(points[n], points[ordered[0]], points[best]), -points[n].cost))


def _above(point: Point, cheapest: Point, best: Point) -> float:
    """How far above the line between the ends of the front, in shares of the front's own extent."""
    span, rise = best.cost - cheapest.cost, best.score - cheapest.score
    if span <= 0 or rise <= 0:
        return 0.0
    return (point.score - cheapest.score) / rise - (point.cost - cheapest.cost) / span
