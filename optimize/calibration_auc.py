"""How well values tell good nodes from bad ones: the area under the ROC curve, and how sure it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

from .intervals import CONFIDENCE, Interval

RESAMPLES = 1000
Counts: TypeAlias = Counter[tuple[float, bool]]  # how many nodes of this value and truth


def auc(counts: Mapping[tuple[float, bool], int]) -> float | None:
    """How often a good node has a higher value than a bad one, a tie counting half; None without both kinds.

    The Mann-Whitney statistic over n_good * n_bad (Hanley and McNeil 1982).
    """
    below, wins, good = 0, 0.0, 0
    for value in sorted({value for value, _ in counts}):
        here, bad = counts.get((value, True), 0), counts.get((value, False), 0)
        wins += here * (below + bad / 2)
        below += bad
        good += here
    return wins / (good * below) if good and below else None


def resampled(
    searches: Sequence[Any], measure: Callable[[list[Any]], float | None], *, confidence: float = CONFIDENCE
) -> Interval | None:
    """The percentile bootstrap interval of what `measure` says of some searches, drawn whole: nodes of one search are
    alike. None for fewer than two searches, or where `measure` mostly says nothing.
    """
    if len(searches) < 2:
        return None
    rng, n = Random(0), len(searches)
    found = sorted(m for _ in range(RESAMPLES) if (m := measure(rng.choices(searches, k=n))) is not None)
    if len(found) < RESAMPLES / 2:
        return None
    tail = int((1 - confidence) / 2 * len(found))
    return found[tail], found[-1 - tail]


def total(searches: Iterable[Counts]) -> Counts:
    made: Counts = Counter()
    for counts in searches:
        made.update(counts)
    return made


def auc_of(searches: Sequence[Counts]) -> tuple[float | None, Interval | None]:
    """The area under the curve of all nodes of these searches, and its interval."""
    found = [counts for counts in searches if counts]
    return auc(total(found)), resampled(found, lambda drawn: auc(total(drawn)))


def auc_gain(pairs: Sequence[tuple[Counts, Counts]]) -> tuple[float | None, Interval | None]:
    """By how much the first values of the same nodes have a larger area than the second, search by search."""

    def gain(drawn: Sequence[tuple[Counts, Counts]]) -> float | None:
        first, second = auc(total(a for a, _ in drawn)), auc(total(b for _, b in drawn))
        return None if first is None or second is None else first - second

    found = [pair for pair in pairs if pair[0]]
    return gain(found), resampled(found, gain)
