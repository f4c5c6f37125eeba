"""A hook of a task that never comes back holds up nothing: no deadline, no stop, no cancellation, no loop, no exit.

Each hangs until its search has given its result: a search that waits for it never ends, and the watchdog says so. How
soon it ends is measured in benchmarks/deadline.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import pytest

from benchmarked import benchmark
from faultworlds import shape, watched
from patience import in_time
from thoughtree import SearchStatus
from thoughtree.search import Beam, Ended, Propose, Proposed, Rated, Reply, Search, Stepped, Stop, adrive, drive

(hooks,) = map(benchmark, ("hanging_hooks",))
DRIVERS = ("threads", "asyncio")
SECONDS = 0.5


def call(case: Any, program: Any, model: Any, driver: str, config: dict[str, Any]) -> Any:
    trace: dict[str, Any] = {"trace": []} if case.traced else {}
    with dspy.context(lm=model, **trace):
        if driver == "asyncio":
            return asyncio.run(program.acall(**case.inputs, config=config))
        return program(**case.inputs, config=config)


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("thoughtree")}


def hung(name: str, driver: str, folder: Path) -> tuple[Any, Callable[[], bool]]:
    """The result of one case, and whether it, its calls and its journal are as they were before the hook came back."""
    case = hooks.HOOKS[name]

    def attempt(seconds: float) -> tuple[Any, Callable[[], bool]] | None:
        path = folder / f"{driver}-{list(hooks.HOOKS).index(name)}-{seconds}.jsonl"
        config: dict[str, Any] = {"journal": path} if case.journal or case.resumed else {}
        if case.resumed:
            with hooks.HangingHook(case.kind, "none", case.program).opened() as (program, model, calls):
                call(case, program, model, driver, config)
        with case.opened() as (program, model, calls):
            found = call(case, program, model, driver, config | {"budget": {"seconds": seconds}}).search
            if not calls.reached.is_set() or found.hung != (case.hook,):  # or only just before the deadline
                return None

            def left() -> Any:
                return shape(found), dict(calls.made), model.calls, path.read_bytes() if path.exists() else b""

            before = left()
            calls.released.set()
            assert calls.returned.wait(30)
            return found, lambda: left() == before

    return in_time(attempt, SECONDS)


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_search_whose_hook_hangs_ends_with_what_it_had_and_is_left_alone(driver: str, tmp_path: Path) -> None:
    """All at once, as each takes the whole of its time."""
    others, names = threads(), list(hooks.HOOKS)
    with ThreadPoolExecutor(len(names)) as pool:
        found = pool.map(lambda name: watched(lambda: hung(name, driver, tmp_path)), names)
        results = dict(zip(names, found, strict=True))
    for thread in threads() - others:
        thread.join(30)
    assert not threads() - others
    for name, (result, same) in results.items():
        case = hooks.HOOKS[name]
        assert result.hung == (case.hook,), name
        assert any(case.hook in warning for warning in result.warnings), name
        assert same(), f"{name}: the search that was left went on"
        if not case.late:  # else the search itself may have been in time
            assert result.ended is (Ended.SEARCHED_OUT if case.hook == "check" else Ended.SECONDS), name
        assert result.status in (SearchStatus.FAILED, SearchStatus.UNVERIFIED), name


APPLY = hooks.HOOKS["apply"]
LONG = {"budget": {"seconds": 600}}  # never up, here


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_stop_ends_a_search_whose_hook_hangs(driver: str) -> None:
    stop = Stop()
    with APPLY.opened() as (program, model, calls):
        stopper = threading.Thread(target=lambda: (calls.reached.wait(), stop()), daemon=True)
        stopper.start()
        found = watched(lambda: call(APPLY, program, model, driver, {"stop": stop})).search
    assert (found.ended, found.hung) == (Ended.STOPPED, ("apply",))
    assert [node.action for node in found.tree][1:] != []


def test_a_task_is_cancelled_while_a_hook_hangs() -> None:
    async def cancelled(program: Any, model: Any, calls: Any) -> bool:
        with dspy.context(lm=model):
            task = asyncio.create_task(program.acall(**APPLY.inputs, config=LONG))
        while not calls.reached.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return not calls.returned.is_set()

    with APPLY.opened() as (program, model, calls):
        assert watched(lambda: asyncio.run(cancelled(program, model, calls)))
        made = dict(calls.made)
        calls.released.set()
        assert calls.returned.wait(30)
        for thread in threads():
            thread.join(30)
        assert (dict(calls.made), model.calls) == (made, model.calls)


def test_the_event_loop_runs_on_while_a_hook_computes() -> None:
    """Here it is somebody on the loop who lets the hook go on: the loop that waits for it would wait for ever."""

    async def beside(program: Any, model: Any, calls: Any) -> Any:
        async def releases() -> None:
            while not calls.reached.is_set():
                await asyncio.sleep(0.01)
            calls.released.set()

        with dspy.context(lm=model):
            found, _ = await asyncio.gather(program.acall(**APPLY.inputs, config=LONG), releases())
        return found.search

    with APPLY.opened() as (program, model, calls):
        found = watched(lambda: asyncio.run(beside(program, model, calls)))
    assert (found.ended, found.hung) == (Ended.SEARCHED_OUT, ())


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signal can be sent to a thread here")
@pytest.mark.parametrize("config", [{}, LONG], ids=["no deadline", "a deadline"])
def test_an_interrupt_comes_through_while_a_hook_hangs(config: dict[str, Any]) -> None:
    main = threading.main_thread().ident
    with APPLY.opened() as (program, model, calls), dspy.context(lm=model):

        def interrupt() -> None:
            calls.reached.wait()
            signal.pthread_kill(main, signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            program(**APPLY.inputs, config=config)
        assert not calls.returned.is_set()


EXITS = """
import dspy
from benchmarks.hanging_hooks import HOOKS
for name in ("apply", "answer", "initial"):
    case = HOOKS[name]
    opened = case.opened()
    program, model, calls = opened.__enter__()
    with dspy.context(lm=model):
        print(program(**case.inputs, config={"budget": {"seconds": 0.3}}).search.hung)
"""


def test_a_hook_that_hangs_does_not_hold_up_the_exit() -> None:
    found = subprocess.run(
        [sys.executable, "-c", EXITS], cwd=Path(hooks.__file__).parents[1], capture_output=True, text=True, timeout=100
    )
    assert found.stdout.splitlines() == ["('apply',)", "('answer',)", "('initial',)"], found.stderr
    assert found.returncode == 0


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_run_that_was_left_in_a_hook_goes_on_where_it_was(driver: str, tmp_path: Path) -> None:
    calm = hooks.HangingHook(hooks.Thoughts, "none")
    with calm.opened() as (program, model, _):
        whole = call(calm, program, model, driver, {"concurrency": 1})
    path = {"journal": tmp_path / "run.jsonl", "concurrency": 1}
    with APPLY.opened() as (program, model, _):
        left = watched(lambda: call(APPLY, program, model, driver, path | {"budget": {"seconds": SECONDS}}))
        paid = model.calls
    with calm.opened() as (program, model, _):
        again = call(calm, program, model, driver, path)
        assert paid + model.calls == whole.search.spent.calls
    assert left.search.hung == ("apply",)
    assert shape(again.search) == shape(whole.search)


# ---- a bare search


def bare(driver: str, search: Any, **how: Any) -> Any:
    def reply(ask: Any) -> Reply:
        return Reply(Proposed(("a", "b")) if isinstance(ask.request, Propose) else Rated((1.0,)))

    def prepare(ask: Any, tree: Any) -> Any:
        async def later() -> Reply:
            return reply(ask)

        return later if driver == "asyncio" else lambda: reply(ask)

    if driver == "asyncio":
        return asyncio.run(adrive(search, prepare, **how))
    return drive(search, prepare, **how)


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_bare_search_is_left_in_a_step_that_hangs(driver: str) -> None:
    released, returned, after = threading.Event(), threading.Event(), []

    def step(state: str, action: str) -> Stepped:
        if state == "ab" or returned.is_set():
            after.append(action)
            released.wait()
            returned.set()
        return Stepped(state + action)

    search = Search(Beam(width=4, branching=2, max_depth=3), "", step=step)
    found = watched(lambda: bare(driver, search, deadline=time.monotonic() + SECONDS))
    before = shape(found)
    released.set()
    assert returned.wait(30)
    for thread in threads():
        thread.join(30)
    assert (found.ended, found.hung, found.status) == (Ended.SECONDS, ("step",), SearchStatus.UNVERIFIED)
    assert (shape(found), after) == (before, ["a"])


class Slow:
    """An action that hangs where it is compared: no hook, and known by no name."""

    def __init__(self, released: threading.Event) -> None:
        self.released = released

    def __hash__(self) -> int:
        self.released.wait()
        return 1


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_search_is_left_in_any_code_that_hangs(driver: str) -> None:
    released = threading.Event()
    search = Search(Beam(width=2, branching=2, max_depth=3), "", parse=lambda state, text: Slow(released))
    found = watched(lambda: bare(driver, search, deadline=time.monotonic() + SECONDS))
    released.set()
    assert (found.ended, found.hung, len(found.tree)) == (Ended.SECONDS, ("code of the task",), 1)


@pytest.mark.parametrize("deadline", [None, time.monotonic() + 6000], ids=["no deadline", "a deadline"])
@pytest.mark.parametrize("driver", DRIVERS)
def test_events_come_in_one_thread_the_callers_where_nothing_may_end_it_and_their_errors_to_the_caller(
    driver: str, deadline: float | None
) -> None:
    seen: list[tuple[int, int]] = []

    def observe(event: Any) -> None:
        seen.append((threading.get_ident(), event.search.told))
        if len(seen) == 3:
            raise KeyError("enough")

    search = Search(Beam(width=2, branching=2, max_depth=3), "", step=lambda state, action: Stepped(state + action))
    with pytest.raises(KeyError, match="enough"):
        bare(driver, search, deadline=deadline, observe=observe, concurrency=1)
    assert [told for _, told in seen] == [1, 2, 3]
    assert len({thread for thread, _ in seen}) == 1
    assert (seen[0][0] == threading.get_ident()) == (deadline is None)
