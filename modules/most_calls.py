"""The most calls that each role of a program can make."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any

import dspy

from ..tasks.environment_task import EnvironmentTask
from .calls import adapter
from .finish import closes
from .own import calls_of
from .roles import rating_of

if TYPE_CHECKING:
    from .program import Program


def calls_by_role(program: Program, expansions: int, evaluations: int, moves: int | None) -> dict[str, int]:
    """Calls per role, for at most so many expansions and evaluations. A role that makes none is left out."""
    plan, branching = program.plan, getattr(program.controller, "branching", None) or moves or 0
    each = adapter.calls_of(adapter.search_adapter(dspy.settings.adapter))
    reward = calls_of(program.reward_fn)
    proposals = expansions * (branching if plan.propose == "samples" else 1)
    ratings = requests(program, expansions, evaluations, branching)
    cheap = each if isinstance(program.cheap_rate, dspy.BaseLM) else calls_of(program.cheap_rate)
    closing = closes(plan.answer, program.signature, program.task)
    found = {
        "propose": proposals * calls_of(program.propose_fn or program.propose, each),
        "rate": ratings * calls_of(program.value_fn or program.rate_fn or program.rate, each),
        "cheap_rate": ratings * cheap,
        "step": evaluations * _of_a_step(program, each, reward),
        "reflect": evaluations * each if program.reflect is not None else 0,
        "answer": (closing + (plan.first == "answer")) * (each + reward),
    }
    return {role: calls for role, calls in found.items() if calls}


def _of_a_step(program: Program, each: int, reward: int) -> int:
    """A world model's call, what an environment declares, or a reward function's calls for a finished answer."""
    if program.world is not None:
        return each
    return program.task.calls if isinstance(program.task, EnvironmentTask) else reward


def requests(program: Program, expansions: int, evaluations: int, branching: int) -> int:
    """Requests for ratings by one rater: each a node, a family, a batch, or two nodes of a batch."""
    rating, controller = rating_of(program, program.plan), program.controller
    match rating.together:
        case "each":
            asked = evaluations
        case "siblings":
            asked = expansions
        case "level":
            asked = controller.max_depth if hasattr(controller, "width") else expansions
        case "pairs":
            asked = sum(n * comb(size, 2) for n, size in batches(controller, expansions, branching))
    return asked * rating.samples


def batches(controller: Any, expansions: int, branching: int) -> list[tuple[int, int]]:
    """How many batches of how many children are rated together at most: levels, or what is open at once."""
    if not hasattr(controller, "width"):
        together = min(getattr(controller, "open", 1), expansions)
        if not together:
            return []
        full, rest = divmod(expansions, together)
        return [(full, together * branching), (int(rest > 0), rest * branching)]
    found: list[tuple[int, int]] = []
    level = 1
    for _ in range(controller.max_depth):
        level = (level if controller.width is None else min(level, controller.width)) * branching
        found.append((1, level))
    return found
