"""Blocksworld by Monte-Carlo tree search in a world that a noisy model predicts and judges, as in RAP.

Every other problem serves to pick the knobs; what has to be reached is measured on the rest. The controls search the
true world, with no judge but the share of the goal's conditions that hold; their knobs are picked on the same half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from .blocksworld import PROBLEMS, Distances, Problem, problems
from .noisy_planning import LIMIT, Knobs, Planned, carry_out, plan
from .noisy_world import NONE, Model, Noise
from .report import Report, Row, at_least, beside

ROLLOUTS = (10, 20, 100)
REACH = {10: 0.34, 20: 0.46, 100: 0.74}  # solved by code-only UCT with a goal-count reward, over all lengths
PICKED_AT = 20  # rollouts
EACH = (100, 50, 40, 30, 20)
USUAL = Noise(world=0.02, judge=0.2)
OTHERS = (Noise(0.0, 0.3), Noise(0.05, 0.2), Noise(0.05, 0.3))
GRID = [Knobs(*each) for each in product((0.5, 0.7, 0.9), (0.05, 0.1, 0.3, 1.0), ("mean", "max"))]
CONTROLS = [replace(knobs, judged=0.0) for knobs in GRID[:8]]

Run = Callable[[Problem, int, Model, Knobs], Planned]


@dataclass(frozen=True, slots=True)
class Case:
    problem: Problem
    distances: dict[frozenset[str], int]


@dataclass(frozen=True, slots=True)
class Share:
    """solved: of all, from 0 to 1. expansions: on average; a search ends at the goal."""

    solved: float
    expansions: float

    @property
    def at(self) -> str:
        return f"{self.expansions:.1f} expansions"


def share(cases: Sequence[Case], rollouts: int, noise: Noise, knobs: Knobs, run: Run = plan) -> Share:
    found = [run(c.problem, rollouts, Model(c.problem, noise, c.distances), knobs) for c in cases]
    return Share(sum(f.right for f in found) / len(found), sum(f.expansions for f in found) / len(found))


def picked(cases: Sequence[Case], noise: Noise, grid: Sequence[Knobs]) -> Knobs:
    """The knobs that solve most of these, the first among equals."""
    return max(grid, key=lambda knobs: share(cases, PICKED_AT, noise, knobs).solved)


def picked_each(cases: Sequence[Case], noise: Noise, knobs: Knobs) -> Knobs:
    """The rollouts of one plan with which most of these are carried out."""
    grid = [replace(knobs, each=each) for each in EACH]
    return max(grid, key=lambda knobs: share(cases, ROLLOUTS[-1], noise, knobs, carry_out).solved)


def matched(cases: Sequence[Case], expansions: float, knobs: Knobs) -> Share:
    """The control with the fewest rollouts that bring it to as many expansions, on average."""
    rollouts = int(expansions)
    while (found := share(cases, rollouts, NONE, knobs)).expansions < expansions and rollouts < ROLLOUTS[-1]:
        rollouts += 1
    return found


def measure(data: Path) -> Report:
    notes = [
        "Solved: the plan, run by a checker that shares no code with the task, reaches the goal. A goal that is met in "
        "the predicted world only is a failure.",
        "The error rates are assumed, and not those of any model.",
        f"Every legal move of a node is a child; plans of at most {LIMIT} steps; a rollout is one expansion. A value "
        "is the good steps less the bad ones of its path, as judged, and the share of the goals that hold. Knobs are "
        f"picked at {PICKED_AT} rollouts on the problems of even number, and all is measured on the others.",
        "Carried out: the plan is acted on in the true world, and made again from what is observed where that is not "
        "what was predicted, until the goal or until all plans together have used up the rollouts. What was observed "
        "is known from then on.",
        "Controls: the same search in the true world, its values the share of goals alone. With the table a state that "
        "was met before is not searched again: most problems have 125 states, so 100 expansions see nearly all.",
    ]
    about = f"planning in a world that is predicted and judged: {USUAL}"
    return Report("rap_blocksworld", about, list(rows(problems(data))), notes)


def rows(given: Sequence[Problem]) -> Iterator[Row]:
    worlds = Distances()
    cases = [Case(problem, worlds.of(problem.start)) for problem in given]
    half, rest = cases[::2], cases[1::2]
    knobs = picked_each(half, USUAL, picked(half, USUAL, GRID))
    control = picked(half, NONE, CONTROLS)
    yield beside("picked for the search: solved there", share(half, PICKED_AT, USUAL, knobs).solved, at=str(knobs))
    done = share(half, ROLLOUTS[-1], USUAL, knobs, carry_out)
    yield beside("picked for carrying out: solved there", done.solved, at=f"at most {knobs.each} rollouts a plan")
    yield beside("picked for the control: solved there", share(half, PICKED_AT, NONE, control).solved, at=str(control))
    for rollouts in ROLLOUTS:
        name = f"{rollouts} rollouts"
        found = share(rest, rollouts, USUAL, knobs)
        figure = f"{name}: solved"
        usual = len(given) == PROBLEMS
        yield (at_least if usual else _beside)(figure, found.solved, REACH[rollouts], at=found.at)
        done = share(rest, rollouts, USUAL, knobs, carry_out)
        yield beside(f"{name}: carried out", done.solved, at=done.at)
        equal = matched(rest, found.expansions, control)
        yield beside(f"{name}: control, as many expansions", equal.solved, at=equal.at)
        whole = share(rest, rollouts, NONE, control)
        yield beside(f"{name}: control, as many rollouts", whole.solved, at=whole.at)
        plain = share(rest, rollouts, NONE, replace(control, table=False))
        yield beside(f"{name}: control, no table", plain.solved, at=plain.at)
    for noise, rollouts in product(OTHERS, ROLLOUTS):
        found = share(rest, rollouts, noise, knobs)
        done = share(rest, rollouts, noise, knobs, carry_out)
        name = f"{rollouts} rollouts, errors {noise.world:.0%} and {noise.judge:.0%}"
        yield beside(f"{name}: solved", found.solved, at=found.at)
        yield beside(f"{name}: carried out", done.solved, at=done.at)


def _beside(figure: str, measured: float, reach: float, at: str) -> Row:
    """What has to be reached was counted on all problems, and these are others."""
    return beside(figure, measured, at=at)
