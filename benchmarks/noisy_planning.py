"""Monte-Carlo tree search over a predicted Blocksworld: a plan, and a plan that is carried out and made again."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from thoughtree.modules.replanning import Act, MakePlan, Replanning, World
from thoughtree.search import (
    MCTS,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Request,
    Search,
    SearchResult,
    Tree,
    run,
)
from thoughtree.tasks import BlockMove, BlocksworldEnvironment, BlocksworldState

from .blocksworld import TASK, Problem
from .blocksworld_checker import reaches
from .noisy_world import Model

# Values of a search come near to neither end of 0..1, so they are measured against each other.
RATING = Rating(join="mean", unread=None, cut=None, low=0.0, high=1.0, declared=False)
LIMIT = 12  # steps of a plan: the longest optimal one of all but two problems


@dataclass(frozen=True, slots=True)
class Knobs:
    """judged: the verdicts' weight in a value; the rest is the share of the goals that hold. table: states that were
    met before are not searched again. each: rollouts of one plan at most, where it is carried out.
    """

    judged: float
    exploration: float
    returns: str = "mean"
    table: bool = True
    each: int = 100

    def __str__(self) -> str:
        return f"weight of verdicts {self.judged:g}, exploration {self.exploration:g}, {self.returns} of returns"


@dataclass(frozen=True, slots=True)
class Planned:
    """right: an independent checker runs the moves to the goal. expansions: nodes whose moves were listed."""

    right: bool
    expansions: int


def search(start: BlocksworldState, rollouts: int, model: Model, knobs: Knobs) -> SearchResult[BlocksworldState, Any]:
    def answer(request: Request, tree: Tree[BlocksworldState, BlockMove]) -> Outcome:
        match request:
            case Propose(id):
                return Proposed(tuple(TASK.moves(_state(tree, id))))
            case Rate(ids):
                return Rated(tuple(value(tree, id) for id in ids))
        raise AssertionError(request)

    def value(tree: Tree[BlocksworldState, BlockMove], id: int) -> float:
        """The steps of the path that are judged good less those judged bad, and the goals that hold."""
        states = [node.state for node in tree.path(tree[id])]
        share = TASK.goal_share(_state(tree, id))
        if not knobs.judged:
            return share
        good = sum(model.good(a, b) for a, b in pairwise(states) if a is not None and b is not None)
        steps = len(states) - 1
        return knobs.judged * (0.5 + 0.5 * (2 * good - steps) / LIMIT) + (1 - knobs.judged) * share

    controller: Any = MCTS(
        rollouts=rollouts,
        branching=None,
        max_depth=LIMIT,
        exploration=knobs.exploration,
        returns=knobs.returns,  # type: ignore[arg-type]
        dedupe=knobs.table,
    )
    searching = Search(controller, start, step=model.step, rating=RATING, root_key=TASK.key(start))
    result = run(searching, answer)
    assert not result.errors, result.errors  # of this world's own code
    return result


def plan(problem: Problem, rollouts: int, model: Model, knobs: Knobs) -> Planned:
    """One search, whose plan is taken as it is."""
    result = search(problem.start, rollouts, model, knobs)
    moves = [n.action.pddl for n in result.tree.path(result.best) if isinstance(n.action, BlockMove)]
    right = result.solved and reaches(problem.start.facts, problem.start.goal, moves)
    return Planned(right, result.spent_by["propose"].calls)


def carry_out(problem: Problem, rollouts: int, model: Model, knobs: Knobs) -> Planned:
    """As `execute` does it: act, compare with the prediction, plan again from what was observed where it differs.

    All plans together make at most `rollouts` expansions. The best that a plan came to is acted on, whether or not it
    reaches the goal.
    """
    program = SimpleNamespace(task=TASK, plan=SimpleNamespace(seed=0))
    running = Replanning(program, program.task, {}, max_steps=1000, replans=rollouts, deterministic=True)
    world, left = World.of(BlocksworldEnvironment()), rollouts
    routine, told = running.routine(), None
    while True:
        try:
            asked = routine.send(told)
        except StopIteration:
            break
        if isinstance(asked, Act):
            told = world.act(asked)
        elif isinstance(asked, MakePlan):
            if not left:
                break
            start = BlocksworldState(running.state.facts, problem.start.goal)
            result = search(start, min(left, knobs.each), model.knowing(asked.config["observed"]), knobs)
            left -= result.spent_by["propose"].calls
            told = SimpleNamespace(search=result)
        else:
            told = problem.start
    moves = [step.action for step in running.steps if step.observed is not None]
    pddl = [move.pddl for move in _read(problem.start, moves)]
    return Planned(reaches(problem.start.facts, problem.start.goal, pddl), rollouts - left)


def _read(state: BlocksworldState, texts: list[str]) -> list[BlockMove]:
    """The moves again; the facts of the start name all blocks."""
    found = [TASK.parse(text, state) for text in texts]
    return [move for move in found if isinstance(move, BlockMove)]


def _state(tree: Tree[BlocksworldState, BlockMove], id: int) -> BlocksworldState:
    state = tree[id].state
    assert state is not None
    return state
