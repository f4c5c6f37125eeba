"""Turns of the thread driver: what is done between calls is done by one thread at a time, mostly by the workers."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from contextvars import ContextVar
from random import Random
from typing import Any

import pytest

from patience import PATIENCE, in_time, until
from thoughtree.search import Ask, Beam, Propose, Proposed, Rated, Reply, Search, Stepped, Tree, drive

WHO: ContextVar[str] = ContextVar("who")


def replying(ask: Ask) -> Reply:
    return Reply(Proposed(tuple("abcd")) if isinstance(ask.request, Propose) else Rated((1.0,)))


def search(**knobs: Any) -> Search[str, str]:
    return Search(Beam(width=4, branching=4, max_depth=3), "", step=lambda s, a: Stepped(s + a), **knobs)


CALLS = 1 + 4 + 4 + 16 + 4 + 16


@pytest.mark.parametrize("concurrency", [1, 8])
def test_one_thread_at_a_time_touches_the_search(concurrency: int) -> None:
    inside, most, prepared = [0], [0], set[int]()

    def prepare(ask: Ask, tree: Tree[str, str]) -> Any:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        prepared.add(threading.get_ident())
        time.sleep(0.0002)  # others could come in
        inside[0] -= 1
        return lambda: replying(ask)

    result = drive(search(), prepare, concurrency=concurrency)
    assert (result.spent.calls, result.unfinished) == (CALLS, 0)
    assert most == [1]
    assert len(prepared) > 1  # workers go on by themselves


def test_where_somebody_observes_all_turns_are_the_callers() -> None:
    threads = set[int]()

    def prepare(ask: Ask, tree: Tree[str, str]) -> Any:
        threads.add(threading.get_ident())
        return lambda: replying(ask)

    drive(search(), prepare, observe=lambda event: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}


def test_all_of_it_runs_under_the_callers_context_and_changes_none_of_it() -> None:
    seen = set[tuple[str, str]]()

    def prepare(ask: Ask, tree: Tree[str, str]) -> Any:
        seen.add(("prepare", WHO.get()))

        def call() -> Reply:
            seen.add(("call", WHO.get()))
            WHO.set("somebody in a call")
            return replying(ask)

        return call

    token = WHO.set("the caller")
    try:
        drive(search(), prepare)
        assert WHO.get() == "the caller"
    finally:
        WHO.reset(token)
    assert seen == {("prepare", "the caller"), ("call", "the caller")}


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("error", [SystemExit("enough"), KeyboardInterrupt()])
def test_what_a_hook_raises_in_a_workers_turn_reaches_the_caller(error: BaseException, concurrency: int) -> None:
    asked: list[int] = []

    def prepare(ask: Ask, tree: Tree[str, str]) -> Any:
        asked.append(ask.id)
        if len(asked) == 20:
            raise error
        return lambda: replying(ask)

    with pytest.raises(type(error)) as raised:
        drive(search(), prepare, concurrency=concurrency)
    assert raised.value is error
    assert len(asked) == 20  # and nothing goes on behind the caller's back


def test_every_call_that_started_is_spent_or_unfinished() -> None:
    """Also where a solution, or the deadline, comes between the choice of a call and its start."""
    for seed in range(30):
        rng, lock, started = Random(seed), threading.Lock(), [0]
        goal = "".join(rng.choice("abcd") for _ in range(3))

        def prepare(ask: Ask, tree: Tree[str, str], rng: Random = rng, started: list[int] = started) -> Any:
            seconds = rng.random() * 0.002

            def call() -> Reply:
                with lock:  # noqa: B023
                    started[0] += 1
                time.sleep(seconds)
                return replying(ask)

            return call

        solving = Search(
            Beam(width=4, branching=4, max_depth=3),
            "",
            step=lambda s, a, goal=goal: Stepped(s + a, solved=s + a == goal),
        )
        deadline = time.monotonic() + rng.random() * 0.05 if seed % 2 else None
        result = drive(solving, prepare, deadline=deadline)
        ended = result.spent.calls + result.unfinished
        until(lambda started=started, ended=ended: started[0] >= ended)  # a call that a thread was handed begins there
        assert started[0] == ended


def test_a_thread_that_still_ends_holds_no_search() -> None:
    release = threading.Event()

    def prepare(ask: Ask, tree: Tree[str, str]) -> Any:
        def call() -> Reply:
            if ask.id == 3:
                release.wait(PATIENCE)
            return replying(ask)

        return call

    def attempt(seconds: float) -> Any:
        running = search()
        result = drive(running, prepare, deadline=time.monotonic() + seconds)
        return weakref.ref(running.tree) if result.unfinished == 1 else None

    try:
        gone = in_time(attempt)
        gc.collect()
        assert gone() is None
    finally:
        release.set()
