"""Scores as a person reads them: shares, from 0 to 1, in percent; those of any other metric as it gives them."""

from __future__ import annotations

from collections.abc import Iterable

from .intervals import Interval


def are_shares(scores: Iterable[float]) -> bool:
    """Whether percent says anything of them: all lie from 0 to 1. True of none at all."""
    return all(0 <= score <= 1 for score in scores)


def scale_of(share: bool) -> int:
    """What scores are multiplied by to be shown."""
    return 100 if share else 1


def figure(score: float, share: bool) -> str:
    """`66.7 %`, or `66.7`."""
    return f"{100 * score:.1f} %" if share else f"{score:.4g}"


def within(interval: Interval | None, share: bool) -> str:
    """` [20.1, 80.3]`, with a blank before it; nothing for None."""
    if interval is None:
        return ""
    low, high = (f"{100 * end:.1f}" if share else f"{end:.4g}" for end in interval)
    return f" [{low}, {high}]"
