"""Several routines at once: shared requests, waiting, and nothing applied twice."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import pytest

from thoughtree.search import (
    Answer,
    Answered,
    Ask,
    Budget,
    Ended,
    Failed,
    Node,
    Propose,
    Proposed,
    Rate,
    Rated,
    Rating,
    Reflect,
    Reflected,
    Reply,
    Request,
    Routine,
    Search,
    SearchStatus,
    Step,
    Stepped,
    Tree,
    adrive,
    drive,
    expand,
    run,
)
from worlds import Digits, Letters, play, shot


@dataclass(frozen=True)
class Climbers:
    """Each climber walks down from the root by the best child; all may meet on their way."""

    count: int = 4
    max_depth: int = 3
    branching: int = 2
    dedupe: bool = True
    stop: str = "level"
    must_verify: bool = False

    def routines(self, tree: Tree[Any, Any], rating: Rating, rng: random.Random) -> Iterator[Routine]:
        for _ in range(self.count):
            yield self.climb(tree, rating)

    def climb(self, tree: Tree[Any, Any], rating: Rating) -> Routine:
        node = tree.root
        while node.depth < self.max_depth:
            children = tree.children(node)
            if not children:
                children = yield from expand(tree, [node], self.branching, rating, None)
            usable = [child for child in children if child.value is not None]
            node.visits += 1
            if not usable:
                return None
            node = min(usable, key=lambda child: (child.visits, -(child.value or 0), child.id))
        node.visits += 1
        return None

    def choose(self, tree: Tree[Any, Any]) -> Node[Any, Any]:
        return max(list(tree)[1:], key=lambda n: n.visits, default=tree.root)


@dataclass(frozen=True)
class Scripts:
    """Routines given as functions of the tree."""

    routine: tuple[Callable[[Tree[Any, Any]], Routine], ...]
    dedupe: bool = True
    stop: str = "level"
    must_verify: bool = False

    def routines(self, tree: Tree[Any, Any], rating: Rating, rng: random.Random) -> Iterator[Routine]:
        return (make(tree) for make in self.routine)

    def choose(self, tree: Tree[Any, Any]) -> Node[Any, Any]:
        return tree[len(tree) - 1]


def batches(log: list[str], name: str, *requests: list[Request], ends: Ended | None = None) -> Any:
    """A routine that yields these batches, and logs after each."""

    def make(tree: Tree[Any, Any]) -> Routine:
        for i, batch in enumerate(requests):
            yield batch
            log.append(f"{name}{i}")
        return ends

    return make


def ids(running: Search[Any, Any]) -> dict[Request, int]:
    return {ask.request: ask.id for ask in running.ask()}


@pytest.mark.parametrize("at_once", [1, 2, 3, 9])
def test_at_most_so_many_routines_run_at_once(at_once: int) -> None:
    log: list[str] = []
    routines = tuple(batches(log, f"r{i}.", [Reflect(i)], [Step(i)]) for i in range(5))
    running = Search(Scripts(routines), "", at_once=at_once)
    assert len(ids(running)) == min(5, at_once)


def test_a_finished_routine_makes_room_for_the_next() -> None:
    log: list[str] = []
    routines = tuple(batches(log, f"r{i}.", [Reflect(i)]) for i in range(3))
    running = Search(Scripts(routines), "", at_once=2)
    open_ids = ids(running)
    assert set(open_ids) == {Reflect(0), Reflect(1)}
    running.tell(open_ids[Reflect(1)], Reflected("b"))
    assert set(ids(running)) == {Reflect(2)}
    assert (log, running.tree.lessons) == (["r1.0"], ["b"])


def test_identical_requests_are_asked_once_and_applied_once() -> None:
    log: list[str] = []
    same = [Propose(0, 2)]
    running = Search(
        Scripts((batches(log, "a", same), batches(log, "b", same), batches(log, "c", same))), "", at_once=3
    )
    ((request, id),) = ids(running).items()
    assert request == Propose(0, 2)
    running.tell(id, Proposed(("x", "y")))
    assert log == ["a0", "b0", "c0"]
    assert [n.action for n in running.tree] == [None, "x", "y"]
    assert (running.spent.calls, running.ended) == (1, Ended.SEARCHED_OUT)


def test_the_same_request_twice_in_a_batch_is_asked_once() -> None:
    log: list[str] = []
    running = Search(Scripts((batches(log, "a", [Propose(0, 1), Propose(0, 1)]),)), "")
    ((_, id),) = ids(running).items()
    running.tell(id, Proposed(("x",)))
    assert (log, len(running.tree)) == (["a0"], 2)


def test_after_it_was_applied_the_same_request_is_a_new_one() -> None:
    log: list[str] = []
    running = Search(Scripts((batches(log, "a", [Reflect(0)], [Reflect(0)]),)), "")
    running.tell(ids(running)[Reflect(0)], Reflected("one"))
    running.tell(ids(running)[Reflect(0)], Reflected("two"))
    assert running.tree.lessons == ["one", "two"]


def test_a_routine_that_asks_for_what_was_told_but_not_applied_goes_on_at_once() -> None:
    # "a" waits for two replies, of which one is in; "b" then asks for that one alone.
    log: list[str] = []
    a = batches(log, "a", [Propose(0, 1), Reflect(0)])
    b = batches(log, "b", [Answer(0)], [Propose(0, 1)], [Reflect(9)])
    running = Search(Scripts((a, b)), "", at_once=2)
    open_ids = ids(running)
    running.tell(open_ids[Propose(0, 1)], Proposed(("x",)))
    assert len(running.tree) == 1  # its batch is incomplete
    running.tell(open_ids[Answer(0)], Answered({"answer": 1}))
    assert log == ["b0", "b1"]
    assert [n.action for n in running.tree] == [None, "1", "x"]
    running.tell(open_ids[Reflect(0)], Reflected("why"))
    assert log == ["b0", "b1", "a0"]
    assert len(running.tree) == 3  # not applied twice
    running.tell(ids(running)[Reflect(9)], Reflected("end"))
    assert (running.done, running.spent.calls) == (True, 4)


def test_a_routine_waits_for_a_request_that_another_has_in_flight() -> None:
    log: list[str] = []
    a, b = batches(log, "a", [Reflect(0)], [Propose(0, 1)]), batches(log, "b", [Propose(0, 1)], [Step(1)])
    running = Search(Scripts((a, b)), "", at_once=2)
    open_ids = ids(running)
    running.tell(open_ids[Reflect(0)], Reflected("l"))
    assert ids(running) == {}  # "a" now waits for the proposal that "b" had asked for
    running.tell(open_ids[Propose(0, 1)], Proposed(("x",)))
    assert sorted(log) == ["a0", "a1", "b0"]


def test_what_a_routine_returns_ends_the_search() -> None:
    log: list[str] = []
    a = batches(log, "a", [Reflect(0)], ends=Ended.ROLLOUTS)
    b = batches(log, "b", [Reflect(1)], [Reflect(2)])
    running = Search(Scripts((a, b)), "", at_once=2)
    open_ids = ids(running)
    running.tell(open_ids[Reflect(0)], Reflected("x"))
    assert (running.ended, running.ask()) == (Ended.ROLLOUTS, [])
    running.tell(open_ids[Reflect(1)], Reflected("late"))
    assert (running.tree.lessons, running.spent.calls) == (["x"], 2)


def test_a_ceiling_met_by_one_routine_lets_the_others_finish_what_is_in_flight() -> None:
    log: list[str] = []
    a, b = batches(log, "a", [Reflect(0)], [Reflect(2)]), batches(log, "b", [Reflect(1)], [Reflect(3)])
    running = Search(Scripts((a, b)), "", at_once=2, budget=Budget(calls=2))
    open_ids = ids(running)
    running.tell(open_ids[Reflect(0)], Reflected("x"))
    assert (running.status, ids(running)) == (SearchStatus.RUNNING, {})
    running.tell(open_ids[Reflect(1)], Reflected("y"))
    assert (log, running.ended, running.spent.calls) == (["a0", "b0"], Ended.CALLS, 2)
    assert running.tree.lessons == ["x", "y"]


def test_after_one_routine_was_refused_no_other_starts_anything() -> None:
    log: list[str] = []
    a, b = batches(log, "a", [Propose(0, 1)], [Reflect(0)]), batches(log, "b", [Answer(0)], [Step(1)])
    running = Search(Scripts((a, b)), "", at_once=2, budget=Budget(calls=4), calls={Reflect: 5})
    open_ids = ids(running)
    running.tell(open_ids[Propose(0, 1)], Proposed(("x",)))  # a reflection takes five calls
    running.tell(open_ids[Answer(0)], Answered({"answer": 1}))  # a step would take one, and two are left
    assert (running.ask(), running.ended, running.spent.calls) == ([], Ended.CALLS, 2)


def test_a_direct_answer_goes_before_all_routines_and_then_as_many_run_as_may() -> None:
    log: list[str] = []
    routines = tuple(batches(log, f"r{i}.", [Reflect(i)]) for i in range(3))
    running = Search(Scripts(routines), "", at_once=3, first=True)
    open_ids = ids(running)
    assert set(open_ids) == {Answer(0)}
    running.tell(open_ids[Answer(0)], Answered({"answer": 1}))
    assert set(ids(running)) == {Reflect(0), Reflect(1), Reflect(2)}


def test_eight_climbers_at_one_root_expand_it_once() -> None:
    asked: Counter[Request] = Counter()

    def answer(request: Request, tree: Tree[Any, Any]) -> Any:
        asked[request] += 1
        return Digits(1).answer(request, tree)

    running = Search(Climbers(count=8), (), step=Digits(1).step, at_once=8)
    result = run(running, answer)
    assert asked[Propose(0, 2)] == 1
    assert max(asked.values()) == 1
    assert result.tree.root.visits == 8  # each passed it once


@pytest.mark.parametrize("at_once", [1, 2, 5, 8])
def test_in_any_order_of_replies_each_climber_ends_and_nothing_is_asked_or_applied_twice(
    at_once: int,
) -> None:
    for seed in range(40):
        rng, world = random.Random(seed), Digits(seed % 7, flaky=0.1, unread=0.1)
        running = Search(Climbers(count=8), (), step=world.step, at_once=at_once, root_key=())
        log = play(running, world, lambda n, rng=rng: rng.randrange(n))
        assert running.done
        assert running.tree.root.visits == 8
        for node in running.tree:
            children = running.tree.children(node)
            assert len(children) <= 2  # a proposal applied twice would show as copies
            assert node.ratings <= 1
        again = Search(Climbers(count=8), (), step=world.step, at_once=at_once, root_key=())
        for id, outcome in log:
            again.tell(id, outcome)
        assert shot(again) == shot(running)


def test_every_order_of_four_replies_to_two_routines_ends_the_same_but_for_node_ids() -> None:
    shapes = set()
    for order in permutations(range(4)):
        log: list[str] = []
        a = batches(log, "a", [Propose(0, 1), Reflect(0)])
        b = batches(log, "b", [Propose(0, 1, 1), Reflect(1)])
        running = Search(Scripts((a, b)), "", at_once=2, step=Letters({}).step)
        asks = running.ask()
        replies = [Proposed(("x",)), Reflected("r0"), Proposed(("y",)), Reflected("r1")]
        for i in order:
            running.tell(asks[i].id, replies[i])
        assert (running.done, sorted(log)) == (True, ["a0", "b0"])
        shapes.add((frozenset(n.state for n in running.tree), frozenset(running.tree.lessons)))
    assert shapes == {(frozenset({"", "x", "y"}), frozenset({"r0", "r1"}))}


@pytest.mark.parametrize("driver", ["threads", "asyncio"])
def test_both_drivers_finish_many_routines(driver: str) -> None:
    for seed in range(10):
        world = Digits(seed)
        running = Search(Climbers(count=12), (), step=world.step, at_once=6, root_key=())

        def prepare(ask: Ask, tree: Tree[Any, Any], world: Digits = world) -> Any:
            reply = Reply(world.answer(ask.request, tree, ask.attempt))

            async def later() -> Reply:
                await asyncio.sleep(random.random() / 5000)
                return reply

            return later if driver == "asyncio" else lambda: reply

        if driver == "asyncio":
            result = asyncio.run(adrive(running, prepare, concurrency=4))
        else:
            result = drive(running, prepare, concurrency=4)
        assert result.tree.root.visits == 12
        assert result.ended is Ended.SEARCHED_OUT


def test_a_failed_shared_request_reaches_all_who_wait_for_it() -> None:
    log: list[str] = []
    same = [Propose(0, 1)]
    running = Search(Scripts((batches(log, "a", same), batches(log, "b", same))), "", at_once=2)
    running.tell(ids(running)[Propose(0, 1)], Failed("down"))
    assert (log, running.failed, running.ended) == (["a0", "b0"], 1, Ended.ERROR)


def test_a_goal_that_one_routine_finds_ends_all() -> None:
    log: list[str] = []
    a, b = batches(log, "a", [Step(1)], [Reflect(5)]), batches(log, "b", [Reflect(0)], [Reflect(6)])

    def first(tree: Tree[Any, Any]) -> Routine:
        yield [Propose(0, 1)]
        return None

    running = Search(Scripts((first, a, b)), "", at_once=1)
    running.tell(ids(running)[Propose(0, 1)], Proposed(("x",)))
    running.tell(ids(running)[Step(1)], Stepped("x", solved=True))
    assert (running.status, running.ask(), running.result().path) == (SearchStatus.SOLVED, [], ["x"])
    assert log == []


def test_rates_of_two_routines_about_one_node_are_one_rating() -> None:
    log: list[str] = []

    def grow(tree: Tree[Any, Any]) -> Routine:
        yield [Propose(0, 1)]
        return None

    same: list[Request] = [Rate((1,))]
    routines = (grow, batches(log, "a", same), batches(log, "b", same))
    running = Search(Scripts(routines), "", step=Letters({}).step)
    running.tell(ids(running)[Propose(0, 1)], Proposed(("x",)))
    both = Search(Scripts(routines), "", step=Letters({}).step, at_once=3)
    open_ids = ids(both)
    assert set(open_ids) == {Propose(0, 1), Rate((1,))}
    both.tell(open_ids[Propose(0, 1)], Proposed(("x",)))
    both.tell(open_ids[Rate((1,))], Rated((5.0,)))
    assert (both.tree[1].value, both.tree[1].ratings, log) == (5.0, 1, ["a0", "b0"])
