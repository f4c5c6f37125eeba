"""A tuning problem with a known truth: which setting of a Game of 24 search is best under a policy as noisy as GPT-4.

The policy is a function of a seed, so any setting's score and cost can be computed by the search core alone, without a
model or a prompt: on puzzles that no tuner sees, and with coins that no tuner meets.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import sqrt
from pathlib import Path
from random import Random
from typing import Any

import dspy

from thoughtree import Beam, Game24, TreeOfThoughts
from thoughtree.modules.roles import rating_of
from thoughtree.optimize import Space, space_of
from thoughtree.optimize.space import settled
from thoughtree.optimize.trials import key_of
from thoughtree.search import Request, Tree
from thoughtree.tasks import Game24State, Move
from thoughtree.testing import RuleLM

from .data import Puzzle, lines
from .game24 import Outcomes, search
from .stub_policy import CONFIGS, LIKELY, StubPolicy
from .whole_program import CALLS, NOTHING, WORDS, shown_state

TUNED_ON = 800  # puzzles; those that are left are for the truth
COINS = 1000, 1001  # of the truth
POINTS, DEARER = 0.02, 1.10  # of the best setting's score, and times its cost: the mark
BLOCK, BEYOND = 100, 4.0  # puzzles at a time, and standard errors from the mark at which a setting is out of its reach
NOISE = CONFIGS["gpt4-like"]

# The stand-in says words, and the same thing at any temperature; the rest is the program's own space.
NARROWED: dict[str, Any] = {
    "controller": ["Beam", "DFS", "BestFirst"],
    "rate": ["value", "siblings"],
    "scale": "verdict",
    "propose": "lm",
    "temperature": None,
}

Hears = Callable[[Request, Tree[Game24State, Any]], None]


@dataclass(frozen=True, slots=True)
class Point:
    """score: the share solved. cost: calls a puzzle."""

    score: float
    cost: float


def point(outcomes: Sequence[Outcomes]) -> Point:
    total = sum(outcomes, start=Outcomes())
    return Point(total.share, total.calls)


def program() -> TreeOfThoughts:
    """The default. No ceiling of calls: the core, which stands in for it, has none."""
    return TreeOfThoughts(task=Game24(), controller=Beam(), concurrency=1, budget=CALLS)


@cache
def space() -> Space:
    return space_of(program(), NARROWED)


def puzzles(data: Path) -> tuple[list[Puzzle], list[Puzzle]]:
    """Those to tune on, and those for the truth."""
    rows = lines(data / "sets" / "game24.jsonl")
    found = [Puzzle(tuple(row["numbers"]), row["split"]) for row in rows]
    Random(0).shuffle(found)
    return found[:TUNED_ON], found[TUNED_ON:]


# ---- what a setting comes to


@dataclass
class Policies:
    """One for each puzzle. What it said once is kept. coin: the seed of them all."""

    coin: int
    _made: dict[str, _Remembering] = field(default_factory=dict[str, "_Remembering"])

    def outcome(self, puzzle: Puzzle, searched: Any, hears: Hears | None = None) -> Outcomes:
        """What a program comes to in one puzzle, by the search core."""
        policy = self._made.get(puzzle.text)
        if policy is None:
            policy = self._made[puzzle.text] = _Remembering(StubPolicy(NOISE, puzzle.text, self.coin))
        plan = searched.plan
        middle = sorted(plan.scale.values.values())[1]
        rating = rating_of(searched, plan)
        return search(puzzle, plan.controller, _Valued(policy, middle), rating=rating, hears=hears)


class _Remembering:
    """A policy that works out each answer once."""

    def __init__(self, policy: StubPolicy) -> None:
        self.policy = policy
        self.proposed: dict[Any, list[Move]] = {}
        self.rated: dict[Any, float] = {}

    def propose(self, state: Game24State) -> list[Move]:
        if (found := self.proposed.get(state.numbers)) is None:
            found = self.proposed[state.numbers] = self.policy.propose(state)
        return found

    def rate(self, state: Game24State) -> float:
        if (found := self.rated.get(state.numbers)) is None:
            found = self.rated[state.numbers] = self.policy.rate(state)
        return found


class _Valued:
    """A policy whose middle word is worth something else."""

    def __init__(self, policy: _Remembering, middle: float) -> None:
        self.policy, self.middle, self.propose = policy, middle, policy.propose

    def rate(self, state: Game24State) -> float:
        value = self.policy.rate(state)
        return self.middle if value == LIKELY else value


# ---- the truth


@dataclass
class Truth:
    """Of settings: score and cost on puzzles that no tuner sees, with coins that none meets."""

    data: Path
    known: dict[str, Point] = field(default_factory=dict[str, Point])
    _policies: dict[int, Policies] = field(default_factory=dict[int, Policies])

    @cached_property
    def cases(self) -> list[tuple[int, Puzzle]]:
        return [(coin, puzzle) for coin in COINS for puzzle in puzzles(self.data)[1]]

    def of(self, values: Mapping[str, Any]) -> Point:
        key = key_of(values)
        if key not in self.known:
            self.known[key] = point(list(self._outcomes(values)))
        return self.known[key]

    def _outcomes(self, values: Mapping[str, Any]) -> Iterator[Outcomes]:
        searched = settled(program(), values)
        for coin, puzzle in self.cases:
            yield self._policies.setdefault(coin, Policies(coin)).outcome(puzzle, searched)

    def best(self) -> tuple[dict[str, Any], Point]:
        """The grid's highest score, at the least cost."""
        found = [(values, self.of(values)) for values in grid()]
        return max(found, key=lambda pair: (pair[1].score, -pair[1].cost))

    def meets(self, values: Mapping[str, Any], best: Point) -> bool:
        """Whether a setting is within the mark of the best one."""
        if key_of(values) not in self.known and self._out_of_reach(values, best):
            return False
        return within(self.of(values), best)

    def _out_of_reach(self, values: Mapping[str, Any], best: Point) -> bool:
        """Whether one block of cases after the other leaves no doubt, so that the others need not be tried."""
        found: list[Outcomes] = []
        for one in self._outcomes(values):
            found.append(one)
            if len(found) % BLOCK == 0 and _beyond(found, best):
                return True
        self.known[key_of(values)] = point(found)
        return False


def within(found: Point, best: Point) -> bool:
    """The mark."""
    return found.score >= best.score - POINTS - 1e-9 and found.cost <= best.cost * DEARER


def _beyond(found: Sequence[Outcomes], best: Point) -> bool:
    n, now = len(found), point(found)
    low = now.score + BEYOND * sqrt(max(now.score * (1 - now.score), 1 / n) / n) < best.score - POINTS
    spread = sum((one.calls - now.cost) ** 2 for one in found) / n
    return low or now.cost - BEYOND * sqrt(spread / n) > best.cost * DEARER


def grid() -> Iterator[dict[str, Any]]:
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
                yield space().active({**space().defaults(), **named})


# ---- what is tuned


@dataclass
class Problem:
    """The puzzles to tune on, under policies of one seed, and a model that says what these would."""

    data: Path
    seed: int

    @cached_property
    def tuned_on(self) -> list[Puzzle]:
        return puzzles(self.data)[0]

    @cached_property
    def policies(self) -> Policies:
        return Policies(self.seed)

    @property
    def examples(self) -> list[dspy.Example]:
        return [dspy.Example(numbers=puzzle.text).with_inputs("numbers") for puzzle in self.tuned_on]

    def on(self, puzzles: Sequence[Puzzle], values: Mapping[str, Any]) -> list[Outcomes]:
        """What a setting comes to, puzzle by puzzle."""
        searched = settled(program(), values)
        return [self.policies.outcome(puzzle, searched) for puzzle in puzzles]

    @cached_property
    def model(self) -> dspy.LM:
        @cache
        def policy(numbers: str) -> StubPolicy:
            return StubPolicy(NOISE, numbers, self.seed)

        def propose(fields: Mapping[str, str], n: int | None) -> list[str]:
            found = list(map(str, policy(fields["numbers"]).propose(shown_state(fields))))
            return found[:n] or [NOTHING]

        def rate(fields: Mapping[str, str]) -> str:
            return WORDS[policy(fields["numbers"]).rate(shown_state(fields))]

        return RuleLM(propose=propose, rate=rate)
