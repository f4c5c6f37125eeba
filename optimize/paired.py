"""Two programs on the same examples: the difference, example by example, is surer than two separate means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from .intervals import CONFIDENCE, Interval, binary, bootstrap, mcnemar
from .units import are_shares, scale_of


@dataclass(frozen=True, slots=True)
class Difference:
    """One program's score minus another's, on the examples that both were scored on.

    n: how many those are. left_out: examples that only one of them was scored on. difference, and its interval (by
    paired bootstrap; None for fewer than two examples): in percentage points where scores are shares, from 0 to 1
    (`share`), else in the metric's own unit. wins, losses,
    ties: examples on which the first scored higher, lower, the same. p_value: of McNemar's exact test, where all
    scores are 0 or 1; else None.
    """

    n: int
    left_out: int
    difference: float
    interval: Interval | None
    wins: int
    losses: int
    ties: int
    p_value: float | None
    confidence: float = CONFIDENCE
    share: bool = True

    @classmethod
    def of(
        cls,
        pairs: Sequence[tuple[float, float]],
        *,
        left_out: int = 0,
        confidence: float = CONFIDENCE,
        share: bool | None = None,
    ) -> Difference:
        """From (first score, second score) of each example. share: None: as these show. ValueError for no pairs."""
        if not pairs:
            raise ValueError("no example was scored for both programs: there is nothing to compare")
        gains = [first - second for first, second in pairs]
        wins, losses = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
        found = bootstrap(gains, confidence=confidence)
        share = all(map(are_shares, pairs)) if share is None else share
        scale = scale_of(share)
        return cls(
            n=len(pairs),
            left_out=left_out,
            difference=round(100 * fmean(gains), 2) if share else fmean(gains),
            interval=None if found is None else (scale * found[0], scale * found[1]),
            wins=wins,
            losses=losses,
            ties=len(pairs) - wins - losses,
            p_value=mcnemar(wins, losses) if all(map(binary, pairs)) else None,
            confidence=confidence,
            share=share,
        )

    @property
    def scale(self) -> int:
        """What `difference` is to be divided by to be in the metric's own unit."""
        return scale_of(self.share)

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0: one of the two is better, as far as these examples can tell."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]

    def summary(self) -> str:
        """One line."""
        form = "+.1f" if self.share else "+.4g"
        within = "" if self.interval is None else f" [{self.interval[0]:{form}}, {self.interval[1]:{form}}]"
        unit = " points" if self.share else ""
        test = "" if self.p_value is None else f", McNemar p = {self.p_value:.3g}"
        left = f", {self.left_out} left out" if self.left_out else ""
        return (
            f"{self.difference:{form}}{unit}{within} on {self.n} examples: "
            f"{self.wins} better, {self.losses} worse, {self.ties} alike{test}{left}"
        )
