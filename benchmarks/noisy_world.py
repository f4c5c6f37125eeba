"""A model of Blocksworld that predicts and judges, and errs at declared rates."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from thoughtree.search import Illegal, Stepped
from thoughtree.tasks import BlockMove, BlocksworldState

from .blocksworld import TASK, Problem


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


NONE = Noise(0.0, 0.0)


class Model:
    """A world model and a judge, whose errors hang on the problem and on what they are asked, and on nothing else."""

    def __init__(self, problem: Problem, noise: Noise, distances: dict[frozenset[str], int]) -> None:
        self.problem, self.noise, self.distances = problem, noise, distances
        self.observed: Mapping[tuple[Any, str], BlocksworldState] = {}

    def knowing(self, observed: Mapping[tuple[Any, str], BlocksworldState]) -> Model:
        """This model, where it was seen where some moves lead."""
        found = Model(self.problem, self.noise, self.distances)
        found.observed = observed
        return found

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
        new = self.observed.get((TASK.key(state), TASK.show(move))) or TASK.apply(state, taken)
        if isinstance(new, Illegal):
            return new
        new = replace(new, plan=(*state.plan, TASK.show(move)))
        return Stepped(new, TASK.key(new), solved=TASK.is_goal(new))

    def good(self, before: BlocksworldState, after: BlocksworldState) -> bool:
        """The judge's verdict: does this step come nearer to the goal?"""
        right = self.distances[after.facts] < self.distances[before.facts]
        wrong = self.draw("judge", sorted(before.facts), sorted(after.facts)) < self.noise.judge
        return right != wrong
