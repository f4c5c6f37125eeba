"""The same policies behind a whole program: prompts, adapter, replies as text, reading, and the search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import dspy

from thoughtree import Game24, TreeOfThoughts
from thoughtree.search.controller import Controller
from thoughtree.tasks import Game24State
from thoughtree.tasks.notation import read_number
from thoughtree.testing import RuleLM

from .checker import proves
from .data import Puzzle
from .game24 import Outcomes, Policy
from .stub_policy import IMPOSSIBLE, LIKELY, SURE

WORDS = {SURE: "sure", LIKELY: "maybe", IMPOSSIBLE: "impossible"}
NOTHING = "no step comes to mind"  # an empty reply would be asked for again, at the cost of a call
CALLS = 10_000  # no ceiling that any of these searches meets


def shown_state(fields: Mapping[str, str]) -> Game24State:
    """The state that a prompt shows, on the last line of where its steps have led."""
    numbers = tuple(sorted(map(read_number, fields["search_state"].splitlines()[-1].split())))
    return Game24State(numbers, numbers)


def model_of(policy: Policy) -> dspy.LM:
    """A language model that says what the policy would."""

    def propose(fields: Mapping[str, str], n: int | None) -> list[str]:
        return list(map(str, policy.propose(shown_state(fields)))) or [NOTHING]

    def rate(fields: Mapping[str, str]) -> str:
        return WORDS[policy.rate(shown_state(fields))]

    return RuleLM(propose=propose, rate=rate)


def solve_all(
    puzzles: Iterable[Puzzle],
    controller: Controller,
    policy: Callable[[Puzzle], Policy],
    *,
    rate: str = "value",
) -> Outcomes:
    """The sums over the puzzles, one call in flight. rate: "value" is a call a state, "siblings" a family."""
    solve = TreeOfThoughts(task=Game24(), controller=controller, rate=rate, concurrency=1, budget=CALLS)
    total = Outcomes()
    for puzzle in puzzles:
        with dspy.context(lm=model_of(policy(puzzle))):
            prediction = solve(numbers=puzzle.text)
        found = prediction.search
        false = found.solved and not proves(prediction.answer, puzzle.numbers)
        spent = {role: usage.calls for role, usage in found.spent_by.items()}
        total += Outcomes(1, int(found.solved), int(false), spent.get("propose", 0), spent.get("rate", 0))
    return total
