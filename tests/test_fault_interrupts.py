"""Cancelled or interrupted while a call hangs: nothing is left behind, and the journal goes on to the run's end."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import cycle
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import dspy
import pytest

from engines import lm
from faultworlds import CONTROLLERS, WORLDS, World, play, shape, watched
from patience import in_time
from thoughtree.testing import Fault, FaultyLM

HERE = Path(__file__).parent
PATIENCE = 120  # seconds until a test gives up; none of them takes long
REPLIES = 5

drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])
worlds = pytest.mark.parametrize("name", WORLDS)


def paid(path: Path) -> int:
    """The LM calls in a journal, every line of which can be read."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return sum(line["usage"][0] if line.get("usage") else 0 for line in lines[1:])


def check_goes_on(path: Path, world: World, controller: Any, driver: str) -> None:
    """The journal's run, ended, is the one that nobody broke; no call whose reply is in the journal is paid again."""
    whole = play(world.build(controller), plain := world.engine(), driver, **world.inputs)
    kept, engine = paid(path), world.engine()
    found = play(world.build(controller), engine, driver, **world.inputs, config={"journal": path})
    assert shape(found.search) == shape(whole.search)
    assert engine.count() == plain.count() - kept
    assert found.search.spent.calls == plain.count()


# ---- under asyncio


class Loop:
    """Runs a coroutine function in debug mode, and keeps what the loop, or Python, complains of."""

    def __init__(self) -> None:
        self.complaints: list[str] = []

    def run(self, main: Callable[[], Awaitable[Any]]) -> Any:
        async def heard() -> Any:
            asyncio.get_running_loop().set_exception_handler(lambda loop, said: self.complaints.append(str(said)))
            given = await main()
            assert asyncio.all_tasks() == {asyncio.current_task()}
            return given

        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            gc.freeze()  # else each look is at all that the interpreter has loaded
            given = watched(lambda: asyncio.run(heard(), debug=True))
            gc.collect()  # exceptions that nobody retrieved, and coroutines that nobody awaited, are told of here
            gc.unfreeze()
        self.complaints += [str(one.message) for one in warned if one.category in (RuntimeWarning, ResourceWarning)]
        return given


def test_the_loop_hears_what_is_left_behind() -> None:
    async def fails() -> None:
        raise ValueError("nobody asked")

    async def main() -> None:
        asyncio.ensure_future(fails())  # noqa: RUF006
        fails()  # type: ignore[unused-coroutine]
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    loop = Loop()
    loop.run(main)
    assert sorted("exception was never retrieved" in one for one in loop.complaints) == [False, True]
    assert any("was never awaited" in one for one in loop.complaints)


async def cancelled_by_task(call: Callable[[], Awaitable[Any]], hung: Callable[[], bool]) -> None:
    task = asyncio.ensure_future(call())
    while not hung():
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def cancelled_by_anyio(call: Callable[[], Awaitable[Any]], hung: Callable[[], bool]) -> None:
    """As a web server does it, whose client has gone: anyio cancels again at every await."""
    async with anyio.create_task_group() as group:
        group.start_soon(call)
        while not hung():
            await asyncio.sleep(0.001)
        group.cancel_scope.cancel()


async def cancelled_by_a_timeout(call: Callable[[], Awaitable[Any]], hung: Callable[[], bool]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(None) as time_is_up:
            asyncio.ensure_future(expire(time_is_up))  # noqa: RUF006
            await call()

    async def expire(time_is_up: asyncio.Timeout) -> None:
        while not hung():
            await asyncio.sleep(0.001)
        time_is_up.reschedule(0)

    with pytest.raises(TimeoutError):
        await limited()


def hangs(model: FaultyLM) -> bool:
    return model.met != {}


def calling(program: Any, model: Any, inputs: Any, config: Any) -> Callable[[], Awaitable[Any]]:
    async def call() -> Any:
        with dspy.context(lm=model):
            return await program.acall(**inputs, config=config)

    return call


ENDINGS = [cancelled_by_task, cancelled_by_anyio, cancelled_by_a_timeout]


@worlds
def test_a_cancelled_search_leaves_nothing_behind_but_its_journal(name: str, tmp_path: Path) -> None:
    world, endings = WORLDS[name], cycle(ENDINGS)
    for kind, controller in CONTROLLERS.items():
        ending = next(endings)
        path, loop = tmp_path / f"{kind}.jsonl", Loop()
        model = FaultyLM(lm(world.engine()), [Fault.hang(after=REPLIES)])
        call = calling(world.build(controller), model, world.inputs, {"journal": path})
        loop.run(partial(ending, call, partial(hangs, model)))
        assert loop.complaints == []
        assert 1 <= paid(path) <= REPLIES
        check_goes_on(path, world, controller, "asyncio")


@worlds
def test_a_search_that_ends_by_itself_leaves_no_task(name: str) -> None:
    """Also those whose calls are in flight as a deadline, a stop or a wrong key ends them."""
    world = WORLDS[name]
    plans = [
        ([], {}),
        ([Fault.latency(0.002, skew=1.0), Fault.rate_limit(share=0.5, retry_after=0.001)], {}),
        ([Fault.hang(after=3)], {"budget": {"seconds": 0.1}}),
        ([Fault.rate_limit(after=3, times=None, retry_after=60)], {"budget": {"seconds": 0.1}}),
        ([Fault.latency(0.002), Fault.auth(after=3)], {}),
        ([Fault.raises(lambda: KeyError("choices"))], {}),
    ]
    for faults, config in plans:
        model, loop = FaultyLM(lm(world.engine()), faults), Loop()
        call = calling(world.build(CONTROLLERS["beam"]), model, world.inputs, config)
        assert loop.run(call).search.ended is not None
        assert loop.complaints == [], faults


# ---- as a process

CHILD = """
    import asyncio, json, sys, threading
    import dspy
    from engines import lm
    from faultworlds import CONTROLLERS, WORLDS
    from thoughtree.testing import Fault, FaultyLM

    name, controller, driver, path = sys.argv[1:]
    world = WORLDS[name]
    model = FaultyLM(lm(world.engine()), [Fault.hang(after=5)])
    program = world.build(CONTROLLERS[controller])

    def tell():
        while not model.met:
            threading.Event().wait(0.005)
        print("hung", flush=True)

    threading.Thread(target=tell, daemon=True).start()
    with dspy.context(lm=model):
        try:
            if driver == "threads":
                program(**world.inputs, config={"journal": path})
            else:
                asyncio.run(program.acall(**world.inputs, config={"journal": path}))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""


def process(script: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python process of this script, beside these tests."""
    paths = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", dedent(script), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )


@drivers
@pytest.mark.parametrize(("name", "controller"), [("thoughts", "beam"), ("environment", "mcts")])
def test_ctrl_c_is_raised_again_and_the_journal_goes_on(
    name: str, controller: str, driver: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    child = process(CHILD, name, controller, driver, str(path))
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "hung\n"
        child.send_signal(signal.SIGINT)
        said, complaints = child.communicate(timeout=PATIENCE)
    finally:
        child.kill()
    assert (said, child.returncode, complaints) == ("interrupted\n", 0, "")
    check_goes_on(path, WORLDS[name], CONTROLLERS[controller], driver)


LEFT = """
    import asyncio, sys
    from concurrent.futures import ThreadPoolExecutor
    sys.path.insert(0, sys.argv[2])
    import dspy
    from benchmarks.hanging import HANGING
    from thoughtree.search import Budget

    driver, seconds, kept = sys.argv[1], float(sys.argv[3]), []

    def run(case):
        kept.append(opened := case.opened())  # and nothing is ever released
        program, model, release = opened.__enter__()
        with dspy.context(lm=model):
            config = {"budget": Budget(seconds=seconds)}
            if driver == "threads":
                return program(**case.inputs, config=config)
            return asyncio.run(program.acall(**case.inputs, config=config))

    # A loop waits for its tasks, and this one's never ends.
    cases = [case for name, case in HANGING.items() if driver == "threads" or "ignores" not in name]
    with ThreadPoolExecutor(len(cases)) as pool:
        found = [result.search for result in pool.map(run, cases)]
    print(sum(result.unfinished for result in found), flush=True)
"""


@drivers
def test_calls_that_hang_do_not_hold_up_the_exit(driver: str) -> None:
    def attempt(seconds: float) -> int | None:
        child = process(LEFT, driver, str(HERE.parent), str(seconds))
        try:
            said, complaints = child.communicate(timeout=PATIENCE)
        finally:
            child.kill()
        assert (child.returncode, complaints) == (0, "")
        # Calls are left behind in every program but two: one waits to retry, one has not begun.
        return int(said) if int(said) >= 10 else None

    assert in_time(attempt, first=1.0)
