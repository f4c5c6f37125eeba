"""Settings next to a good one: one knob back at its default, or one step from where it is.

A sampler that looks at all knobs at once finds good regions, and leaves in them whatever does no harm there: three
samples where one would do. Going back to the default one knob at a time takes it out, mostly at the price of nothing,
since the calls are shared. (Local search around the best, as in SMAC: Hutter et al. 2011, LION 5.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from .dimensions import Dimension
from .space import Space, Values


def neighbours(space: Space, values: Mapping[str, Any], rng: Random) -> Iterator[Values]:
    """All of them, in random order: each knob back at its default; then at other choices; then numbers a step away."""
    own = [dimension for dimension in space if dimension.name in values and not dimension.fixed]
    back = [(d, d.default) for d in own if d.contains(d.default) and values[d.name] != d.default]
    away = [(d, value) for d in own for value in steps(d, values[d.name]) if value != d.default]
    for moves in (back, [m for m in away if m[0].choices], [m for m in away if not m[0].choices]):
        rng.shuffle(moves)
        for dimension, value in moves:
            yield space.active({**values, dimension.name: value})


def steps(dimension: Dimension, value: Any) -> list[Any]:
    """The values next to `value`: every other choice; of a number the next whole ones, half, twice, both ends, None."""
    if dimension.choices:
        return [choice for choice in dimension.choices if choice != value]
    low, high = dimension.ends
    if value is None:
        return [int(low + (high - low) / 2) if dimension.whole else low + (high - low) / 2]
    found: list[Any]
    if dimension.whole:
        found = [value - 1, value + 1, value // 2, value * 2]
    elif dimension.log:
        found = [value / 2, value * 2]
    else:
        found = [value - (value - low) / 2, value + (high - value) / 2]
    found += [int(low), int(high)] if dimension.whole else [low, high]
    inside = [other for other in dict.fromkeys(found) if low <= other <= high and other != value]
    return inside + ([None] if dimension.optional else [])
