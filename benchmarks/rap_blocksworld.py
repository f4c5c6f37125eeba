"""Blocksworld by Monte-Carlo tree search in a world that a noisy model predicts and judges, as in RAP.

The control is the same search in the true world, with no judge but the share of the goal's conditions that hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from thoughtree.search import (
    MCTS,
    Illegal,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Request,
    Search,
    Stepped,
    Tree,
    run,
)
from thoughtree.tasks import BlockMove, BlocksworldState

from .blocksworld import PROBLEMS, TASK, Distances, Problem, problems
from .blocksworld_checker import reaches
from .report import Report, Row, at_least, beside

ROLLOUTS = (10, 20, 100)
CONTROL = {10: 0.34, 20: 0.46, 100: 0.74}  # solved by code-only UCT with a goal-count reward
# Values of a search come near to neither end of 0..1, so they are measured against each other.
RATING = Rating(join="mean", unread=None, cut=None, low=0.0, high=1.0, declared=False)
LIMIT = 12  # steps: the longest of the optimal plans
EXPLORATION = 0.1
JUDGED = 0.7  # the verdicts' weight in a value


@dataclass(frozen=True, slots=True)
class Noise:
    """How often the model is wrong.

    world: predicts the state that another legal move leads to. judge: says of a good step that it is bad, or of a bad
    one that it is good, a step being good if it comes nearer to the goal.
    """

    world: float
    judge: float

    def __str__(self) -> str:
        return f"{self.world:.0%} of steps predicted wrong, {self.judge:.0%} judged wrong"


USUAL = Noise(world=0.02, judge=0.2)
OTHERS = (Noise(0.0, 0.3), Noise(0.05, 0.3))
NONE = Noise(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Planned:
    """right: the independent checker runs the plan to the goal. expansions: nodes whose moves were listed."""

    right: bool
    expansions: int


class Model:
    """A world model and a judge, whose errors hang on the problem and on what they are asked, and on nothing else."""

    def __init__(self, problem: Problem, noise: Noise, distances: dict[frozenset[str], int]) -> None:
        self.problem, self.noise, self.distances = problem, noise, distances

    def draw(self, *asked: object) -> float:
        """0 to 1, evenly."""
        text = repr((self.problem.plan, sorted(self.problem.start.goal), asked))
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big") / (1 << 48)

    def step(self, state: BlocksworldState, move: BlockMove) -> Stepped | Illegal:
        """Where the move leads as predicted; if wrongly, where another one leads: a state that the rules allow."""
        others = [other for other in TASK.moves(state) if other != move]
        facts = sorted(state.facts)
        taken = move
        if others and self.draw("world", facts, str(move)) < self.noise.world:
            taken = others[int(len(others) * self.draw("which", facts, str(move)))]
        new = TASK.apply(state, taken)
        if isinstance(new, Illegal):
            return new
        new = replace(new, plan=(*state.plan, TASK.show(move)))
        return Stepped(new, TASK.key(new), solved=TASK.is_goal(new))

    def good(self, before: BlocksworldState, after: BlocksworldState) -> bool:
        """The judge's verdict: does this step come nearer to the goal?"""
        right = self.distances[after.facts] < self.distances[before.facts]
        wrong = self.draw("judge", sorted(before.facts), sorted(after.facts)) < self.noise.judge
        return right != wrong


def plan(problem: Problem, rollouts: int, model: Model, judged: float) -> Planned:
    """One search. judged: the verdict's weight in a node's value; the rest is the share of goals that hold."""

    def answer(request: Request, tree: Tree[BlocksworldState, BlockMove]) -> Outcome:
        match request:
            case Propose(id):
                return Proposed(tuple(TASK.moves(state_of(tree, id))))
            case Rate(ids):
                return Rated(tuple(value(tree, id) for id in ids))
        raise AssertionError(request)

    def value(tree: Tree[BlocksworldState, BlockMove], id: int) -> float:
        """The steps of the path that are judged good less those judged bad, and the goals that hold."""
        states = [node.state for node in tree.path(tree[id])]
        share = TASK.goal_share(state_of(tree, id))
        if not judged:
            return share
        good = sum(model.good(a, b) for a, b in pairwise(states) if a is not None and b is not None)
        steps = len(states) - 1
        return judged * (0.5 + 0.5 * (2 * good - steps) / LIMIT) + (1 - judged) * share

    controller = MCTS(rollouts=rollouts, branching=None, max_depth=LIMIT, exploration=EXPLORATION)
    search = Search(controller, problem.start, step=model.step, rating=RATING, root_key=TASK.key(problem.start))
    result = run(search, answer)
    assert not result.errors, result.errors  # of this world's own code
    moves = [n.action for n in result.tree.path(result.best) if isinstance(n.action, BlockMove)]
    right = result.solved and reaches(problem.start.facts, problem.start.goal, [move.pddl for move in moves])
    return Planned(right, result.spent_by["propose"].calls)


def state_of(tree: Tree[BlocksworldState, BlockMove], id: int) -> BlocksworldState:
    state = tree[id].state
    assert state is not None
    return state


# ---- the report


def measure(data: Path) -> Report:
    notes = [
        "Solved: the plan, run by a checker that shares no code with the task, reaches the goal. A goal that is met in "
        "the predicted world only is a failure.",
        f"Every legal move of a node is a child; exploration {EXPLORATION}; plans of at most {LIMIT} steps. A rollout "
        "is one expansion. A value is the good steps less the bad ones of its path, as judged, "
        f"({JUDGED:g}) and the share of the goals that hold ({1 - JUDGED:g}).",
        "Control: the same search in the true world, its values the share of goals alone.",
    ]
    return Report(
        "rap_blocksworld", f"planning in a world that is predicted and judged: {USUAL}", list(rows(data)), notes
    )


def rows(data: Path) -> Iterator[Row]:
    given = problems(data)
    usual = len(given) == PROBLEMS
    worlds = Distances()
    distances = [worlds.of(problem.start) for problem in given]

    def solved(rollouts: int, noise: Noise, judged: float) -> tuple[float, str]:
        """The share, and the expansions on average."""
        found = [
            plan(problem, rollouts, Model(problem, noise, far), judged)
            for problem, far in zip(given, distances, strict=True)
        ]
        expansions = sum(each.expansions for each in found) / len(found)
        return sum(each.right for each in found) / len(found), f"{expansions:.1f} expansions"

    for rollouts in ROLLOUTS:
        share, at = solved(rollouts, USUAL, JUDGED)
        figure = f"{rollouts} rollouts: solved"
        yield at_least(figure, share, CONTROL[rollouts], at=at) if usual else beside(figure, share, at=at)
        share, at = solved(rollouts, NONE, 0.0)
        yield beside(f"{rollouts} rollouts: control", share, at=at)
    for noise in OTHERS:
        for rollouts in ROLLOUTS:
            share, at = solved(rollouts, noise, JUDGED)
            yield beside(f"{rollouts} rollouts, errors {noise.world:.0%} and {noise.judge:.0%}: solved", share, at=at)
