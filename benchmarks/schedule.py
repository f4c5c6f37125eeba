"""The least time that a beam of 5x5x3 can take, when each call takes the time that it takes."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from random import Random

# Calls of a beam of width 5, branching 5, depth 3, rated child by child: a batch waits for the one before.
BATCHES = (1, 5, 5, 25, 5, 25)
CALLS = sum(BATCHES)
MEAN = 0.050  # seconds a call


def even() -> list[float]:
    return [MEAN] * CALLS


def skewed(seed: int = 0, sigma: float = 1.0) -> list[float]:
    """Log-normal latencies, as of a provider with slow calls among many fast ones, of the very same mean."""
    rng = Random(seed)
    drawn = [rng.lognormvariate(0.0, sigma) for _ in range(CALLS)]
    return [MEAN * CALLS * time / sum(drawn) for time in drawn]


def ideal(latencies: Sequence[float], in_flight: int) -> float:
    """Seconds, if calls start in order as soon as a place is free, and nothing but calls takes time."""
    total, at = 0.0, 0
    for size in BATCHES:
        free = [0.0] * min(in_flight, size)
        for latency in latencies[at : at + size]:
            heapq.heapreplace(free, free[0] + latency)
        total += max(free)
        at += size
    return total
