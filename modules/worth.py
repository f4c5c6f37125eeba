"""What a rater's values are worth: how likely a state that is rated so can be solved, depth by depth."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, TypeAlias

from ..search.order import UNREAD
from ..search.protocol import Outcome, Rated, Unread
from ..search.rating import Rating

Points: TypeAlias = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """From values on the rater's scale to worth, 0 to 1, never falling: straight between its points, level beyond them.

    points: (value, worth), the values ascending. unread: what a reply that cannot be read is worth.
    """

    points: Points
    unread: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", tuple((float(value), float(worth)) for value, worth in self.points))
        values, worths = [value for value, _ in self.points], [worth for _, worth in self.points]
        if not self.points or not all(map(isfinite, values)) or values != sorted(set(values)):
            raise ValueError(f"Curve(points={self.points!r}): needs finite values, each above the one before")
        if not all(0 <= worth <= 1 for worth in (*worths, self.unread)) or worths != sorted(worths):
            raise ValueError(f"Curve(points={self.points!r}, unread={self.unread!r}): worth is 0 to 1, and never falls")

    def __call__(self, value: float) -> float:
        points = self.points
        place = bisect_left(points, value, key=lambda point: point[0])
        if place == len(points):
            return points[-1][1]
        above, high = points[place]
        if place == 0 or above == value:
            return high
        below, low = points[place - 1]
        return low + (high - low) * (value - below) / (above - below)


@dataclass(frozen=True, slots=True)
class Worth:
    """A calibrated rater: `thoughtree.optimize.calibrate_rater` fits one, and a program's plan holds it.

    pooled: for the depths that have no curve of their own. by_depth: the others'. cut: the worth under which a node is
    pruned; None: none is. A node's worth replaces its value on the scale, so that nodes of all depths compare.
    """

    pooled: Curve
    by_depth: Mapping[int, Curve] = field(default_factory=dict[int, Curve])
    cut: float | None = None

    def __post_init__(self) -> None:
        if self.cut is not None and not 0 <= self.cut <= 1:
            raise ValueError(f"Worth(cut={self.cut!r}): must be from 0 to 1, or None")

    def at(self, depth: int) -> Curve:
        return self.by_depth.get(depth, self.pooled)

    def of(self, outcome: Outcome, depths: Sequence[int]) -> Outcome:
        """A rating of nodes at these depths, with each value's worth for the value."""
        if isinstance(outcome, Unread):
            worths = {self.at(depth).unread for depth in depths}
            return replace(outcome, value=worths.pop()) if len(worths) == 1 else outcome
        if not isinstance(outcome, Rated):
            return outcome
        verdicts = outcome.verdicts or (None,) * len(depths)
        found = [
            self.at(depth).unread if verdict == UNREAD else self.at(depth)(value)
            for value, verdict, depth in zip(outcome.values, verdicts, depths, strict=True)
        ]
        return replace(outcome, values=tuple(found))

    def rating(self, rating: Rating) -> Rating:
        """The same way of asking, for values that are worth. An unread reply prunes nothing."""
        unread = self.pooled.unread if self.cut is None else max(self.pooled.unread, self.cut)
        return replace(rating, unread=unread, cut=self.cut, low=0.0, high=1.0)

    def dump(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "pooled": _dump(self.pooled),
            "by_depth": {str(depth): _dump(curve) for depth, curve in sorted(self.by_depth.items())},
            "cut": self.cut,
        }

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Worth:
        """Back from JSON. ValueError for what is none."""
        try:
            curves = {int(depth): _load(curve) for depth, curve in state["by_depth"].items()}
            return cls(_load(state["pooled"]), curves, state["cut"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"worth={state!r}: is none ({type(error).__name__}: {error})") from error


def _dump(curve: Curve) -> dict[str, Any]:
    return {"points": [list(point) for point in curve.points], "unread": curve.unread}


def _load(state: Mapping[str, Any]) -> Curve:
    return Curve(tuple((value, worth) for value, worth in state["points"]), state["unread"])
