"""The time and memory of Monte-Carlo tree search itself, and what rollouts in flight cost in time and in quality."""

from __future__ import annotations

import heapq
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import sqrt
from pathlib import Path
from random import Random
from statistics import mean, stdev
from typing import Any

from thoughtree.search import (
    MCTS,
    Ask,
    NodeStatus,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Reply,
    Request,
    Search,
    Stepped,
    Tree,
    drive,
)

from .endless import MASK, MIX, Answers, World, play, step
from .report import Report, Row, at_least, at_most, beside, exactly
from .timing import MICROSECONDS, garbage_collector, least

FEW, MANY = 1_000, 50_000  # rollouts
OVERHEAD, GROWTH, MEMORY = 80.0, 1.5, 500.0  # microseconds a rollout, ratio, bytes a node
IN_FLIGHT = (8, 25)
CALL = 0.050  # seconds
OVER_IDEAL = 1.15
ROLLOUTS = 200  # of a timed search with rollouts in flight
POINTS = 2.0  # that the solve rate may fall
PUZZLES, GOAL_ROLLOUTS, GOAL_DEPTH, MOVES = 1_000, 200, 4, 8
NOISE = 0.75  # its share in a value
UNIT = Rating(join="mean", unread=0.0, cut=None, low=0.0, high=1.0)
SCALED = Rating(join="mean", unread=None, cut=None, low=0.0, high=20.0)


def measure(data: Path | None = None) -> Report:
    return Report(
        "mcts", "Monte-Carlo tree search: its own time and memory, and rollouts in flight", list(rows()), NOTES
    )


NOTES = [
    "Overhead: the least processor time of 7 repeats (2 for 50,000 rollouts) of a whole search, branching 2, one "
    "rating a child.",
    "Memory: all that a running search of 50,000 rollouts holds, the world's states (36 bytes each) included.",
    f"In flight: {ROLLOUTS} rollouts, {1000 * CALL:g} ms a call, as many calls at once. Ideal: a greedy schedule of as "
    "many rollouts, each a proposal and then two ratings, that start when a leaf and a place are free.",
    f"Solve rate: {PUZZLES:,} trees of {MOVES} moves and depth {GOAL_DEPTH}, each with one goal that noisy values "
    f"point to; {GOAL_ROLLOUTS} rollouts; replies in random order. All searches get the same trees; the standard error "
    "is that of the difference, tree by tree.",
]


def rows() -> Iterator[Row]:
    with garbage_collector(on=False):
        few = MICROSECONDS * least(partial(seconds_per_rollout, FEW), 7)
        yield at_most(f"overhead a rollout, {FEW:,} rollouts, garbage collector off", few, OVERHEAD, "us")
        many = MICROSECONDS * least(partial(seconds_per_rollout, MANY), 2)
        yield beside(f"overhead a rollout, {MANY:,} rollouts, garbage collector off", many, "us")
    yield at_most(f"{MANY:,} rollouts over {FEW:,}", many / few, GROWTH, "times")
    yield at_most("memory a node", bytes_per_node(MANY), MEMORY, "bytes")
    for most in IN_FLIGHT:
        yield from in_flight(most)
    yield from solve_rates()


# ---- time and memory of the search alone


def searching(rollouts: int, at_once: int = 1) -> World:
    controller = MCTS(rollouts=rollouts, branching=2, max_depth=10**6, at_once=at_once)
    return Search(controller, 0, step=step, rating=SCALED)


def seconds_per_rollout(rollouts: int) -> float:
    answers = Answers(2)
    started = time.process_time()  # one thread that never waits: other work on the machine is not counted
    done = play(searching(rollouts), answers)
    seconds = time.process_time() - started
    assert len(done.tree.rollouts) == rollouts
    return seconds / rollouts


def bytes_per_node(rollouts: int) -> float:
    """What a search holds while it still runs; every rating is a number of its own, as if read from a reply."""
    answers, rng = Answers(2), Random(0)
    tracemalloc.start()
    try:
        search, told = searching(rollouts + 1), 0
        while len(search.tree) <= 2 * rollouts:
            for ask in search.ask():
                rate = type(ask.request) is Rate
                search.tell(ask.id, Rated((rng.random() * 20.0,)) if rate else answers.of(ask.request))
                told += 1
        return tracemalloc.get_traced_memory()[0] / len(search.tree)
    finally:
        tracemalloc.stop()


# ---- rollouts in flight, with slow calls


@dataclass(frozen=True, slots=True)
class Flight:
    seconds: float
    ideal: float
    wasted: int


def fly(most: int) -> Flight:
    """One search in threads, each call of the same length; what was asked, against what the tree came to."""
    answers, asked = Answers(2), Counter[Request]()

    def prepare(ask: Ask, tree: Tree[int, int]) -> Callable[[], Reply]:
        asked[ask.request] += 1
        reply = Reply(answers.of(ask.request))

        def call() -> Reply:
            time.sleep(CALL)
            return reply

        return call

    started = time.perf_counter()
    result = drive(searching(ROLLOUTS, at_once=most), prepare, concurrency=most)
    return Flight(time.perf_counter() - started, ideal(most), wasted(asked, result.tree, result.spent.calls))


def wasted(asked: Counter[Request], tree: Tree[Any, Any], told: int) -> int:
    """Requests that were asked twice, never told, or told and not applied."""
    applied = sum(bool(node.children) for node in tree) + sum(node.ratings for node in tree)
    return (asked.total() - len(asked)) + (asked.total() - told) + (told - applied)


def ideal(most: int) -> float:
    """Seconds that as many rollouts take if nothing but calls does, and each is selected as well as can be.

    A rollout is a proposal, then the ratings of its two children, side by side if there are places. It starts when a
    leaf is there to expand: the root at first, and two more whenever a rollout has ended. All calls are of one length,
    so a schedule is a row of rounds of at most `most` calls; each call goes into the first round with a place for it.
    """
    taken = Counter[int]()

    def end(earliest: int) -> int:
        while taken[earliest] >= most:
            earliest += 1
        taken[earliest] += 1
        return earliest + 1

    leaves, last = [0], 0
    for _ in range(ROLLOUTS):
        proposed = end(heapq.heappop(leaves))
        rated = max(end(proposed), end(proposed))
        last = max(last, rated)
        heapq.heappush(leaves, rated)
        heapq.heappush(leaves, rated)
    return CALL * last


def in_flight(most: int) -> Iterator[Row]:
    found = fly(most)
    yield exactly(f"{most} in flight: requests wasted", found.wasted, 0)
    at = f"ideal {found.ideal:.2f} s"
    yield at_most(f"{most} in flight: wall time over the ideal", found.seconds / found.ideal, OVER_IDEAL, at=at)


# ---- what rollouts in flight do to the quality


@dataclass(frozen=True, slots=True)
class Spot:
    """mark: of the path to it, mixed. right: moves up to the first that leads away from the goal."""

    mark: int
    depth: int = 0
    right: int = 0


def draw(*numbers: int) -> float:
    """0 to 1, evenly, from a mix of whole numbers."""
    mixed = 0
    for number in numbers:
        mixed = ((mixed + number + 1) * MIX) & MASK
        mixed ^= mixed >> 29
    return mixed / (MASK + 1)


def move(puzzle: int, spot: Spot, action: int) -> Stepped:
    """The goal is one path among MOVES^GOAL_DEPTH, that `puzzle` draws."""
    right = spot.right == spot.depth and action == int(MOVES * draw(puzzle, spot.depth))
    new = Spot(spot.mark * MOVES + action + 1, spot.depth + 1, spot.right + right)
    solved = new.right == GOAL_DEPTH
    return Stepped(new, new.mark, solved=solved, terminal=new.depth == GOAL_DEPTH)


def answer(puzzle: int, request: Request, tree: Tree[Spot, int]) -> Outcome:
    """A rater who sees how much of the path is right, under much noise."""
    if type(request) is Propose:
        return Proposed(tuple(range(MOVES)))
    assert type(request) is Rate
    spot = tree[request.nodes[0]].state
    assert spot is not None
    return Rated(((1 - NOISE) * spot.right / GOAL_DEPTH + NOISE * draw(puzzle, 1000 + spot.mark),))


def solved(puzzle: int, at_once: int) -> bool:
    """Replies come in random order, each after all of those that were asked a good while before it."""
    controller = MCTS(rollouts=GOAL_ROLLOUTS, branching=MOVES, max_depth=GOAL_DEPTH, at_once=at_once)
    search: Search[Spot, int] = Search(controller, Spot(0), step=partial(move, puzzle), rating=UNIT, seed=puzzle)
    rng, asks = Random(puzzle), search.ask()
    while asks:
        ask = asks.pop(rng.randrange(min(at_once, len(asks))))
        search.tell(ask.id, answer(puzzle, ask.request, search.tree))
        asks += search.ask()
        if search.done:
            break
    return search.best().status is NodeStatus.SOLVED


def solve_rates() -> Iterator[Row]:
    alone = [solved(puzzle, 1) for puzzle in range(PUZZLES)]
    rate = 100 * mean(alone)
    yield beside("solved, one rollout at a time", rate, "%")
    for most in IN_FLIGHT:
        found = [solved(puzzle, most) for puzzle in range(PUZZLES)]
        error = 100 * stdev(a - b for a, b in zip(found, alone, strict=True)) / sqrt(PUZZLES)
        at = f"standard error {error:.1f}"
        yield at_least(f"solved, {most} in flight", 100 * mean(found), rate - POINTS, "%", at=at)
