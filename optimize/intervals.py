"""How sure a mean is, and a difference of two: intervals and a test, each by its name. Shares, 0 to 1, and scores."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt
from random import Random
from statistics import NormalDist, fmean

CONFIDENCE = 0.95
RESAMPLES = 10_000
DRAWS = 4_000_000  # at most, in all: of many examples fewer resamples say as much, and none may take a minute

Interval = tuple[float, float]


def interval(scores: Sequence[float], *, confidence: float = CONFIDENCE) -> Interval | None:
    """Of the mean of `scores`: Wilson's where all are 0 or 1, else by bootstrap. None for too few to tell."""
    if scores and binary(scores):
        return wilson(int(sum(scores)), len(scores), confidence=confidence)
    return bootstrap(scores, confidence=confidence)


def binary(scores: Sequence[float]) -> bool:
    """Whether every score is 0 or 1."""
    return all(score in (0, 1) for score in scores)


def wilson(successes: int, n: int, *, confidence: float = CONFIDENCE) -> Interval:
    """The score interval of a share: (center -+ half) with z the normal quantile and p = successes / n,

        center = (p + z^2 / 2n) / (1 + z^2 / n)
        half = z sqrt(p (1 - p) / n + z^2 / 4n^2) / (1 + z^2 / n)

    Never outside 0 to 1, and not empty at 0 or n successes. Wilson 1927, JASA 22:209.
    """
    if not 0 <= successes <= n or n < 1:
        raise ValueError(f"wilson(successes={successes!r}, n={n!r}): n is at least 1, and successes from 0 to n")
    z = NormalDist().inv_cdf((1 + _share(confidence)) / 2)
    p, scale = successes / n, 1 + z * z / n
    center = (p + z * z / (2 * n)) / scale
    half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / scale
    return (0.0 if successes == 0 else center - half), (1.0 if successes == n else center + half)


def bootstrap(scores: Sequence[float], *, confidence: float = CONFIDENCE, seed: int = 0) -> Interval | None:
    """The percentile bootstrap interval of a mean. None for fewer than two scores: they do not vary.

    It is somewhat too narrow for few scores (below 20, say). Efron and Tibshirani 1993, chapter 13.
    """
    tail = (1 - _share(confidence)) / 2
    if len(scores) < 2:
        return None
    rng, n = Random(seed), len(scores)
    resamples = min(RESAMPLES, max(1000, DRAWS // n))
    means = sorted(fmean(rng.choices(scores, k=n)) for _ in range(resamples))
    return means[int(tail * resamples)], means[-1 - int(tail * resamples)]


def mcnemar(wins: int, losses: int) -> float:
    """The exact two-sided p-value that `wins` and `losses` of a pair's disagreements come from a fair coin.

    1 where they never disagree. McNemar 1947, Psychometrika 12:153, with the binomial in place of chi-square.
    """
    if wins < 0 or losses < 0:
        raise ValueError(f"mcnemar(wins={wins!r}, losses={losses!r}): counts are at least 0")
    n, fewer = wins + losses, min(wins, losses)
    return min(1.0, 2 * sum(comb(n, k) for k in range(fewer + 1)) / 2**n)


def _share(confidence: float) -> float:
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r}: must lie between 0 and 1, as 0.95 does")
    return confidence
