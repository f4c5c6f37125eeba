"""Where a number begins to matter: between a value that does the same as a setting's own, and one that does not.

Ends, halves and doubles leave wide gaps, and the cheapest value that still does as well lies in one of them. Between
two values that both do the same there is nothing to look for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from math import sqrt
from typing import Any

from .dimensions import Dimension
from .race import Results
from .trials import Setting

NEAR_RATIO, NEAR_SHARE = 1.25, 1 / 16  # of two values, and of the whole range: what lies nearer is not told apart


@dataclass(frozen=True, slots=True)
class Line:
    """What is known of one knob of a setting, all others being as they are.

    values: those that were tried, in order. same: whether each does what the setting's own does, example by example.
    """

    dimension: Dimension
    own: Any
    values: Sequence[Any]
    same: Sequence[bool]

    @classmethod
    def through(cls, start: Setting, dimension: Dimension, tried: Sequence[Setting]) -> Line:
        """tried: all settings. Those that differ in other knobs say nothing here."""
        own = start.values[dimension.name]
        found = {one.values[dimension.name]: one.results for one in tried if _on_it(dimension.name, one, start)}
        found[own] = start.results
        ordered = [] if dimension.choices else sorted(value for value in found if value is not None)
        return cls(dimension, own, ordered, [_same(found[value], start.results) for value in ordered])

    def middles(self) -> list[Any]:
        """Values halfway between tried ones next to each other, of which just one does the same."""
        found = list[Any]()
        for (low, low_same), (high, high_same) in pairwise(zip(self.values, self.same, strict=True)):
            if low_same != high_same:
                found += _between(self.dimension, low, high)
        return found

    def flat(self, value: Any) -> bool:
        """Whether a value lies between the setting's own and one that does the same, without one that does not."""
        if value is None or self.own is None or self.dimension.choices:
            return False
        pairs = list(zip(self.values, self.same, strict=True))
        at = self.values.index(self.own)
        up = [other for other, _ in takewhile(lambda pair: pair[1], pairs[at:])]
        down = [other for other, _ in takewhile(lambda pair: pair[1], reversed(pairs[: at + 1]))]
        return bool(down[-1] <= value <= up[-1])


def _on_it(name: str, one: Setting, start: Setting) -> bool:
    comparable = one.values.keys() == start.values.keys() and bool(one.results.by_example)
    return comparable and all(value == start.values[other] for other, value in one.values.items() if other != name)


def _same(one: Results, start: Results) -> bool:
    """In score and cost, on all that it was tried on."""
    both = [id for id in one.by_example if id in start.by_example]
    return all(one.by_example[id] == start.by_example[id] for id in both)


def _between(dimension: Dimension, low: Any, high: Any) -> Iterator[Any]:
    if dimension.whole:
        if high - low > 1:
            yield (low + high) // 2
    elif dimension.log:
        if high > low * NEAR_RATIO:
            yield sqrt(low * high)
    elif high - low > NEAR_SHARE * (dimension.ends[1] - dimension.ends[0]):
        yield (low + high) / 2
