"""What a call can cost at most, before it is made."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .own import calls_of
from .rate import MODES

if TYPE_CHECKING:
    from .tree_of_thoughts import TreeOfThoughts

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
    program: TreeOfThoughts,
    *,
    tokens: Mapping[str, tuple[float, float]] | None = None,
    price: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    measured: Any = None,
    moves: int | None = None,
) -> Estimate:
    """The most that one call of `program` can make.

    tokens: tokens in and out of one call, per role ("propose", "rate", "answer"). price: dollars per million
    tokens (in, out), one for all or one per role. measured: a SearchResult whose means per call are used
    instead of `tokens` (its prompts and replies are not told apart, so they count as tokens in). moves: the
    most children of a node, where branching is None.
    """
    plan = program.plan
    most = plan.controller.most(moves)
    expansions, evaluations = most if most is not None else (0, 0)
    calls = _calls(program, expansions, evaluations)
    per_call = {**USUAL, **(_means(measured) if measured is not None else {}), **(tokens or {})}
    used = {role: round(sum(per_call[role]) * count) for role, count in calls.items()}
    each = None
    if price is not None:
        each = {
            role: _dollars(per_call[role], price[role] if isinstance(price, Mapping) else price)
            for role in calls
        }
    cost = None if each is None else {role: each[role] * count for role, count in calls.items()}
    found = Estimate(expansions, evaluations, calls, used, cost, each, most is not None, None)
    warning = _over(program, found)
    if warning is not None:
        logger.warning(warning)
    return Estimate(expansions, evaluations, calls, used, cost, each, most is not None, warning)


def _calls(program: TreeOfThoughts, expansions: int, evaluations: int) -> dict[str, int]:
    plan = program.plan
    found: dict[str, int] = {}
    proposing = 0 if plan.propose == "moves" else calls_of(program.propose_fn or program.propose)
    if plan.propose == "samples":
        proposing *= getattr(plan.controller, "branching", 1) or 1
    if proposing:
        found["propose"] = expansions * proposing
    rating = 0 if plan.rate == "code" else calls_of(program.value_fn or program.rate_fn or program.rate)
    if rating:
        found["rate"] = _ratings(plan, expansions, evaluations) * plan.samples * rating
    if program.answer is not None:
        found["answer"] = 1 + (plan.first == "answer")
    return found


def _ratings(plan: Any, expansions: int, evaluations: int) -> int:
    """Requests for ratings, one sample each: a node, an expansion, a level, or two nodes of a level."""
    together = MODES.get(plan.rate, "each")
    depth, width = plan.controller.max_depth, getattr(plan.controller, "width", None)
    if together == "siblings":
        return expansions
    if together == "each":
        return evaluations
    level_wise = width is not None or not hasattr(plan.controller, "keep")
    levels = depth if level_wise else expansions
    if together == "level":
        return levels
    largest = evaluations if levels == 0 else -(-evaluations // max(1, levels))
    return levels * largest * (largest - 1) // 2


def _means(result: Any) -> dict[str, tuple[float, float]]:
    return {role: (u.tokens / u.calls, 0.0) for role, u in result.spent_by.items() if u.calls and u.tokens}


def _dollars(tokens: tuple[float, float], price: tuple[float, float]) -> float:
    return (tokens[0] * price[0] + tokens[1] * price[1]) / 1e6


def _over(program: TreeOfThoughts, found: Estimate) -> str | None:
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
