"""Which settings go on: a race over growing shares of the same examples, so that bad ones are left early.

Successive halving (Jamieson and Talwalkar 2016, arXiv 1502.07943) without waiting for others, as in ASHA (Li et al.
2020, arXiv 1810.05934): a setting is compared with all that came as far. Scores are compared in pairs, example by
example, as in racing (Maron and Moore 1997, Artificial Intelligence Review 11:193).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, stdev
from typing import Literal

Pick = Literal["best", "knee", "cheapest"]
SURE, LIKELY, LEAST = 2.0, 1.0, 0.5  # standard errors of a paired difference: clear, likely, and no mere tie
ENOUGH = 64  # examples after which two settings that did the same in each are taken to
FEW = 4  # settings that have to be there before one half of them is left


@dataclass(frozen=True, slots=True)
class Result:
    """One example under one setting. score: None where it failed. cost: in the tuner's unit."""

    score: float | None
    cost: float
    error: str | None = None


@dataclass(slots=True)
class Results:
    """What one setting came to, by example, in the race's order."""

    by_example: dict[int, Result] = field(default_factory=dict[int, Result])

    def scored(self, among: Iterable[int] | None = None) -> list[int]:
        """The examples, of those `among`, that have a score."""
        ids = self.by_example if among is None else among
        return [id for id in ids if (one := self.by_example.get(id)) is not None and one.score is not None]

    def score(self, among: Iterable[int] | None = None) -> float | None:
        """The mean score; None without any."""
        found = [self.by_example[id].score or 0.0 for id in self.scored(among)]
        return fmean(found) if found else None

    def cost(self, among: Iterable[int] | None = None) -> float | None:
        """The mean cost of the scored examples; None without any."""
        found = [self.by_example[id].cost for id in self.scored(among)]
        return fmean(found) if found else None

    def failed(self, among: Iterable[int]) -> float:
        """The share of those that were run of these examples; 0 where none was."""
        ran = [one for id in among if (one := self.by_example.get(id)) is not None]
        return sum(one.score is None for one in ran) / len(ran) if ran else 0.0

    def has(self, ids: Sequence[int]) -> bool:
        return all(id in self.by_example for id in ids)


def rungs(examples: int, first: int = 8, factor: int = 2) -> list[int]:
    """How many examples a setting is compared after: 8, 16, 32, ... and all."""
    if examples < 1 or first < 1 or factor < 2:
        raise ValueError(f"rungs({examples!r}, first={first!r}, factor={factor!r}): at least 1, 1 and 2")
    found, size = list[int](), first
    while size < examples:
        found.append(size)
        size *= factor
    return [*found, examples]


def lead(one: Results, other: Results, ids: Sequence[int], unit: float = 1.0) -> tuple[float, float]:
    """How much higher `one` scores than `other` on the same examples: mean and standard error of the difference.

    One more difference of `unit` is taken to have been seen, so that a few equal scores do not look like certainty.
    (0, infinity) where there is no example that both were scored on.
    """
    both = [id for id in one.scored(ids) if other.by_example.get(id, Result(None, 0.0)).score is not None]
    if not both:
        return 0.0, float("inf")
    gains = [(one.by_example[id].score or 0.0) - (other.by_example[id].score or 0.0) for id in both]
    mean = fmean(gains)
    return mean, sqrt(sum((gain - mean) ** 2 for gain in gains) + unit**2) / len(gains)


def lead_at_least(one: Results, other: Results, ids: Sequence[int], unit: float, errors: float = LIKELY) -> float:
    """The lower end of `lead`, by as many standard errors."""
    mean, error = lead(one, other, ids, unit)
    return mean - errors * error


def dearer_than(limit: float, results: Results, ids: Sequence[int]) -> bool:
    """Whether the mean cost of these examples is above the limit by two standard errors."""
    costs = [results.by_example[id].cost for id in results.scored(ids)]
    if len(costs) < 2:
        return False
    return fmean(costs) - 2 * stdev(costs) / sqrt(len(costs)) > limit


@dataclass(frozen=True, slots=True)
class Race:
    """The rule. two: cost counts beside the score. pick: what the winner will be chosen by, and so what may be left.

    tolerance: a difference in score that is none. unit: how far apart two scores are at most.
    """

    two: bool
    pick: Pick = "best"
    tolerance: float = 0.02
    unit: float = 1.0

    def beaten_by(
        self, mine: Results, others: Mapping[int, Results], ids: Sequence[int], left: Collection[int] = ()
    ) -> int | None:
        """The setting, by its number, for which mine may be left after these examples; None: it goes on.

        others: all settings; those that have come as far count. left: those of them that were left themselves. Nobody
        is left for one of these, unless both are alike: of many that were tried on few examples some were lucky, and
        who is still there has beaten them.
        """
        reached = {number: other for number, other in others.items() if other.has(ids)}
        for number, other in reached.items():
            if _alike(mine, other, ids) or (number not in left and self._gives_way(mine, other, ids)):
                return number
        return self._outside_the_better_half(mine, reached, ids)

    def _gives_way(self, mine: Results, other: Results, ids: Sequence[int]) -> bool:
        """Whether the other is clearly better, or as good for less.

        What is left never comes back, so there must be no doubt that it is as good; of what costs several times as much
        less is enough, as all that is tried of it does too. Where the highest score is wanted, cost is no reason.
        """
        if self._clearly_better(lead_at_least(other, mine, ids, self.unit, SURE)):
            return True
        own, others = mine.cost(ids) or 0.0, other.cost(ids) or 0.0
        if not self.two or others > own:
            return False
        errors = SURE if self.pick == "best" or not own else max(LEAST, SURE * others / own)
        return lead_at_least(other, mine, ids, self.unit, errors) >= -self.tolerance

    def _clearly_better(self, least: float) -> bool:
        if self.two and self.pick == "knee":
            return False  # a worse one may be the cheaper
        return least > (self.tolerance if self.two and self.pick == "cheapest" else 0.0)

    def _outside_the_better_half(self, mine: Results, reached: Mapping[int, Results], ids: Sequence[int]) -> int | None:
        """The leader of the better half, of whom it has to be likely that it is better."""
        if len(reached) + 1 < FEW or (own := _point(mine, ids)) is None:
            return None
        points = {n: point for n, other in reached.items() if (point := _point(other, ids)) is not None}
        every = [*points.values(), own]
        standing = self._standing(own, every)
        better = [n for n, point in points.items() if self._standing(point, every) < standing]
        if len(better) < (len(reached) + 2) // 2:
            return None
        # On all that it was tried on: the best one of a few examples was lucky in them.
        leader = max(better, key=lambda n: (len(reached[n].by_example), reached[n].score() or 0.0, -n))
        return leader if lead_at_least(reached[leader], mine, ids, self.unit, LIKELY) > self.tolerance else None

    def _standing(self, one: tuple[float, float], every: Iterable[tuple[float, float]]) -> float:
        """Smaller is better: minus the score; with two objectives, by how many it is dominated."""
        if not self.two:
            return -one[0]
        return float(sum(_dominates(other, one) for other in every))


def _alike(one: Results, other: Results, ids: Sequence[int]) -> bool:
    """Whether both did the same in each of enough examples: a knob without effect."""
    return len(ids) >= ENOUGH and all(one.by_example.get(id) == other.by_example.get(id) for id in ids)


def _point(results: Results, ids: Sequence[int]) -> tuple[float, float] | None:
    score, cost = results.score(ids), results.cost(ids)
    return None if score is None or cost is None else (score, cost)


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] >= other[0] and one[1] <= other[1] and one != other


def dominates(one: Results, other: Results, ids: Sequence[int] | None = None) -> bool:
    """Whether `one` is at least as good in score and cost, and better in one of them; or scored, and other is not."""
    ids = list(one.by_example | other.by_example) if ids is None else ids
    mine, theirs = _point(one, ids), _point(other, ids)
    return mine is not None and (theirs is None or _dominates(mine, theirs))
