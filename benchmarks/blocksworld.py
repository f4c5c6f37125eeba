"""Blocksworld without a model: recorded plans run, and searched by a perfect guide, A*, and the count of goals left."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from thoughtree.search import (
    BestFirst,
    Illegal,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Request,
    Search,
    Tree,
    run,
)
from thoughtree.tasks import BlockMove, Blocksworld, BlocksworldState, stepping
from thoughtree.tasks.blocksworld_facts import parts

from .blocksworld_checker import reaches
from .data import lines
from .report import Report, Row, at_least, at_most, beside, exactly

PROBLEMS = 422  # of those that the requirements were counted on
ASTAR, GOAL_COUNT = 15.8, 20.5  # expansions, on average
TASK = Blocksworld()
# Every legal move, best first over all depths, deepest first among equals; no ceiling that matters.
CONTROLLER = BestFirst(branching=None, keep=None, max_depth=1000, expansions=100_000)
RATING = Rating(
    together="siblings", cut=None, low=-1000.0, high=0.0
)  # by code, so all children of a node in one request
Estimate = Callable[[BlocksworldState], float]  # of the steps that are left


@dataclass(frozen=True, slots=True)
class Problem:
    """start: with its goal. plan: recorded, as PDDL. optimal: its proved length."""

    start: BlocksworldState
    plan: tuple[str, ...]
    optimal: int
    breadth_first: int  # expansions, as recorded


def problems(data: Path) -> list[Problem]:
    return [
        Problem(
            TASK.initial({"initial": row["init"], "goal": row["goal"]}),
            tuple(f"({action})" for action in row["plan"]),
            row["optimal_length"],
            row["bfs_expansions"],
        )
        for row in lines(data / "sets" / "blocksworld.jsonl")
    ]


# -- estimates


def on_facts_left(state: BlocksworldState) -> int:
    """A lower bound: each `on` fact that is missing takes two moves, or one if its block is held."""
    missing = [parts(fact)[1] for fact in state.goal - state.facts if fact.startswith("on(")]
    return 2 * len(missing) - any(f"holding({block})" in state.facts for block in missing)


def goals_left(state: BlocksworldState) -> int:
    return len(state.goal - state.facts)


class Distances:
    """The true number of steps to the goal, from every state of a problem. Moves can be undone, so one walk does."""

    def __init__(self) -> None:
        self.graphs: dict[frozenset[str], dict[frozenset[str], list[frozenset[str]]]] = {}

    def of(self, start: BlocksworldState) -> dict[frozenset[str], int]:
        graph = self._graph(start)
        goals = [facts for facts in graph if start.goal <= facts]
        found, queue = dict.fromkeys(goals, 0), deque(goals)
        while queue:
            facts = queue.popleft()
            for other in graph[facts]:
                if other not in found:
                    found[other] = found[facts] + 1
                    queue.append(other)
        return found

    def _graph(self, start: BlocksworldState) -> dict[frozenset[str], list[frozenset[str]]]:
        for graph in self.graphs.values():
            if start.facts in graph:
                return graph
        graph, queue = {start.facts: list[frozenset[str]]()}, deque([start])
        while queue:
            state = queue.popleft()
            for new in successors(state):
                graph[state.facts].append(new.facts)
                if new.facts not in graph:
                    graph[new.facts] = []
                    queue.append(new)
        self.graphs[start.facts] = graph
        return graph


def successors(state: BlocksworldState) -> list[BlocksworldState]:
    found = [TASK.apply(state, move) for move in TASK.moves(state)]
    return [new for new in found if not isinstance(new, Illegal)]


# -- searches


@dataclass(frozen=True, slots=True)
class Found:
    """length: of the plan. right: the independent checker runs it to the goal."""

    expansions: int
    length: int
    right: bool


def search(problem: Problem, estimate: Estimate, cost: float = 1.0) -> Found:
    """Best first by cost x steps so far + estimate: A* at cost 1, greedy at 0.

    A search ends when a goal is met, and does not wait until it is its best node. A plan's last step puts the block in
    the hand where the last missing `on` fact wants it, which leaves steps + estimate as they were: so A*'s plan is the
    shortest all the same, for goals of `on` facts.
    """
    start = problem.start

    def answer(request: Request, tree: Tree[BlocksworldState, BlockMove]) -> Outcome:
        match request:
            case Propose(id):
                return Proposed(tuple(TASK.moves(_state(tree, id))))
            case Rate(ids):
                return Rated(tuple(-(cost * tree[id].depth + estimate(_state(tree, id))) for id in ids))
        raise AssertionError(f"this search makes no {request!r}")

    searching: Search[BlocksworldState, Any] = Search(
        CONTROLLER, start, step=partial(stepping.step, TASK), rating=RATING, root_key=TASK.key(start)
    )
    result = run(searching, answer)
    state = result.best.state if result.solved else start
    assert state is not None
    moves = [node.action for node in result.tree.path(result.best) if isinstance(node.action, BlockMove)]
    right = result.solved and reaches(start.facts, start.goal, [move.pddl for move in moves])
    return Found(result.spent_by["propose"].calls, len(state.plan), right)


def _state(tree: Tree[BlocksworldState, Any], id: int) -> BlocksworldState:
    state = tree[id].state
    assert state is not None
    return state


@dataclass(frozen=True, slots=True)
class Outcomes:
    expansions: float  # on average
    optimal: int
    right: int


def search_all(given: Sequence[Problem], estimate: Callable[[Problem], Estimate], cost: float = 1.0) -> Outcomes:
    found = [search(problem, estimate(problem), cost) for problem in given]
    optimal = sum(f.right and f.length == problem.optimal for f, problem in zip(found, given, strict=True))
    return Outcomes(sum(f.expansions for f in found) / len(found), optimal, sum(f.right for f in found))


def illegal_steps(problem: Problem) -> int:
    """How many steps of the recorded plan our task forbids, or lets end elsewhere than at the goal."""
    state, wrong = problem.start, 0
    for text in problem.plan:
        move = TASK.parse(text, state)
        new = move if isinstance(move, Illegal) else TASK.apply(state, move)
        if isinstance(new, Illegal) or TASK.rules(new):
            return wrong + 1
        state = new
    return wrong + (not TASK.is_goal(state))


def measure(data: Path) -> Report:
    notes = [
        "Expansions are nodes whose moves were listed, on average over the problems.",
        "A*: best first by steps so far + 2 x missing `on` facts (less 1 if the block of one is held).",
        "Every plan that a search found was run by a checker that shares no code with the task.",
    ]
    return Report("blocksworld", "planning in code, by thoughtree's best-first search", list(rows(data)), notes)


def rows(data: Path) -> Iterator[Row]:
    given = problems(data)
    n, usual = len(given), len(given) == PROBLEMS
    yield exactly("illegal steps of recorded plans, or plans that miss the goal", sum(map(illegal_steps, given)), 0)
    yield exactly(
        "recorded plans that the independent checker refuses",
        sum(not reaches(p.start.facts, p.start.goal, p.plan) for p in given),
        0,
    )
    distances = Distances()
    perfect = [search(p, partial(_true, distances.of(p.start)), cost=0.0) for p in given]
    as_many = sum(f.right and f.expansions == f.length == p.optimal for f, p in zip(perfect, given, strict=True))
    yield exactly("a perfect guide: expansions equal the optimal length", as_many, n, f"of {n}")
    astar = search_all(given, lambda p: on_facts_left)
    yield at_most("A*: expansions", astar.expansions, ASTAR) if usual else beside("A*: expansions", astar.expansions)
    yield exactly("A*: optimal plans", astar.optimal, n, f"of {n}")
    greedy = search_all(given, lambda p: goals_left, cost=0.0)
    figure = "best first by goals left: expansions"
    yield at_most(figure, greedy.expansions, GOAL_COUNT) if usual else beside(figure, greedy.expansions)
    yield exactly("best first by goals left: plans", greedy.right, n, f"of {n}")
    yield beside("best first by goals left: optimal plans", greedy.optimal, f"of {n}")
    yield from controls(given)


def controls(given: Sequence[Problem]) -> Iterator[Row]:
    n = len(given)
    breadth = search_all(given, lambda p: lambda state: 0.0)
    at = f"recorded: {sum(p.breadth_first for p in given) / n:.1f}"
    yield beside("control, breadth first: expansions", breadth.expansions, at=at)
    yield at_least("control, breadth first: optimal plans", breadth.optimal, n, f"of {n}")
    mean = sum(p.optimal for p in given) / n
    yield beside("control, optimal plans: steps", mean)


def _true(distances: dict[frozenset[str], int], state: BlocksworldState) -> float:
    return float(distances[state.facts])
