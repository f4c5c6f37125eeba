"""A tuning problem with a known truth: which setting of a Game of 24 search is best under a policy as noisy as GPT-4.

The policy is a function, so any setting's score and cost can be computed on puzzles that no tuner sees, by the search
core alone, without a model or a prompt.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import Any

import dspy

from thoughtree import Beam, Game24, TreeOfThoughts
from thoughtree.modules.plan import Plan
from thoughtree.modules.roles import rating_of
from thoughtree.optimize import Space, space_of
from thoughtree.optimize.space import settled
from thoughtree.optimize.trials import key_of
from thoughtree.search import Rating
from thoughtree.testing import RuleLM

from .data import Puzzle, lines
from .game24 import Outcomes, search
from .stub_policy import CONFIGS, LIKELY, StubPolicy
from .whole_program import NOTHING, WORDS, shown_state

TUNED_ON, TRUTH = 100, 200  # puzzles
POINTS, DEARER = 0.02, 1.10  # of the best setting's score, and times its cost: the mark
NOISE = CONFIGS["gpt4-like"]

# The stand-in says words, and the same thing at any temperature; the rest is the program's own space.
NARROWED: dict[str, Any] = {
    "controller": ["Beam", "DFS", "BestFirst"],
    "rate": ["value", "siblings"],
    "scale": "verdict",
    "propose": "lm",
    "temperature": None,
}


@dataclass(frozen=True, slots=True)
class Point:
    """score: the share solved. cost: calls a puzzle."""

    score: float
    cost: float


@dataclass
class Problem:
    """seed: of the policy's coins and of the puzzles' order."""

    data: Path
    seed: int
    _known: dict[str, Point] = field(default_factory=dict)
    _plans: dict[str, tuple[Plan, Rating]] = field(default_factory=dict)

    @cached_property
    def _puzzles(self) -> list[Puzzle]:
        rows = lines(self.data / "sets" / "game24.jsonl")
        found = [Puzzle(tuple(row["numbers"]), row["split"]) for row in rows]
        Random(self.seed).shuffle(found)
        return found

    @property
    def tuned_on(self) -> list[Puzzle]:
        return self._puzzles[:TUNED_ON]

    @property
    def others(self) -> list[Puzzle]:
        return self._puzzles[TUNED_ON : TUNED_ON + TRUTH]

    @property
    def examples(self) -> list[dspy.Example]:
        return [dspy.Example(numbers=puzzle.text).with_inputs("numbers") for puzzle in self.tuned_on]

    def program(self, **given: Any) -> TreeOfThoughts:
        return TreeOfThoughts(task=Game24(), controller=Beam(), concurrency=1, **given)

    @property
    def space(self) -> Space:
        return space_of(self.program(), NARROWED)

    @cached_property
    def model(self) -> dspy.LM:
        """A language model that says what the policy would, of any puzzle."""

        @cache
        def policy(numbers: str) -> StubPolicy:
            return StubPolicy(NOISE, numbers, self.seed)

        def propose(fields: Mapping[str, str], n: int | None) -> list[str]:
            found = list(map(str, policy(fields["numbers"]).propose(shown_state(fields))))
            return found[:n] or [NOTHING]

        def rate(fields: Mapping[str, str]) -> str:
            return WORDS[policy(fields["numbers"]).rate(shown_state(fields))]

        return RuleLM(propose=propose, rate=rate)

    # ---- the truth

    def on(self, puzzles: Sequence[Puzzle], values: Mapping[str, Any]) -> list[Outcomes]:
        """What a setting comes to, puzzle by puzzle, by the search core."""
        plan, rating = self._plan(values)
        middle = sorted(plan.scale.values.values())[1]
        return [
            search(puzzle, plan.controller, _Valued(StubPolicy(NOISE, puzzle.text, self.seed), middle), rating=rating)
            for puzzle in puzzles
        ]

    def _plan(self, values: Mapping[str, Any]) -> tuple[Plan, Rating]:
        key = key_of(values)
        if key not in self._plans:
            made: Any = settled(self.program(), values)
            self._plans[key] = made.plan, rating_of(made, made.plan)
        return self._plans[key]

    def truth(self, values: Mapping[str, Any]) -> Point:
        """Score and cost on puzzles that no tuner sees."""
        key = key_of(values)
        if key not in self._known:
            self._known[key] = point(self.on(self.others, values))
        return self._known[key]

    def meets(self, values: Mapping[str, Any], best: Point) -> bool:
        """Whether a setting is within the mark of the best one."""
        found = self.truth(values)
        return found.score >= best.score - POINTS - 1e-9 and found.cost <= best.cost * DEARER

    def best(self) -> tuple[dict[str, Any], Point]:
        """The grid's highest score, at the least cost."""
        found = [(values, self.truth(values)) for values in grid(self.space)]
        return max(found, key=lambda pair: (pair[1].score, -pair[1].cost))


class _Valued:
    """A policy whose middle word is worth something else."""

    def __init__(self, policy: StubPolicy, middle: float) -> None:
        self.policy, self.middle = policy, middle

    def propose(self, state: Any) -> Any:
        return self.policy.propose(state)

    def rate(self, state: Any) -> float:
        value = self.policy.rate(state)
        return self.middle if value == LIKELY else value


def point(outcomes: Sequence[Outcomes]) -> Point:
    total = sum(outcomes, start=Outcomes())
    return Point(total.share, total.calls)


def grid(space: Space) -> Iterator[dict[str, Any]]:
    """Every combination of a few levels of the knobs that matter here, at one sample and three steps."""
    levels: dict[str, dict[str, Sequence[Any]]] = {
        "Beam": {"width": (1, 2, 3, 5, 10, 20)},
        "DFS": {"threshold": (None, 0.001), "expansions": (25, 50, 100)},
        "BestFirst": {"keep": (2, 3, 5, 10), "prune_below": (None, 0.001), "expansions": (25, 50, 100)},
    }
    for kind, knobs in levels.items():
        for branching, rate in itertools.product((5, 10), ("value", "siblings")):
            for chosen in itertools.product(*knobs.values()):
                own = {f"controller.{name}": value for name, value in zip(knobs, chosen, strict=True)}
                named = {"controller": kind, "rate": rate, "controller.branching": branching, **own}
                yield space.active({**space.defaults(), **named})
