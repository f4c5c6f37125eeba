"""What a call can cost at most, before it is made."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .most_calls import calls_by_role

if TYPE_CHECKING:
    from .program import Program

logger = logging.getLogger(__name__)

# Tokens in and out of a call, where nothing better is known: a short prompt and a short reply.
USUAL = {"propose": (600, 350), "rate": (500, 150), "answer": (600, 150)}


@dataclass(frozen=True, slots=True)
class Estimate:
    """The most of everything, retries left out.

    expansions, evaluations: nodes expanded and nodes rated. calls, tokens, cost: per role; cost in dollars,
    None where no price was given. each: dollars of one call, per role. bounded: False where nothing bounds
    the search but its budget. warning: set if this exceeds the program's budget.
    """

    expansions: int
    evaluations: int
    calls: dict[str, int]
    tokens: dict[str, int]
    cost: dict[str, float] | None
    each: dict[str, float] | None
    bounded: bool
    warning: str | None

    @property
    def total_calls(self) -> int:
        return sum(self.calls.values())

    @property
    def total_tokens(self) -> int:
        return sum(self.tokens.values())

    @property
    def total_cost(self) -> float | None:
        return None if self.cost is None else sum(self.cost.values())


def estimate(
    program: Program,
    *,
    tokens: Mapping[str, tuple[float, float]] | None = None,
    price: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    measured: Any = None,
    moves: int | None = None,
) -> Estimate:
    """The most that one call of `program` can make.

    tokens: tokens in and out of one call, per role ("propose", "rate", "cheap_rate", "answer", "reflect"; "step" for a
    world model, or a reward function or an environment that calls one). price: dollars per million tokens (in, out),
    one for all or one per role. measured: a SearchResult whose means per call are used instead of `tokens`; it does not
    tell prompts from replies, so all its tokens cost what the dearer do. moves: the most children of a node, where
    branching is None.
    """
    most = getattr(program.controller, "most", lambda moves: None)(moves)
    expansions, evaluations = most if most is not None else (0, 0)
    calls = calls_by_role(program, expansions, evaluations, moves)
    means = {} if measured is None else _means(measured)
    per_call: dict[str, tuple[float, float]] = {**USUAL, **means, **(tokens or {})}
    used = {role: round(sum(_of(per_call, role)) * count) for role, count in calls.items()}
    each = cost = None
    if price is not None:
        each = {}
        for role in calls:
            of_role = _of(price, role) if isinstance(price, Mapping) else price
            if role in means and role not in (tokens or {}):
                of_role = max(of_role), 0.0
            each[role] = _dollars(_of(per_call, role), of_role)
        cost = {role: each[role] * count for role, count in calls.items()}
    found = Estimate(expansions, evaluations, calls, used, cost, each, most is not None, None)
    warning = _over(program, found)
    if warning is not None:
        logger.warning(warning)
    return replace(found, warning=warning)


def _means(result: Any) -> dict[str, tuple[float, float]]:
    return {role: (u.tokens / u.calls, 0.0) for role, u in result.spent_by.items() if u.calls and u.tokens}


def _of(given: Mapping[str, tuple[float, float]], role: str) -> tuple[float, float]:
    """What is given for a role; a cheap rating is else one like any other, and the call of a reward, a
    world model or a reflection like an answer's.
    """
    alike = {"cheap_rate": "rate", "step": "answer", "reflect": "answer"}
    name = role if role in given else alike.get(role, role)
    if name not in given:
        raise ValueError(f"price={dict(given)!r}: there is none for {role!r}, which makes calls")
    return given[name]


def _dollars(tokens: tuple[float, float], price: tuple[float, float]) -> float:
    return (tokens[0] * price[0] + tokens[1] * price[1]) / 1e6


def _over(program: Program, found: Estimate) -> str | None:
    budget = program.budget
    for name, most, ceiling in (
        ("calls", found.total_calls, budget.calls),
        ("tokens", found.total_tokens, budget.tokens),
        ("cost", found.total_cost, budget.cost),
    ):
        if ceiling is not None and most is not None and most > ceiling:
            return f"this search can want {most:g} {name}, and its budget is {ceiling:g}: it may end early"
    if not found.bounded and budget.calls is None:
        return "nothing bounds this search: give branching or moves a number, or the budget a ceiling"
    return None
