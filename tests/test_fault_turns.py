"""What is left of a search that has ended while calls hang: their turns, and the searches inside it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import dspy
import pytest

from engines import Engine, lm
from faultworlds import CONTROLLERS, WORLDS, play, watched
from patience import in_time, until
from thoughtree import Beam, TreeOfThoughts, limit
from thoughtree.modules.calls.limit import IN_FLIGHT, PROCESS
from thoughtree.modules.calls.slots import Slots
from thoughtree.search import Budget, Ended, SearchStatus
from thoughtree.testing import Fault, FaultyLM

drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])
WORLD = WORLDS["text"]


def black_hole(replies: int = 1) -> FaultyLM:
    """A model of which all calls but the first few hang."""
    return FaultyLM(lm(WORLD.engine()), [Fault.hang(after=replies)])


def held_after(model: FaultyLM, slots: Slots) -> int:
    """The slots that are held once all that hung has ended."""
    model.release()
    until(lambda: not slots.held)
    return slots.held


@drivers
def test_a_process_whose_turns_all_hang_still_searches(driver: str) -> None:
    model = black_hole()
    program = WORLD.build(Beam(width=8, branching=8, max_depth=2), propose=lambda i, node, n: list("abcdefgh"))
    for _ in range(10 * IN_FLIGHT // 8):  # as many searches as it takes: on a slow machine one may start no call
        found = play(program, model, "threads", question="q", config={"budget": Budget(seconds=0.15)}).search
        assert found.ended is Ended.SECONDS
        if PROCESS.slots is not None and PROCESS.slots.held >= IN_FLIGHT - 8:  # the first search had one reply
            break
    assert PROCESS.slots is not None
    assert PROCESS.slots.held >= IN_FLIGHT - 8
    engine = WORLD.engine()
    assert (
        play(WORLD.build(CONTROLLERS["beam"]), engine, driver, question="q").search.spent.calls == engine.count() == 16
    )
    assert held_after(model, PROCESS.slots) == 0


@drivers
def test_a_search_that_waits_goes_on_as_another_ends_without_its_calls(driver: str) -> None:
    """Here the second search waits for the only turn of a limit, which a call of the first holds for ever."""

    def attempt(seconds: float) -> bool | None:
        model, engine = black_hole(0), WORLD.engine()
        ended: list[Any] = []

        def first() -> None:
            config = {"budget": Budget(seconds=seconds)}
            with dspy.context(lm=model), purse:
                ended.append(WORLD.build(CONTROLLERS["beam"])(question="q", config=config).search)

        def second() -> Any:
            with dspy.context(lm=lm(engine)), purse:
                program = WORLD.build(CONTROLLERS["beam"])
                return asyncio.run(program.acall(question="q")) if driver == "asyncio" else program(question="q")

        purse = limit(in_flight=1)
        hangs = threading.Thread(target=first)
        hangs.start()
        until(lambda: model.calls or not hangs.is_alive())
        if not model.calls:
            return None
        assert watched(second).search.status is SearchStatus.UNVERIFIED
        hangs.join()
        assert (ended[0].ended, engine.count()) == (Ended.SECONDS, 16)
        assert purse.slots is not None
        assert held_after(model, purse.slots) == 0
        return True

    assert in_time(attempt)


def test_calls_in_flight_are_as_many_as_ever_where_nobody_has_to_wait() -> None:
    slots = Slots(2)
    slots.acquire()
    slots.forsake("gone")
    slots.acquire()  # the free one
    assert slots.held == 2
    slots.release("gone")  # its call has ended after all
    assert slots.held == 1
    slots.release()
    assert slots.held == 0


def test_a_forsaken_slot_is_given_once_and_comes_back_once() -> None:
    slots = Slots(1)
    slots.acquire()
    slots.forsake("first")
    slots.acquire()  # in place of the first
    with pytest.raises(TimeoutError):
        slots.acquire(deadline=0.0)
    slots.release("first")
    with pytest.raises(TimeoutError):
        slots.acquire(deadline=0.0)
    slots.forsake("second")
    slots.acquire()
    slots.release("third")
    assert slots.held == 0
    slots.release("second")
    assert slots.held == 0


def test_an_interrupted_search_starts_no_call_that_waited_for_its_turn() -> None:
    """Eight ratings, two at a time: as the first is there, two are in flight or about to be, and the others wait."""
    released = threading.Event()

    def fn(kind: Any, inputs: dict[str, str], n: int) -> Any:
        assert n == 1 or released.wait(30)
        return {"rating_reasoning": "r", "thought_rating": "sure"}

    engine = Engine(fn)

    def observe(event: Any) -> None:
        if engine.count():
            raise KeyboardInterrupt

    def run() -> None:
        with dspy.context(lm=lm(engine)), purse:
            program(question="q", config={"on_event": observe})

    purse = limit(in_flight=2)
    program = TreeOfThoughts(
        "question -> answer",
        propose=lambda inputs, node, n: list("abcdefgh"),
        controller=Beam(branching=8, max_depth=1),
        answer="path",
    )
    with pytest.raises(KeyboardInterrupt):
        watched(run)
    released.set()
    slots = purse.slots
    assert slots is not None
    until(lambda: not slots.held)
    assert 1 <= engine.count() <= 3


@drivers
def test_a_search_inside_a_search_ends_with_the_outer_ones_time(driver: str) -> None:
    """The inner one rates for the outer one, and has no deadline of its own; a call of it hangs."""

    def attempt(seconds: float) -> Any:
        began: list[Any] = []
        inner: list[Any] = []

        def rate(inputs: Any, nodes: Any) -> list[float]:
            began.append(nodes)
            inner.append(WORLD.build(CONTROLLERS["beam"])(question="inner").search)
            return [1.0] * len(nodes)

        rate.calls = 40  # type: ignore[attr-defined]
        model = FaultyLM(lm(WORLD.engine()), [Fault.hang(after=5)])
        program = WORLD.build(CONTROLLERS["beam"], rate=rate)
        found = play(program, model, driver, question="q", config={"budget": Budget(seconds=seconds)}).search
        until(lambda: len(inner) == len(began))
        hung = model.met != {}
        model.release()
        return (found, inner) if hung else None

    found, inner = in_time(attempt)
    assert (found.ended, [one.ended for one in inner]) == (Ended.SECONDS, [Ended.SECONDS])
    assert inner[0].path  # the best of five calls, one of which was the outer one's
