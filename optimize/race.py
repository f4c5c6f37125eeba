"""Which settings go on: a race over growing shares of the same examples, so that bad ones are left early.

Successive halving (Jamieson and Talwalkar 2016, arXiv 1502.07943) without waiting for others, as in ASHA (Li et al.
2020, arXiv 1810.05934): a setting is compared with all that came as far. Scores are compared in pairs, example by
example, as in racing (Maron and Moore 1997, Artificial Intelligence Review 11:193).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, stdev
from typing import Literal

Pick = Literal["best", "knee", "cheapest"]
SURE = 1.0  # standard errors of a paired difference that count as clear
ALIKE = 16  # examples with the same score at the same cost, after which two settings are taken to do the same
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


def lead_at_least(one: Results, other: Results, ids: Sequence[int], unit: float) -> float:
    """The lower end of `lead`, by as many errors as make it clear."""
    mean, error = lead(one, other, ids, unit)
    return mean - SURE * error


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

    def beaten_by(self, mine: Results, others: Mapping[int, Results], ids: Sequence[int]) -> int | None:
        """The setting, by its number, for which mine may be left after these examples; None: it goes on.

        others: all settings that have come as far.
        """
        reached = {number: other for number, other in others.items() if other.has(ids)}
        for number, other in reached.items():
            least = lead_at_least(other, mine, ids, self.unit)
            cheaper = (other.cost(ids) or 0.0) <= (mine.cost(ids) or 0.0)
            if self._clearly_better(least) or (self.two and cheaper and least >= -self.tolerance):
                return number
            if len(ids) >= ALIKE and all(mine.by_example.get(id) == other.by_example.get(id) for id in ids):
                return number  # a knob without effect
        return self._outside_the_better_half(mine, reached, ids)

    def _clearly_better(self, least: float) -> bool:
        if self.two and self.pick == "knee":
            return False  # a worse one may be the cheaper
        return least > (self.tolerance if self.two and self.pick == "cheapest" else 0.0)

    def _outside_the_better_half(self, mine: Results, reached: Mapping[int, Results], ids: Sequence[int]) -> int | None:
        if len(reached) + 1 < FEW:
            return None
        standing = self._standing(mine, reached.values(), ids)
        better = [n for n, other in reached.items() if self._standing(other, [*reached.values(), mine], ids) < standing]
        if len(better) < (len(reached) + 2) // 2:
            return None
        leader = max(better, key=lambda number: (reached[number].score(ids) or 0.0, -number))
        mean, _ = lead(reached[leader], mine, ids, self.unit)
        return leader if mean > self.tolerance else None

    def _standing(self, one: Results, others: Iterable[Results], ids: Sequence[int]) -> float:
        """Smaller is better: minus the score; with two objectives, by how many it is dominated first."""
        score, cost = one.score(ids), one.cost(ids)
        if score is None or cost is None:
            return float("inf")
        if not self.two:
            return -score
        return float(sum(dominates(other, one, ids) for other in others if other is not one))


def dominates(one: Results, other: Results, ids: Sequence[int] | None = None) -> bool:
    """Whether `one` is at least as good in score and cost, and better in one of them."""
    a, b, c, d = one.score(ids), other.score(ids), one.cost(ids), other.cost(ids)
    if a is None or c is None:
        return False
    if b is None or d is None:
        return True
    return a >= b and c <= d and (a > b or c < d)
