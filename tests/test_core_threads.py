"""The thread driver: deadlines, contexts, interrupts, how many calls are in flight."""

from __future__ import annotations

import asyncio
import contextvars
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from patience import PATIENCE, in_time, until
from thoughtree.search import (
    DFS,
    Ask,
    Beam,
    BestFirst,
    Ended,
    Event,
    Failed,
    Propose,
    Proposed,
    Rate,
    Rated,
    Reply,
    Request,
    Search,
    SearchStatus,
    Stepped,
    Tree,
    Usage,
    drive,
    threads,
)
from thoughtree.search.turns import Turns
from worlds import Digits, Letters, prepared, search

WIDE = PATIENCE  # seconds: what must not have been waited for, however slow this machine is


def calls(world: Letters, before: Callable[[Ask], None] = lambda ask: None) -> Any:
    """Each call answers, after `before`, in its worker."""

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
        def call() -> Reply:
            before(ask)
            return Reply(world.answer(ask.request, tree))

        return call

    return prepare


OTHERS: set[threading.Thread] = set()  # that there were: a call that hangs in another file's test may still have one


@pytest.fixture(autouse=True)
def _others() -> None:
    OTHERS.clear()
    OTHERS.update(threading.enumerate())


def driver_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith("thoughtree-") and t not in OTHERS]


def workers_end(left: int = 0) -> bool:
    """Whether all workers end but so many, given time."""
    until(lambda: len(driver_threads()) <= left)
    return len(driver_threads()) == left


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """The requests whose replies are where the driver finds them, by whatever thread they came."""
    requests: list[Request] = []

    class Told(Turns[Any, Any]):
        def _deliver(self, ask: Ask, reply: Reply | BaseException) -> None:
            super()._deliver(ask, reply)
            requests.append(ask.request)

    monkeypatch.setattr(threads, "Turns", Told)
    return requests


# ---- the deadline


def test_at_the_deadline_the_search_returns_though_a_call_hangs() -> None:
    def attempt(seconds: float) -> Any:
        release, world, hung = threading.Event(), Letters({"": "abc"}, {"a": 5.0}), []

        def hang(ask: Ask) -> None:
            if ask.request == Rate((2,)):
                hung.append(ask)
                release.wait(2 * WIDE)

        started = time.monotonic()
        running = Search(Beam(max_depth=2), "", step=world.step)
        result = drive(running, calls(world, hang), deadline=started + seconds)
        assert time.monotonic() - started < WIDE
        if hung and result.spent.calls == 3:
            return result, release, seconds
        release.set()
        assert workers_end()
        return None

    result, release, seconds = in_time(attempt)
    assert (result.status, result.ended, result.unfinished) == (SearchStatus.UNVERIFIED, Ended.SECONDS, 1)
    assert result.best.state == "a"
    assert result.seconds >= seconds / 2  # the clock that the driver starts is a little later than the test's
    assert workers_end(left=1)  # the call that hangs holds its worker, and nobody else
    release.set()
    assert workers_end()


def test_a_deadline_that_has_passed_starts_nothing() -> None:
    world = Letters({"": "a"})
    result = drive(Search(Beam(), ""), calls(world), deadline=time.monotonic() - 1)
    assert (world.asked, result.status, result.ended) == ([], SearchStatus.FAILED, Ended.SECONDS)


def test_the_deadline_holds_between_replies_of_code() -> None:
    endless = Letters({"a" * k: "a" for k in range(3000)})

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Reply:
        time.sleep(0.002)
        return Reply(endless.answer(ask.request, tree), Usage(0), by_code=True)

    started = time.monotonic()
    result = drive(Search(Beam(max_depth=3000), "", step=endless.step), prepare, deadline=started + 0.1)
    assert result.ended is Ended.SECONDS
    assert time.monotonic() - started < WIDE
    assert driver_threads() == []


def test_a_reply_that_is_there_at_the_deadline_is_told(handed_over: list[Request]) -> None:
    # The goal's reply comes while the thread that has the turn is busy past the deadline.
    def attempt(seconds: float) -> Any:
        world, busy = Letters({"": "ab", "a": "x", "b": "y"}, {"a": 2.0}, goals=("ax",)), []
        deadline = time.monotonic() + seconds

        def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
            if ask.request == Propose(2, 5):
                busy.append(ask)
                until(lambda: Propose(1, 5) in handed_over and time.monotonic() > deadline)
            return lambda: Reply(world.answer(ask.request, tree))

        handed_over.clear()
        result = drive(Search(Beam(max_depth=2, stop="first"), "", step=world.step), prepare, deadline=deadline)
        return result if busy else None

    result = in_time(attempt)
    assert (result.status, result.path) == (SearchStatus.SOLVED, ["a", "x"])
    assert result.unfinished + result.spent.calls == 5


def test_a_hung_call_does_not_block_the_exit_of_the_process() -> None:
    script = """
        import time
        from thoughtree.search import *
        for seconds in (0.1, 1, 10):  # until one is enough for this machine to start the call
            deadline = time.monotonic() + seconds
            result = drive(Search(Beam(), ""), lambda ask, tree: lambda: time.sleep(600), deadline=deadline)
            if result.unfinished:
                break
        print(result.ended, result.unfinished)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout.split() == ["seconds", "1"]


# ---- what is in flight


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_at_most_so_many_calls_are_in_flight(concurrency: int) -> None:
    world, lock, now, peak, full = Letters({"": "abcdefgh"}), threading.Lock(), [0], [0], threading.Event()

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
        def call() -> Reply:
            with lock:
                now[0] += 1
                peak[0] = max(peak[0], now[0])
                if now[0] == concurrency:
                    full.set()
            if isinstance(ask.request, Rate):
                full.wait(WIDE)
                time.sleep(0.002)
            with lock:
                now[0] -= 1
            return Reply(world.answer(ask.request, tree))

        return call

    drive(Search(Beam(branching=8, max_depth=1), "", step=world.step), prepare, concurrency=concurrency)
    assert peak[0] == concurrency


@pytest.mark.parametrize("controller", [Beam(width=3), DFS(), BestFirst(open=3)])
def test_with_one_call_in_flight_calls_come_in_the_order_of_asking(controller: Any) -> None:
    order: list[int] = []
    world = Digits(3)
    running = search(controller, world)

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
        reply = Reply(world.answer(ask.request, tree, ask.attempt))

        def call() -> Reply:
            order.append(ask.id)
            return reply

        return call

    drive(running, prepare, concurrency=1)
    assert order == sorted(order) == list(range(len(order)))


def test_workers_are_reused_and_end_with_the_search() -> None:
    names: set[str] = set()
    world = Letters({"": "abc", "a": "abc", "b": "abc", "c": "abc"})
    drive(
        Search(Beam(width=None), "", step=world.step),
        calls(world, lambda ask: names.add(threading.current_thread().name)),
        concurrency=2,
    )
    assert names <= {"thoughtree-1", "thoughtree-2"}
    assert workers_end()


def test_code_runs_on_the_drivers_own_thread() -> None:
    world, threads = Letters({"": "ab"}), set()

    def step(state: str, action: str) -> Any:
        threads.add(threading.get_ident())
        return world.step(state, action)

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
        threads.add(threading.get_ident())
        return lambda: Reply(world.answer(ask.request, tree))

    drive(
        Search(Beam(max_depth=1), "", step=step),
        prepare,
        observe=lambda event: threads.add(threading.get_ident()),
    )
    assert threads == {threading.get_ident()}


def test_sixteen_searches_in_eight_threads_do_not_deadlock() -> None:
    def one(i: int) -> int:
        world = Digits(i)
        running = search(Beam(), world)
        return drive(running, prepared(world, lambda: time.sleep(0.0005)), concurrency=8).spent.calls

    with ThreadPoolExecutor(8) as pool:
        spent = list(pool.map(one, range(16)))
    alone = [search(Beam(), Digits(i)) for i in range(16)]
    assert spent == [drive(s, prepared(Digits(i)), concurrency=1).spent.calls for i, s in enumerate(alone)]


def test_a_search_inside_a_call_of_a_search() -> None:
    inner_world, world = Letters({"": "ab"}, {"b": 5.0}), Letters({"": "ab"})

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
        def call() -> Reply:
            if isinstance(ask.request, Rate):
                inner = drive(Search(Beam(max_depth=1), "", step=inner_world.step), calls(inner_world), concurrency=1)
                return Reply(Rated((inner.value or 0.0,)))
            return Reply(world.answer(ask.request, tree))

        return call

    result = drive(Search(Beam(max_depth=1), "", step=world.step), prepare, concurrency=2)
    assert [n.value for n in result.tree][1:] == [5.0, 5.0]


def test_a_sync_call_inside_a_running_event_loop_works() -> None:
    async def main() -> Any:
        world = Letters({"": "ab"})
        return drive(Search(Beam(max_depth=1), "", step=world.step), calls(world))

    assert asyncio.run(main()).spent.calls == 3


@pytest.mark.parametrize("concurrency", [0, -1])
def test_a_concurrency_that_starts_nothing_is_refused(concurrency: int) -> None:
    with pytest.raises(ValueError, match=rf"drive\(concurrency={concurrency}\): must be at least 1"):
        drive(Search(Beam(), ""), calls(Letters({})), concurrency=concurrency)


# ---- contexts

SETTING: contextvars.ContextVar[str] = contextvars.ContextVar("SETTING", default="unset")


def test_the_callers_context_reaches_each_call_and_what_a_call_sets_stays_in_it() -> None:
    seen: list[str] = []

    def look(ask: Ask) -> None:
        seen.append(SETTING.get())
        SETTING.set(f"set by call {ask.id}")

    token = SETTING.set("caller's")
    try:
        world = Letters({"": "abc"})
        drive(Search(Beam(max_depth=1), "", step=world.step), calls(world, look), concurrency=1)
        assert seen == ["caller's"] * 4
        assert SETTING.get() == "caller's"
    finally:
        SETTING.reset(token)


# ---- what goes wrong


def test_an_exception_in_a_call_is_that_calls_failure() -> None:
    world = Letters({"": "ab"})

    def fail(ask: Ask) -> None:
        if ask.request == Rate((1,)):
            raise ConnectionError("refused")

    result = drive(Search(Beam(max_depth=1), "", step=world.step), calls(world, fail))
    assert result.errors == {"ConnectionError: refused": 1}
    assert (result.best.state, result.spent.calls) == ("b", 3)  # it may have been paid for


def test_an_exception_while_preparing_is_that_calls_failure_and_costs_nothing() -> None:
    world = Letters({"": "ab"})

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
        if ask.request == Rate((1,)):
            raise AttributeError("'NoneType' object has no attribute 'render'")
        return lambda: Reply(world.answer(ask.request, tree))

    result = drive(Search(Beam(max_depth=1), "", step=world.step), prepare)
    assert result.errors == {"AttributeError: 'NoneType' object has no attribute 'render'": 1}
    assert (result.best.state, result.spent.calls) == ("b", 2)


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (asyncio.CancelledError("of an inner task"), "CancelledError: of an inner task"),  # as under asyncio
        (Mute(), "Mute, whose text raised RuntimeError"),
    ],
)
def test_an_odd_exception_in_a_call_is_that_calls_failure_too(error: BaseException, said: str) -> None:
    world = Letters({"": "ab"})

    def fail(ask: Ask) -> None:
        if ask.request == Rate((1,)):
            raise error

    result = drive(Search(Beam(max_depth=1), "", step=world.step), calls(world, fail))
    assert result.errors == {said: 1}
    assert result.best.state == "b"


def test_a_retry_in_a_thousand_years_waits_for_the_deadline() -> None:
    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Reply:
        return Reply(Failed("busy", transient=True, retry_after=3e10))

    result = drive(Search(Beam(), "", transient=1), prepare, deadline=time.monotonic() + 0.05)
    assert (result.ended, result.errors) == (Ended.SECONDS, {"busy": 1})


@pytest.mark.parametrize("where", ["observe", "prepare", "call"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_raised_again_and_leaves_no_worker(where: str, error: type[BaseException]) -> None:
    world = Letters({"": "abcd"})

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
        if where == "prepare" and ask.request == Rate((2,)):
            raise error

        def call() -> Reply:
            if where == "call" and ask.request == Rate((2,)):
                raise error
            return Reply(world.answer(ask.request, tree))

        return call

    def observe(event: Event) -> None:
        if where == "observe" and isinstance(event.ask.request, Rate):
            raise error

    with pytest.raises(error):
        drive(Search(Beam(), "", step=world.step), prepare, observe=observe)
    assert workers_end()


def test_ctrl_c_while_all_calls_hang_is_raised_at_once() -> None:
    script = """
        import os, signal, time
        from thoughtree.search import *

        def call():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(600)

        started = time.monotonic()
        try:
            drive(Search(Beam(), ""), lambda ask, tree: call)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - started < 300)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout.split() == ["interrupted", "True"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # nobody changed it here


def test_an_error_in_observe_is_shown_and_leaves_no_worker() -> None:
    def observe(event: Event) -> None:
        raise ZeroDivisionError

    world = Letters({"": "ab"})
    with pytest.raises(ZeroDivisionError):
        drive(Search(Beam(), "", step=world.step), calls(world), observe=observe)
    assert workers_end()


def test_observe_is_called_after_each_reply_with_the_search_as_it_then_is() -> None:
    world, seen = Letters({"": "ab"}), []
    running = Search(Beam(max_depth=1), "", step=world.step)
    drive(
        running,
        calls(world),
        concurrency=1,
        observe=lambda event: seen.append((event.ask.request, event.reply.usage.calls, len(event.search.tree))),
    )
    assert seen == [(Propose(0, 5), 1, 3), (Rate((1,)), 1, 3), (Rate((2,)), 1, 3)]


def test_replies_that_come_after_a_goal_are_counted_and_change_nothing(handed_over: list[Request]) -> None:
    # Both proposals are under way; the goal's reply waits until the other is in too.
    world = Letters({"": "ab", "a": "x", "b": "y"}, goals=("ax",))

    def observe(event: Event) -> None:
        if event.ask.request == Propose(1, 5):
            until(lambda: Propose(2, 5) in handed_over)

    running = Search(Beam(max_depth=2, stop="first"), "", step=world.step)
    result = drive(running, calls(world), concurrency=2, observe=observe)
    assert result.status is SearchStatus.SOLVED
    assert (result.spent.calls, result.unfinished) == (5, 0)
    assert [n.state for n in result.tree if n.depth == 2] == ["ax"]


def test_a_controller_that_waits_for_nothing_is_a_defect_that_is_named() -> None:
    class Deaf(Search[Any, Any]):
        def ask(self) -> list[Ask]:
            return []

    with pytest.raises(RuntimeError, match="waits for nothing and has not ended"):
        drive(Deaf(Beam(), ""), calls(Letters({})))


def test_the_worlds_failures_are_told_as_they_are() -> None:
    replies = {Propose(0, 5): Proposed(("a",)), Rate((1,)): Failed("busy", fatal=True)}
    running = Search(Beam(), "", step=lambda state, action: Stepped(state + action))
    result = drive(running, lambda ask, tree: lambda: Reply(replies[ask.request]))
    assert (result.ended, result.first_error) == (Ended.ERROR, "busy")
