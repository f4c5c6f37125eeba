"""A tree without end and without meaning, for timing: all states differ, and answers cost next to nothing."""

from __future__ import annotations

from typing import Any

from thoughtree.search import Beam, Budget, Propose, Proposed, Rate, Rated, Request, Search, Stepped

RATINGS = tuple(Rated((value,)) for value in (20.0, 1.0, 0.001))
MIX, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1

World = Search[int, int]


def step(state: int, action: int) -> Stepped:
    """Mixes the action into the state; the state is its own key, so that duplicates are looked for."""
    mixed = ((state + action + 1) * MIX) & MASK
    mixed ^= mixed >> 29
    return Stepped(mixed, key=mixed)


def beam(width: int, branching: int, depth: int, budget: Budget | None = None) -> World:
    """A fresh beam search over the tree; each child is rated in a request of its own."""
    return Search(Beam(width=width, branching=branching, max_depth=depth), 0, step=step, budget=budget)


class Answers:
    """What every request is answered with: `branching` actions, and ratings that differ."""

    def __init__(self, branching: int) -> None:
        self.proposed = Proposed(tuple(range(branching)))

    def of(self, request: Request) -> Proposed | Rated:
        if type(request) is Propose:
            return self.proposed
        assert type(request) is Rate
        return RATINGS[request.nodes[0] * 7919 % 3]


def play(search: World, answers: Answers) -> Any:
    """Ask and tell to the end, without any driver."""
    answer, tell = answers.of, search.tell
    while asks := search.ask():
        for ask in asks:
            tell(ask.id, answer(ask.request))
    return search
