"""The most that a study can take, before anything is paid: its examples, each by the dearest setting of the space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dspy

from ..modules.most_calls import calls_by_role
from ..modules.pricing import price_of, priceable
from ..modules.program import Program
from ..modules.roles import lms_of
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
    """Calls of its searches, within their budgets; None: nothing bounds them."""
    found = [_of(inner) for _, inner in programs_in(program)]
    return None if None in found else float(sum(one for one in found if one is not None))


def _of(inner: Program) -> int | None:
    ceiling, most = inner.plan.limits.calls, _unbudgeted(inner)
    return most if ceiling is None else ceiling if most is None else min(most, ceiling)


def _unbudgeted(inner: Program) -> int | None:
    counted: Any = getattr(inner.controller, "most", None)
    nodes: tuple[int, int] | None = None if counted is None else counted()
    return None if nodes is None else sum(calls_by_role(inner, *nodes, None).values())


def dollars_of(program: dspy.Module, assumptions: Mapping[str, Any]) -> float | None:
    """The same in dollars, at the prices that are assumed, or else at those of the LMs, where they are known."""
    found = [_dollars(inner, assumptions) for _, inner in programs_in(program)]
    return None if None in found else sum(one for one in found if one is not None)


def _dollars(inner: Program, assumptions: Mapping[str, Any]) -> float | None:
    price = assumptions.get("price") or _dearest_price(inner)
    ceiling = inner.plan.limits.cost
    if price is None:
        return ceiling
    whole, most = inner.estimate(**{**assumptions, "price": price}), _of(inner)
    if most is None:
        return ceiling
    total = whole.total_cost
    if _unbudgeted(inner) != most:  # its budget ends it earlier; with the dearest calls, at most
        total = most * max(whole.each.values(), default=0.0) if whole.each else None
    return least(total, ceiling)


def _dearest_price(inner: Program) -> tuple[float, float] | None:
    """Of all its LMs, in and out; None where one of them has no known price, or none is configured."""
    prices = [None if lm is None else price_of(lm, inner.prices) for lm in lms_of(inner).values()]
    if not prices or None in prices:
        return None
    known = [price for price in prices if price is not None]
    return max(into for into, _ in known), max(out for _, out in known)


def refuse_unpriced(program: dspy.Module, argument: str) -> None:
    """ValueError for an LM whose dollars nobody knows, before anything is paid for. argument: that asks for dollars."""
    for _, inner in programs_in(program):
        for role, lm in lms_of(inner).items():
            if lm is not None and not priceable(lm, inner.prices):
                raise ValueError(
                    f"{argument}='dollars': the price of {lm.model} (role {role}) is not known; give the search "
                    f"prices={{{lm.model!r}: (dollars per million tokens in, out)}}, or {argument}='tokens'"
                )


def least(*amounts: float | None) -> float | None:
    known = [float(amount) for amount in amounts if amount is not None]
    return min(known) if known else None


def _above(one: float | None, other: float | None) -> bool:
    """None is above all."""
    return other is not None and (one is None or one > other)
