"""Where a number begins to matter: between a value that does the same as a setting's own, and one that does not.

Ends, halves and doubles leave wide gaps, and the cheapest value that still does as well lies in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

from .dimensions import Dimension
from .race import Results
from .trials import Setting


def middles(dimension: Dimension, start: Setting, tried: Sequence[Setting]) -> list[Any]:
    """Values of one knob of `start` halfway between tried ones next to each other, of which just one does as it does.

    tried: all settings. Those that differ in other knobs say nothing here.
    """
    if dimension.choices:
        return []
    line = {one.values[dimension.name]: one.results for one in tried if _on_the_line(dimension.name, one, start)}
    line[start.values[dimension.name]] = start.results
    ordered = sorted(value for value in line if value is not None)
    found = list[Any]()
    for low, high in pairwise(ordered):
        if _same(line[low], start.results) != _same(line[high], start.results):
            found += _between(dimension, low, high)
    return found


def _on_the_line(name: str, one: Setting, start: Setting) -> bool:
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
    elif low < (middle := sqrt(low * high) if dimension.log else (low + high) / 2) < high:
        yield middle
