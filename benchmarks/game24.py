"""A Game of 24, searched with the task's own steps and checks in code; a policy stands in for the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from thoughtree.search import Outcome, Propose, Proposed, Rate, Rated, Rating, Request, Search, Tree, run
from thoughtree.search.controller import Controller
from thoughtree.tasks import Game24, Game24State, stepping

from .checker import proves
from .data import Puzzle


class Policy(Protocol):
    """What a model would be asked. Moves may be text or the task's own; one value a state."""

    def propose(self, state: Game24State) -> Sequence[Any]: ...

    def rate(self, state: Game24State) -> float: ...


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Sums over puzzles. false: answers claimed as solved that the independent checker refuses."""

    puzzles: int = 0
    solved: int = 0
    false: int = 0
    proposals: int = 0  # calls
    ratings: int = 0  # calls; one for each state rated unless the rating takes several together

    def __add__(self, other: Outcomes) -> Outcomes:
        return Outcomes(
            self.puzzles + other.puzzles,
            self.solved + other.solved,
            self.false + other.false,
            self.proposals + other.proposals,
            self.ratings + other.ratings,
        )

    @property
    def share(self) -> float:
        return self.solved / self.puzzles

    @property
    def calls(self) -> float:
        """Calls of both kinds, a puzzle."""
        return (self.proposals + self.ratings) / self.puzzles

    @property
    def expansions(self) -> float:
        """Nodes expanded, a puzzle."""
        return self.proposals / self.puzzles


def search(
    puzzle: Puzzle,
    controller: Controller,
    policy: Policy,
    *,
    task: Game24 | None = None,
    rating: Rating | None = None,
    seed: int = 0,
    hears: Callable[[Request, Tree[Game24State, Any]], None] | None = None,
) -> Outcomes:
    """Search one puzzle, one call in flight. Calls are those that the search itself has counted.

    hears: of each request, before it is answered.
    """
    task = task or Game24()
    root = task.initial({"numbers": puzzle.numbers})
    searching: Search[Game24State, Any] = Search(
        controller,
        root,
        parse=partial(stepping.parse, task),
        step=partial(stepping.step, task),
        rating=rating,
        root_key=task.key(root),
        seed=seed,
    )
    result = run(searching, partial(_answer, policy, hears))
    false = 0
    if result.solved:
        assert result.best.state is not None
        false = not proves(task.answer(result.best.state)["answer"], puzzle.numbers)
    spent = {role: usage.calls for role, usage in result.spent_by.items()}
    return Outcomes(1, int(result.solved), int(false), spent.get("propose", 0), spent.get("rate", 0))


def _answer(
    policy: Policy,
    hears: Callable[[Request, Tree[Game24State, Any]], None] | None,
    request: Request,
    tree: Tree[Game24State, Any],
) -> Outcome:
    if hears is not None:
        hears(request, tree)
    match request:
        case Propose():
            return Proposed(tuple(policy.propose(_state(tree, request.node))))
        case Rate():
            return Rated(tuple(policy.rate(_state(tree, id)) for id in request.nodes))
    raise AssertionError(f"a search of the Game of 24 needs no {request!r}")


def _state(tree: Tree[Game24State, Any], id: int) -> Game24State:
    state = tree[id].state
    assert state is not None
    return state


def search_all(
    puzzles: Iterable[Puzzle],
    controller: Controller,
    policy: Callable[[Puzzle], Policy],
    *,
    task: Game24 | None = None,
    rating: Rating | None = None,
    seed: int = 0,
) -> Outcomes:
    """The sums over the puzzles, each with a policy of its own."""
    total = Outcomes()
    for puzzle in puzzles:
        total += search(puzzle, controller, policy(puzzle), task=task, rating=rating, seed=seed)
    return total
