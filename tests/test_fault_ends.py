"""Deadline, budget and stop, in every program and controller, while a call hangs: the best so far, and the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from engines import lm
from faultworlds import CONTROLLERS, WORLDS, World, play, shape
from thoughtree.search import Budget, Ended, SearchStatus, Stop
from thoughtree.testing import Fault, FaultyLM

REPLIES = (1, 4, 6)  # that come before a call hangs
CLOSING = {"text": 1, "tools": 1}  # calls that a budget holds back

drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])
combinations = pytest.mark.parametrize(
    ("name", "controller"), [(name, c) for name in WORLDS for c in CONTROLLERS], ids=str
)


def until_a_call_hangs(
    world: World, controller: Any, driver: str, replies: int, halted: Any = None, **config: Any
) -> Any:
    """A run with one call in flight at a time, in which the call after `replies` hangs. halted: called as it does."""

    def chosen(prompt: str) -> bool:
        if halted is not None:
            halted()
        return True

    model = FaultyLM(lm(world.engine()), [Fault.hang(after=replies, where=chosen)])
    try:
        found = play(world.build(controller), model, driver, **world.inputs, config={"concurrency": 1, **config}).search
    finally:
        model.release()
    assert (model.calls, found.spent.calls, found.unfinished) == (replies + 1, replies, 1)
    return found


def stopped(world: World, controller: Any, driver: str, replies: int) -> Any:
    stop = Stop()
    return until_a_call_hangs(world, controller, driver, replies, halted=stop, stop=stop)


def best_so_far(result: Any) -> Any:
    """All but why it ended, and what came of the answer."""
    nodes, status, _, best, _, lessons = shape(result)
    return nodes, status, best, lessons


@drivers
@combinations
def test_a_stop_gives_what_a_budget_of_as_many_calls_gives(name: str, controller: str, driver: str) -> None:
    world, order = WORLDS[name], CONTROLLERS[controller]
    for replies in REPLIES:
        found = stopped(world, order, driver, replies)
        assert found.ended is Ended.STOPPED
        calls = replies + CLOSING.get(name, 0)
        whole = play(
            world.build(order), world.engine(), driver, **world.inputs, config={"concurrency": 1, "budget": calls}
        ).search
        assert whole.ended is Ended.CALLS
        assert best_so_far(found) == best_so_far(whole)


@drivers
def test_a_deadline_gives_what_a_stop_gives(driver: str) -> None:
    """All at once, as each takes the whole of its time."""

    def ended(combination: tuple[str, str]) -> Any:
        world, order = WORLDS[combination[0]], CONTROLLERS[combination[1]]
        return until_a_call_hangs(world, order, driver, 4, budget=Budget(seconds=2.0))

    all_of_them = [(name, controller) for name in WORLDS for controller in CONTROLLERS]
    with ThreadPoolExecutor(len(all_of_them)) as pool:
        results = dict(zip(all_of_them, pool.map(ended, all_of_them), strict=True))
    for (name, controller), found in results.items():
        assert found.ended is Ended.SECONDS
        assert best_so_far(found) == best_so_far(stopped(WORLDS[name], CONTROLLERS[controller], driver, 4))
    assert {found.status for found in results.values()} == {SearchStatus.UNVERIFIED, SearchStatus.FAILED}
