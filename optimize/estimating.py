"""The most that a study can take, before anything is paid: its examples, each by the dearest setting of the space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dspy

from ..modules.most_calls import calls_by_role
from ..modules.program import Program
from .dimensions import Dimension
from .space import Space, programs_in


def dearest(student: dspy.Module, space: Space) -> tuple[dspy.Module, float | None]:
    """The program by the setting that can make the most calls, and how many; None: nothing bounds them.

    One knob after the other goes to where it costs most, twice over: calls grow with each knob, whatever the others
    are.
    """
    values = space.defaults()
    best = (made := space.settle(student, values), most_of(made))
    for _ in range(2):
        for dimension in space:
            if dimension.name not in values:
                continue
            for other in (e for e in _ends(dimension) if e != values.get(dimension.name)):
                tried = space.active({**values, dimension.name: other})
                made = _settled(student, space, tried)
                if made is not None and _above(most := most_of(made), best[1]):
                    best, values = (made, most), tried
    return best


def _ends(dimension: Dimension) -> tuple[Any, ...]:
    if dimension.choices:
        return dimension.choices
    whole = tuple(int(end) if dimension.whole else end for end in dimension.ends)
    return (*whole, None) if dimension.optional else whole


def _settled(student: dspy.Module, space: Space, values: Mapping[str, Any]) -> dspy.Module | None:
    try:
        return space.settle(student, values)
    except ValueError:  # they do not go together, and no trial will run with them
        return None


def most_of(program: dspy.Module) -> float | None:
    """Calls of its searches; None: nothing bounds them."""
    found = [_of(inner) for _, inner in programs_in(program)]
    return None if None in found else float(sum(one for one in found if one is not None))


def _of(inner: Program) -> int | None:
    ceiling = inner.plan.limits.calls
    counted: Any = getattr(inner.controller, "most", None)
    nodes: tuple[int, int] | None = None if counted is None else counted()
    if nodes is None:
        return ceiling
    most = sum(calls_by_role(inner, *nodes, None).values())
    return most if ceiling is None else min(most, ceiling)


def _above(one: float | None, other: float | None) -> bool:
    """None is above all."""
    return other is not None and (one is None or one > other)
