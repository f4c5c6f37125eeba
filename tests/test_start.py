"""The first state of a real environment: in time, beside others, or not at all."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import dspy
import pytest

from engines import lm
from faultworlds import WORLDS, Letters, play, watched
from patience import until
from thoughtree import LATS, SearchStatus
from thoughtree.search import Budget, Ended
from thoughtree.search.environment import EnvironmentFault, Observed

drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])
WORLD = WORLDS["environment"]


class Slow(Letters):
    """Starts once `released`, and notes a setting of its caller's."""

    def __init__(self) -> None:
        self.released, self.seen = threading.Event(), list[Any]()

    def initial(self, inputs: dict[str, Any]) -> str:
        self.seen.append(dspy.settings.get("marker"))
        assert self.released.wait(60)
        return super().initial(inputs)


@drivers
def test_a_start_that_does_not_come_in_time_is_a_failed_search_of_no_call(driver: str) -> None:
    env, engine = Slow(), WORLD.engine()
    found = play(LATS(env=env), engine, driver, question="q", config={"budget": Budget(seconds=0.1)})
    env.released.set()
    assert (found.search.status, found.search.ended) == (SearchStatus.FAILED, Ended.SECONDS)
    assert (found.answer, found.search.path, engine.count()) == (None, [], 0)


@drivers
@pytest.mark.parametrize("seconds", [None, 60.0])
def test_what_a_start_raises_is_raised(driver: str, seconds: float | None) -> None:
    class Broken(Letters):
        def initial(self, inputs: dict[str, Any]) -> str:
            raise error

    for error in (TimeoutError("of its own"), EnvironmentFault("no line"), KeyboardInterrupt("ctrl-c")):
        with pytest.raises(type(error), match=str(error)):
            play(LATS(env=Broken()), WORLD.engine(), driver, question="q", config={"budget": Budget(seconds=seconds)})


@drivers
def test_a_start_runs_in_the_callers_context(driver: str) -> None:
    env = Slow()
    env.released.set()
    program, config = LATS(env=env), {"budget": Budget(seconds=60)}
    with dspy.context(marker="here", lm=lm(WORLD.engine())):
        if driver == "threads":
            program(question="q", config=config)
        else:
            asyncio.run(program.acall(question="q", config=config))
    assert env.seen == ["here"]


def test_others_on_the_loop_have_their_turn_while_an_environment_starts() -> None:
    env = Slow()

    async def main() -> Any:
        with dspy.context(lm=lm(WORLD.engine())):
            search = asyncio.create_task(LATS(env=env).acall(question="q"))
        while not env.seen:
            await asyncio.sleep(0.001)
        env.released.set()  # which nobody could do if the start held the loop
        return await search

    assert watched(lambda: asyncio.run(main())).search.spent.calls > 0


def test_a_cancelled_start_leaves_nothing_behind(tmp_path: Any) -> None:
    env, path = Slow(), tmp_path / "run.jsonl"

    async def main() -> Any:
        with dspy.context(lm=lm(WORLD.engine())):
            search = asyncio.create_task(LATS(env=env).acall(question="q", config={"journal": path}))
        while not env.seen:
            await asyncio.sleep(0.001)
        search.cancel()
        with pytest.raises(asyncio.CancelledError):
            await search
        env.released.set()
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert watched(lambda: asyncio.run(main())) == set()
    assert not path.exists()  # nothing was asked yet


class Stuck:
    """A live environment whose steps come back once `released`."""

    def __init__(self) -> None:
        self.released, self.begun, self.now = threading.Event(), threading.Event(), 0

    def snapshot(self) -> int:
        return self.now

    def restore(self, token: int) -> None:
        self.now = token

    def step(self, action: str) -> Observed:
        self.now += 1
        self.begun.set()
        assert self.released.wait(60)
        return Observed(None, "moved")


def test_a_cancelled_search_does_not_hold_the_loop_for_a_step_that_still_runs() -> None:
    env = Stuck()

    async def main() -> Any:
        with dspy.context(lm=lm(WORLD.engine())):
            search = asyncio.create_task(LATS("question -> answer", env=env).acall(question="q"))
        while not env.begun.is_set():
            await asyncio.sleep(0.001)
        turns, begun = 0, time.monotonic()
        search.cancel()
        while not search.done():
            turns += 1
            await asyncio.sleep(0.001)
        took, alone = time.monotonic() - begun, 0
        assert (search.cancelled(), env.now) == (True, 1)
        while time.monotonic() < begun + 2 * took:  # as many turns as this machine gives a loop that does nothing else
            alone += 1
            await asyncio.sleep(0.001)
        return turns, alone, asyncio.all_tasks() - {asyncio.current_task()}

    turns, alone, left = watched(lambda: asyncio.run(main()))
    assert turns > min(20, alone / 4)
    assert left == set()
    env.released.set()
    until(lambda: not env.now)  # put back as its step ended, though nobody waited


@drivers
def test_an_end_that_raises_is_heard_and_the_journal_is_closed(driver: str, tmp_path: Path) -> None:
    class Rude(Letters):
        def rest(self) -> None:
            raise OSError("cannot be put back")

    path, kept = tmp_path / "run.jsonl", []
    for _ in range(2):  # a journal that is open has a lock, and the second call would be refused
        with pytest.raises(OSError, match="cannot be put back") as raised:
            play(LATS(env=Rude()), WORLD.engine(), driver, question="q", config={"journal": path})
        assert raised.value.__context__ is None
        kept.append(raised.value)  # with all that its frames hold


@drivers
@pytest.mark.parametrize("seconds", [{}, {"seconds": 60.0}])
def test_an_environment_of_a_call_that_is_refused_before_it_began_is_left_alone(
    driver: str, seconds: dict[str, float]
) -> None:
    """Another search may be at work in it, and what was never started may not know how to end."""

    class Unbegun(Letters):
        def initial(self, inputs: dict[str, Any]) -> str:
            raise AssertionError("begun")

        def rest(self) -> None:
            raise AssertionError("ended")

    with pytest.raises(ValueError, match="the price of stub/model"):
        play(LATS(env=Unbegun()), WORLD.engine(), driver, question="q", config={"budget": {"cost": 1.0, **seconds}})
