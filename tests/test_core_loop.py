"""The asyncio driver: cancellation, deadlines, what is left running."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from patience import PATIENCE, in_time
from thoughtree.search import (
    DFS,
    Ask,
    Beam,
    BestFirst,
    Ended,
    Event,
    Failed,
    Propose,
    Rate,
    Rated,
    Reply,
    Search,
    SearchStatus,
    Tree,
    Usage,
    adrive,
)
from worlds import Digits, Letters, search

WIDE = PATIENCE  # seconds: what must not have been waited for, however slow this machine is
Before = Callable[[Ask], Awaitable[None]]


def calls(world: Letters, before: Before | None = None) -> Any:
    """Each call answers, after `before`."""

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Awaitable[Reply]]:
        async def call() -> Reply:
            if before is not None:
                await before(ask)
            return Reply(world.answer(ask.request, tree))

        return call

    return prepare


async def hang_on_second(ask: Ask) -> None:
    if ask.request == Rate((2,)):
        await asyncio.sleep(2 * WIDE)


async def turns_until(holds: Callable[[], object]) -> None:
    """Give the loop its turns until it holds."""
    end = time.monotonic() + WIDE
    while not holds():
        assert time.monotonic() < end, "it did not come"
        await asyncio.sleep(0.001)


def others() -> set[asyncio.Task[Any]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


# ---- the deadline


def test_at_the_deadline_what_is_in_flight_is_cancelled() -> None:
    def attempt(seconds: float) -> Any:
        world, cancelled = Letters({"": "abc"}, {"a": 5.0}), []

        async def hang(ask: Ask) -> None:
            try:
                await hang_on_second(ask)
            except asyncio.CancelledError:
                cancelled.append(ask.request)
                raise

        async def main() -> Any:
            started = time.monotonic()
            running = Search(Beam(max_depth=2), "", step=world.step)
            result = await adrive(running, calls(world, hang), deadline=started + seconds)
            assert time.monotonic() - started < WIDE
            assert others() == set()
            return result

        result = asyncio.run(main())
        return (result, cancelled) if len(world.asked) == 3 else None

    result, cancelled = in_time(attempt)
    assert (result.status, result.ended, result.unfinished) == (SearchStatus.UNVERIFIED, Ended.SECONDS, 1)
    assert (result.best.state, result.spent.calls, cancelled) == ("a", 3, [Rate((2,))])


def test_a_call_that_swallows_its_cancellation_does_not_hold_the_search() -> None:
    def attempt(seconds: float) -> Any:
        release, began = asyncio.Event(), []
        world = Letters({"": "ab"})

        async def stubborn(ask: Ask) -> None:
            while ask.request == Rate((2,)) and not release.is_set():
                began.append(ask)
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue

        async def main() -> Any:
            started = time.monotonic()
            running = Search(Beam(), "", step=world.step)
            result = await adrive(running, calls(world, stubborn), deadline=started + seconds)
            assert time.monotonic() - started < WIDE
            release.set()
            return result

        result = asyncio.run(main())
        return result if began else None

    result = in_time(attempt)
    assert (result.ended, result.unfinished) == (Ended.SECONDS, 1)


def test_a_reply_given_in_spite_of_the_cancellation_is_counted() -> None:
    def attempt(seconds: float) -> Any:
        world, cancelled = Letters({"": "ab"}), []

        async def late(ask: Ask) -> None:
            try:
                await hang_on_second(ask)
            except asyncio.CancelledError:
                cancelled.append(ask)

        async def main() -> Any:
            running = Search(Beam(), "", step=world.step)
            return await adrive(running, calls(world, late), deadline=time.monotonic() + seconds)

        result = asyncio.run(main())
        return result if cancelled else None

    result = in_time(attempt)
    assert (result.spent.calls, result.unfinished, result.tree[2].value) == (3, 0, None)


def test_the_deadline_holds_and_others_have_their_turn_between_replies_of_code() -> None:
    def attempt(seconds: float) -> Any:
        endless, turns, replies = Letters({"a" * k: "a" for k in range(9000)}), [0], [0]

        def prepare(ask: Ask, tree: Tree[Any, Any]) -> Reply:
            time.sleep(0.002)
            replies[0] += 1
            return Reply(endless.answer(ask.request, tree), Usage(0), by_code=True)

        async def ticks() -> None:
            while True:
                turns[0] += 1
                await asyncio.sleep(0)

        async def main() -> Any:
            ticking = asyncio.create_task(ticks())
            running = Search(Beam(max_depth=9000), "", step=endless.step)
            result = await adrive(running, prepare, deadline=time.monotonic() + seconds)
            ticking.cancel()
            return result

        ended = asyncio.run(main()).ended
        return (ended, turns[0]) if replies[0] > 12 else None

    ended, turns = in_time(attempt)
    assert ended is Ended.SECONDS
    assert turns > 5


# ---- cancellation


def test_cancellation_is_raised_again_and_leaves_nothing_running() -> None:
    world, ended = Letters({"": "ab"}), []

    async def hang(ask: Ask) -> None:
        try:
            await hang_on_second(ask)
        finally:
            ended.append(ask.request)

    async def main() -> None:
        running = Search(Beam(), "", step=world.step)
        task = asyncio.create_task(adrive(running, calls(world, hang)))
        await turns_until(lambda: len(ended) == 2)  # the proposal and the first rating are in
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert others() == set()
        assert running.status is SearchStatus.RUNNING  # nobody said that it ended

    asyncio.run(main())
    assert ended == [Propose(0, 5), Rate((1,)), Rate((2,))]


def test_cancellation_that_comes_while_the_search_cleans_up_is_raised_too() -> None:
    def attempt(seconds: float) -> Any:
        world, cleaning, cancelled = Letters({"": "ab"}), [], asyncio.Event()

        async def slow_to_end(ask: Ask) -> None:
            try:
                await hang_on_second(ask)
            finally:
                if ask.request == Rate((2,)):
                    cleaning.append(ask)
                    await cancelled.wait()

        async def main() -> bool:
            running = Search(Beam(), "", step=world.step)
            deadline = time.monotonic() + seconds
            task = asyncio.create_task(adrive(running, calls(world, slow_to_end), deadline=deadline))
            await turns_until(lambda: cleaning or task.done())
            if not cleaning:
                return False
            task.cancel()
            cancelled.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert others() == set()
            return True

        return asyncio.run(main()) or None

    assert in_time(attempt)


def test_wait_for_times_out_as_it_should() -> None:
    async def main() -> None:
        world = Letters({"": "ab"})
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(adrive(Search(Beam(), "", step=world.step), calls(world, hang_on_second)), 0.1)
        assert others() == set()

    asyncio.run(main())


def test_anyio_move_on_after_ends_the_search_and_leaves_nothing_running() -> None:
    world, finally_ran, scopes = Letters({"": "ab"}), [], list[anyio.CancelScope]()

    async def hang(ask: Ask) -> None:
        try:
            if ask.request == Rate((2,)):
                scopes[0].deadline = anyio.current_time() + 0.01
            await hang_on_second(ask)
        finally:
            await asyncio.sleep(0)  # a clean-up that itself waits
            finally_ran.append(ask.request)

    async def main() -> None:
        started = time.monotonic()
        with anyio.move_on_after(WIDE) as scope:
            scopes.append(scope)
            await adrive(Search(Beam(), "", step=world.step), calls(world, hang))
        assert scope.cancelled_caught
        assert time.monotonic() - started < WIDE
        assert others() == set()

    anyio.run(main)
    assert Rate((2,)) in finally_ran


def test_an_anyio_task_group_that_is_cancelled_ends_its_searches() -> None:
    async def main() -> None:
        world = Letters({"": "ab"})
        running = [Search(Beam(), "", step=world.step) for _ in range(3)]
        async with anyio.create_task_group() as group:
            for one in running:
                group.start_soon(adrive, one, calls(world, hang_on_second))
            await turns_until(lambda: all(one.spent.calls == 2 for one in running))
            group.cancel_scope.cancel()
        assert others() == set()
        assert all(one.spent.calls == 2 for one in running)

    anyio.run(main)


def test_an_anyio_scope_around_one_call_times_that_call_out_alone() -> None:
    world = Letters({"": "ab"})

    async def limited(ask: Ask) -> None:
        with anyio.fail_after(0.05):
            await hang_on_second(ask)

    async def main() -> Any:
        return await adrive(Search(Beam(max_depth=1), "", step=world.step), calls(world, limited))

    result = anyio.run(main)
    assert result.errors == {"TimeoutError: ": 1}
    assert (result.best.state, result.ended) == ("a", Ended.SEARCHED_OUT)


def test_a_call_that_is_cancelled_from_within_is_a_failed_call() -> None:
    """Two searches wait for one future; who started it is cancelled, and with it what both wait for."""
    world = Letters({"": "ab"})

    async def main() -> Any:
        shared = asyncio.get_running_loop().create_future()

        async def wait(ask: Ask) -> None:
            if ask.request == Rate((2,)):
                await shared

        running = Search(Beam(max_depth=1), "", step=world.step)
        task = asyncio.create_task(adrive(running, calls(world, wait)))
        await turns_until(lambda: running.spent.calls == 2)
        shared.cancel()
        return await asyncio.wait_for(task, WIDE)

    result = asyncio.run(main())
    assert result.first_error == "CancelledError: what the call waited for was cancelled"
    assert (result.best.state, result.spent.calls, result.ended) == ("a", 3, Ended.SEARCHED_OUT)


def test_a_call_whose_task_others_cancel_does_not_leave_the_search_waiting() -> None:
    async def main() -> None:
        world = Letters({"": "ab"})
        running = Search(Beam(), "", step=world.step)
        task = asyncio.create_task(adrive(running, calls(world, hang_on_second)))
        await turns_until(lambda: running.spent.calls == 2)
        for other in others() - {task}:
            other.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, WIDE)
        assert others() == set()

    asyncio.run(main())


def test_the_end_of_the_loop_ends_a_search_that_nobody_waits_for() -> None:
    world, ended = Letters({"": "ab"}), []

    async def hang(ask: Ask) -> None:
        try:
            await hang_on_second(ask)
        finally:
            ended.append(ask.request)

    async def main() -> asyncio.Task[Any]:
        task = asyncio.create_task(adrive(Search(Beam(), "", step=world.step), calls(world, hang)))
        await turns_until(lambda: len(ended) == 2)
        return task

    task = asyncio.run(main())
    assert task.cancelled()
    assert Rate((2,)) in ended


# ---- interrupts and errors


@pytest.mark.parametrize(
    ("where", "error"),
    [("observe", KeyboardInterrupt), ("observe", ZeroDivisionError), ("prepare", KeyboardInterrupt)],
)
def test_what_is_raised_outside_calls_is_raised_again_and_leaves_nothing_running(
    where: str, error: type[BaseException]
) -> None:
    world, left = Letters({"": "abcd"}), []
    slow = calls(world, hang_on_second)

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Any:
        if where == "prepare" and ask.request == Rate((3,)):
            raise error
        return slow(ask, tree)

    def observe(event: Event) -> None:
        if where == "observe" and event.ask.request == Rate((1,)):
            raise error

    async def main() -> None:
        with pytest.raises(error):
            await adrive(Search(Beam(), "", step=world.step), prepare, observe=observe)
        left.append(others())

    asyncio.run(main())
    assert left == [set()]


def test_an_exception_in_a_call_is_that_calls_failure() -> None:
    world = Letters({"": "ab"})

    async def fail(ask: Ask) -> None:
        if ask.request == Rate((1,)):
            raise ConnectionError("refused")

    result = asyncio.run(adrive(Search(Beam(max_depth=1), "", step=world.step), calls(world, fail)))
    assert result.errors == {"ConnectionError: refused": 1}
    assert (result.best.state, result.spent.calls) == ("b", 3)


def test_a_call_that_cannot_even_be_made_is_a_failed_call() -> None:
    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Any:
        def call() -> Awaitable[Reply]:
            raise TypeError("not a coroutine function")

        return call

    result = asyncio.run(adrive(Search(Beam(), ""), prepare))
    assert (result.ended, result.first_error) == (Ended.ERROR, "TypeError: not a coroutine function")


# ---- what is in flight


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_at_most_so_many_calls_are_in_flight(concurrency: int) -> None:
    world, now, peak = Letters({"": "abcdefgh"}), [0], [0]

    async def count(ask: Ask) -> None:
        now[0] += 1
        peak[0] = max(peak[0], now[0])
        await asyncio.sleep(0.005)
        now[0] -= 1

    running = Search(Beam(branching=8, max_depth=1), "", step=world.step)
    asyncio.run(adrive(running, calls(world, count), concurrency=concurrency))
    assert peak[0] == concurrency


@pytest.mark.parametrize("controller", [Beam(width=3), DFS(), BestFirst(open=3)])
def test_with_one_call_in_flight_calls_come_in_the_order_of_asking(controller: Any) -> None:
    order: list[int] = []
    world = Digits(3)

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Any:
        reply = Reply(world.answer(ask.request, tree, ask.attempt))

        async def call() -> Reply:
            order.append(ask.id)
            return reply

        return call

    asyncio.run(adrive(search(controller, world), prepare, concurrency=1))
    assert order == list(range(len(order)))


def test_on_a_goal_what_is_in_flight_is_cancelled_and_what_waits_is_dropped() -> None:
    world, started, cancelled = Letters({"": "abc"} | dict.fromkeys("abc", "x"), goals=("ax",)), [], []

    async def hang(ask: Ask) -> None:
        started.append(ask.request)
        if ask.request == Propose(2, 5):
            try:
                await asyncio.sleep(2 * WIDE)
            except asyncio.CancelledError:
                cancelled.append(ask.request)
                raise

    async def main() -> Any:
        running = Search(Beam(max_depth=2, stop="first"), "", step=world.step)
        return await adrive(running, calls(world, hang), concurrency=2)

    result = asyncio.run(main())
    assert (result.status, result.unfinished) == (SearchStatus.SOLVED, 1)
    assert cancelled == [Propose(2, 5)]
    assert Propose(3, 5) not in started


def test_many_searches_share_a_loop() -> None:
    async def main() -> list[int]:
        worlds = [Letters({"": "ab", "a": "c", "b": "d"}) for _ in range(20)]

        async def moment(ask: Ask) -> None:
            await asyncio.sleep(0.001)

        done = await asyncio.gather(
            *(adrive(Search(Beam(max_depth=2), "", step=w.step), calls(w, moment)) for w in worlds)
        )
        return [result.spent.calls for result in done]

    assert asyncio.run(main()) == [7] * 20


def test_a_search_inside_a_call_of_a_search() -> None:
    async def main() -> Any:
        inner_world, world = Letters({"": "ab"}, {"b": 5.0}), Letters({"": "ab"})

        def prepare(ask: Ask, tree: Tree[Any, Any]) -> Any:
            async def call() -> Reply:
                if isinstance(ask.request, Rate):
                    inner = Search(Beam(max_depth=1), "", step=inner_world.step)
                    return Reply(Rated(((await adrive(inner, calls(inner_world))).value or 0.0,)))
                return Reply(world.answer(ask.request, tree))

            return call

        return await adrive(Search(Beam(max_depth=1), "", step=world.step), prepare, concurrency=1)

    assert [n.value for n in asyncio.run(main()).tree][1:] == [5.0, 5.0]


def test_each_call_has_a_context_of_its_own() -> None:
    setting: contextvars.ContextVar[str] = contextvars.ContextVar("setting", default="unset")
    seen: list[str] = []

    async def look(ask: Ask) -> None:
        seen.append(setting.get())
        setting.set(f"set by call {ask.id}")

    async def main() -> str:
        setting.set("caller's")
        world = Letters({"": "abc"})
        await adrive(Search(Beam(max_depth=1), "", step=world.step), calls(world, look))
        return setting.get()

    assert asyncio.run(main()) == "caller's"
    assert seen == ["caller's"] * 4


def test_no_thread_is_started() -> None:
    before = threading.active_count()
    world = Letters({"": "ab"})
    asyncio.run(adrive(Search(Beam(max_depth=1), "", step=world.step), calls(world)))
    assert threading.active_count() == before


def test_a_failed_reply_is_told_as_it_is() -> None:
    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Any:
        return Reply(Failed("no such key", fatal=True), Usage(0))

    result = asyncio.run(adrive(Search(Beam(), ""), prepare))
    assert (result.ended, result.first_error, result.spent.calls) == (Ended.ERROR, "no such key", 0)


def test_a_concurrency_that_starts_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"adrive\(concurrency=0\): must be at least 1"):
        asyncio.run(adrive(Search(Beam(), ""), calls(Letters({})), concurrency=0))
