"""Searches without a model, to tell skill from luck: legal moves, or a policy's, in random order or all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from thoughtree.search import DFS, Beam, Rating
from thoughtree.tasks import Game24, Game24State, Move

from .data import Puzzle
from .game24 import Outcomes, Policy, search, search_all
from .stub_policy import LIKELY, successors

RANDOM = DFS(branching=None, threshold=0.0, ties="seed")  # of equal values the seed takes one
FREE = Rating(together="siblings")


class AllMoves:
    """Proposes every legal move, and thinks the same of every state."""

    def propose(self, state: Game24State) -> Sequence[Move]:
        return [move for move, _, _ in successors(state.numbers)]

    def rate(self, state: Game24State) -> float:
        return LIKELY


class Indifferent:
    """Proposes as another policy does, and thinks the same of every state."""

    def __init__(self, policy: Policy) -> None:
        self.propose = policy.propose

    def rate(self, state: Game24State) -> float:
        return LIKELY


class Faultless:
    """Proposes one move, to a state from which 24 can be reached, as long as there is one."""

    def propose(self, state: Game24State) -> Sequence[Move]:
        return [move for move, _, solvable in successors(state.numbers) if solvable][:1]

    def rate(self, state: Game24State) -> float:
        return LIKELY


def exhaustive(
    puzzles: Iterable[Puzzle], policy: Callable[[Puzzle], Policy] | None = None, task: Game24 | None = None
) -> Outcomes:
    """Every state, level by level: what the proposer can reach at all, and what that costs."""
    everything = Beam(width=None, branching=None, stop="level")
    return search_all(puzzles, everything, policy or (lambda p: AllMoves()), task=task, rating=FREE)


def perfect_proposer(puzzles: Iterable[Puzzle]) -> Outcomes:
    return search_all(puzzles, DFS(branching=None), lambda p: Faultless(), rating=FREE)


def random_order(
    puzzles: Iterable[Puzzle],
    policy: Callable[[Puzzle], Policy] | None = None,
    *,
    expansions: Callable[[Puzzle], int] | int | None = None,
    task: Game24 | None = None,
    seeds: Iterable[int] = range(5),
) -> Outcomes:
    """Depth-first in random order, summed over the seeds. expansions: the most, for all or by puzzle."""
    total, policy = Outcomes(), policy or (lambda p: AllMoves())
    puzzles = list(puzzles)
    for seed in seeds:
        for puzzle in puzzles:
            most = expansions(puzzle) if callable(expansions) else expansions
            controller, asked = replace(RANDOM, expansions=most), Indifferent(policy(puzzle))
            total += search(puzzle, controller, asked, task=task, rating=FREE, seed=seed)
    return total
