"""The end of a study: the best few settings once more, on examples that none of them was chosen by.

The luckiest of many noisy scores is not the best setting's. So the fresh examples are cut in two; what is chosen with
the help of one half is judged by the other, and both judgements together are the figure that is reported
(cross-fitting: Chernozhukov et al. 2018, doi 10.1111/ectj.12097).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from .front import Point, front, picked
from .intervals import CONFIDENCE, Interval, bootstrap, interval
from .paired import Difference
from .race import Pick, Results, lead_at_least

STUDENT = -1  # the number of the program as it was given
MUCH = 0.1  # of a score from 0 to 1
FEWEST = round(1 / MUCH)  # fresh examples from which it can follow that a setting is as good for less


@dataclass(frozen=True, slots=True)
class Rule:
    """How a setting is chosen. limit: the cost above which none is."""

    pick: Pick
    tolerance: float
    limit: float | None = None

    def choose(self, candidates: Mapping[int, Results], ids: Sequence[int]) -> int | None:
        """One of the candidates, by its results on these examples; None where none has any."""
        points = self._points(candidates, ids)
        within = self._within(points)
        if not within:
            return min(points, key=lambda n: points[n].cost) if points else None
        if self.pick == "cheapest":
            return self._cheapest(candidates, within, ids)
        return picked(within, self.pick, self.tolerance)

    def front(self, candidates: Mapping[int, Results], ids: Sequence[int]) -> list[int]:
        """Those within the limit that no other one beats in score and cost, cheapest first."""
        return front(self._within(self._points(candidates, ids)))

    def _points(self, candidates: Mapping[int, Results], ids: Sequence[int]) -> dict[int, Point]:
        points: dict[int, Point] = {}
        for number, results in self._steady(candidates, ids).items():
            score, cost = results.score(ids), results.cost(ids)
            if score is not None and cost is not None:
                points[number] = Point(score, cost)
        return points

    def _within(self, points: Mapping[int, Point]) -> dict[int, Point]:
        return {n: point for n, point in points.items() if self.limit is None or point.cost <= self.limit}

    def _steady(self, candidates: Mapping[int, Results], ids: Sequence[int]) -> dict[int, Results]:
        """Those that do not fail on more of the examples than another one does, by more than one, and the tolerance.

        A failure is no score: one that fails on all that is hard would have the best mean of what is left.
        """
        failed = {n: results.failed(ids) for n, results in candidates.items() if results.scored(ids)}
        most = min(failed.values(), default=0.0) + max(self.tolerance, 1 / max(len(ids), 1))
        return {n: candidates[n] for n, share in failed.items() if share <= most + 1e-12}

    def _cheapest(self, candidates: Mapping[int, Results], points: Mapping[int, Point], ids: Sequence[int]) -> int:
        """The cheapest that is not clearly worse than the best: the one-standard-error rule (Breiman et al. 1984),
        with the error of the paired difference, which is the smaller one."""
        ordered = front(points)
        best = candidates[ordered[-1]]
        unit = max(1.0, abs(points[ordered[-1]].score))
        return next(n for n in ordered if lead_at_least(best, candidates[n], ids, unit) <= self.tolerance)

    def few(self, candidates: Mapping[int, Results], ids: Sequence[int], most: int) -> list[int]:
        """Those to look at again: the first choice; what it is measured by, the highest score; what lies between them.

        A choice that allows for what chance may do needs the others at the end too, or nothing could correct it. Where
        the highest score is the choice, the next choices follow, as if the first were not there.
        """
        found = dict.fromkeys(self._between(candidates, ids)[:most])
        left = {number: results for number, results in candidates.items() if number not in found}
        while self.pick == "best" and left and len(found) < most and (number := self.choose(left, ids)) is not None:
            found[number] = None
            del left[number]
        return list(found)

    def _between(self, candidates: Mapping[int, Results], ids: Sequence[int]) -> list[int]:
        """The choice, the highest score, and those of the front between them, dearest first."""
        ordered = self.front(candidates, ids)
        chosen = self.choose(candidates, ids)
        if chosen not in ordered:
            return [] if chosen is None else [chosen]
        between = ordered[ordered.index(chosen) + 1 :]
        return [chosen, *reversed(between)]


@dataclass(frozen=True, slots=True)
class Figure:
    """One setting on the fresh examples. score: a mean; None without any. cost: the mean an example."""

    n: int
    score: float | None
    interval: Interval | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Tuned against default on fresh examples.

    winner: the setting that is taken, by its number; STUDENT: the program as it was. tuned: its figure there, and
    default's. difference: in score, by examples that the choice did not see. saving: the mean
    cost saved an example, with its interval. better: higher in score beyond doubt; cheaper: lower in cost beyond doubt,
    and not lower in score, as far as these examples can tell.
    """

    winner: int
    tuned: Figure
    default: Figure
    difference: Difference | None
    saving: float | None
    saving_interval: Interval | None
    better: bool
    cheaper: bool

    @property
    def improved(self) -> bool:
        return self.better or self.cheaper


def judge(
    candidates: Mapping[int, Results], raced: Sequence[int], fresh: Sequence[int], rule: Rule, default: int
) -> Verdict:
    """candidates: settings with results on the raced and, as far as they were run again, the fresh examples.

    default: the number of what all are compared with.
    """
    halves = fresh[::2], fresh[1::2]
    gains: list[tuple[float, float]] = []
    savings: list[float] = []
    left_out = 0
    for half, other in (halves, halves[::-1]):
        chosen = rule.choose(candidates, [*raced, *half])
        if chosen is None:
            continue
        for id in other:
            mine, theirs = (candidates[n].by_example.get(id) for n in (chosen, default))
            if mine is None or theirs is None or mine.score is None or theirs.score is None:
                left_out += 1
                continue
            gains.append((mine.score, theirs.score))
            savings.append(theirs.cost - mine.cost)
    winner = rule.choose(candidates, [*raced, *fresh])
    winner = default if winner is None else winner
    difference = Difference.of(gains, left_out=left_out) if gains else None
    saved = bootstrap(savings)
    better = difference is not None and _clear(difference) and difference.difference > 0
    cheaper = saved is not None and saved[0] > 0 and difference is not None and _no_worse(difference, rule.tolerance)
    return Verdict(
        winner=winner,
        tuned=figure(candidates[winner], fresh),
        default=figure(candidates[default], fresh),
        difference=difference,
        saving=sum(savings) / len(savings) if savings else None,
        saving_interval=saved,
        better=better,
        cheaper=cheaper,
    )


def _clear(difference: Difference) -> bool:
    """Whether one of the two is better beyond doubt. Scores of 0 and 1: by the exact test, which a few never pass."""
    if difference.p_value is not None:
        return difference.p_value < 1 - difference.confidence
    return difference.clear


def _no_worse(difference: Difference, tolerance: float) -> bool:
    """Lower by no more than is no difference, or examples differ by chance; and not likely to be lower by much.

    Likely: up to one standard error below what was seen, with one more difference taken to have been seen: from a few
    examples that happen to tie nothing follows.
    """
    seen = difference.difference / difference.scale
    error = sqrt(max(difference.wins + difference.losses, 1)) / difference.n  # at most, of scores from 0 to 1
    as_good = seen >= -tolerance or (not _clear(difference) and seen >= -error)
    return as_good and seen - error >= -max(tolerance, MUCH)


def figure(results: Results, ids: Sequence[int]) -> Figure:
    scores = [results.by_example[id].score or 0.0 for id in results.scored(ids)]
    found = interval(scores, confidence=CONFIDENCE) if scores else None
    return Figure(len(scores), results.score(ids), found, results.cost(ids))
