"""The tuner with the search core in place of whole programs: a tenth of the time, the same scores and paid calls.

That they are the same is measured, not believed: `disagreements`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dspy

from thoughtree.modules.plan import Plan
from thoughtree.modules.recording import Recording
from thoughtree.optimize import SearchTuner
from thoughtree.optimize.outcome import Outcome
from thoughtree.optimize.race import Result
from thoughtree.optimize.space import settled
from thoughtree.optimize.trying import Tried, Trier, recorded
from thoughtree.search import Propose, Rate, Request, Tree
from thoughtree.tasks import Game24State

from .data import Puzzle
from .tuning_task import Problem, program


class Paid:
    """Requests by what their prompts show: those that were made before cost nothing."""

    def __init__(self) -> None:
        self.calls = 0  # of which each request was paid once
        self._made: set[tuple[Any, ...]] = set()

    def hears(self, puzzle: Puzzle, plan: Plan) -> Callable[[Request, Tree[Game24State, Any]], None]:
        rated = plan.rate, plan.samples > 1  # several samples are asked for at another temperature

        def heard(request: Request, tree: Tree[Game24State, Any]) -> None:
            match request:
                case Propose(node=node, n=n, sample=sample):
                    self._pay((puzzle.text, n, sample, _path(tree, node)))
                case Rate(nodes=nodes, sample=sample):
                    self._pay((puzzle.text, rated, sample, *(_path(tree, node) for node in nodes)))
                case _:
                    raise AssertionError(f"a search of the Game of 24 needs no {request!r}")

        return heard

    def _pay(self, request: tuple[Any, ...]) -> None:
        if request not in self._made:
            self._made.add(request)
            self.calls += 1


def _path(tree: Tree[Game24State, Any], node: int) -> str:
    return "; ".join(str(step.action) for step in tree.path(tree[node])[1:])


class CoreTrier(Trier):
    """problem, paid: set once the tuner has made it."""

    problem: Problem
    paid: Paid

    def try_all(
        self,
        program: dspy.Module,
        ids: Sequence[int],
        holder: int | str,
        purse: Any,
        share: float,
        done: Callable[[int, Tried], None],
    ) -> None:
        searched: Any = program
        for id in ids:
            puzzle = self.problem.tuned_on[id]
            found = self.problem.policies.outcome(puzzle, searched, self.paid.hears(puzzle, searched.plan))
            score = float(found.solved)
            result = Result(score, float(found.proposals + found.ratings))
            done(id, Tried(result, Outcome(id, self.examples[id], score=score)))
        self._paid["calls"] = float(self.paid.calls)


def tuner_of(problem: Problem, metric: Any, **given: Any) -> SearchTuner:
    """A SearchTuner that runs this problem's examples by the core."""
    bound = type("BoundTrier", (CoreTrier,), {"problem": problem, "paid": Paid(), "__slots__": ()})
    made = SearchTuner(metric, share=False, num_threads=1, seed=problem.seed, **given)
    made.trier = bound
    return made


def disagreements(problem: Problem, settings: Sequence[Mapping[str, Any]], puzzles: Sequence[Puzzle]) -> int:
    """Searches, of these puzzles by these settings, in which a whole program solves, makes or pays something else."""
    paid, recording, found = Paid(), Recording.at(None), 0
    with dspy.context(lm=recorded(problem.model, recording)):
        for values, puzzle in itertools.product(settings, puzzles):
            searched: Any = settled(program(), values)
            before = paid.calls, recording.paid.calls
            core = problem.policies.outcome(puzzle, searched, paid.hears(puzzle, searched.plan))
            whole = searched(numbers=puzzle.text).search
            calls = sum(usage.calls for usage in whole.spent_by.values())
            told = int(whole.solved), calls, recording.paid.calls - before[1]
            found += (core.solved, core.proposals + core.ratings, paid.calls - before[0]) != told
    return found
