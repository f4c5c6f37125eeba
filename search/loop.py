"""The asyncio driver, behind `aforward`: each call a task; those in flight are cancelled when the search ends."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

from .grow import describe
from .journal import Journal
from .protocol import ONE_CALL, Ask, Failed, Reply
from .pump import Observe, Pump, Recall
from .result import SearchResult
from .search import Search
from .slots import Slots
from .stopping import Stop
from .tree import A, S, Tree

AsyncCall: TypeAlias = Callable[[], Awaitable[Reply]]
TURN = 100  # replies of a journal that are told again (some milliseconds) before others on the loop get a turn
GRACE = 0.3  # seconds that a cancelled call has to end in; after that it is left to its loop


class _Tasks:
    """The calls in flight. All on one thread, so nothing here is locked."""

    def __init__(self, journal: Journal | None) -> None:
        self.journal = journal
        self.running: set[asyncio.Task[None]] = set()
        self.done: deque[tuple[Ask, Reply | BaseException]] = deque()
        self.wake: asyncio.Future[None] | None = None
        self.reaping = False  # the search is over: what is in flight is being cancelled

    def start(self, ask: Ask, call: Reply | AsyncCall) -> None:
        """Make the call in a task of its own. A reply of code is there already."""
        if isinstance(call, Reply):
            self.deliver(ask, call)
            return
        task = asyncio.create_task(self._answer(ask, call))
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    def deliver(self, ask: Ask, reply: Reply | BaseException) -> None:
        """Journal a reply and queue it for the driver: in one order, which is that in which it will be told."""
        if self.journal is not None and isinstance(reply, Reply):
            write = self.journal.append if self.journal.fsync else self.journal.write  # forced before it is told
            try:
                write(ask, reply)
            except Exception as error:
                reply = error
        self.done.append((ask, reply))
        self.rouse()

    def rouse(self) -> None:
        """Wake the driver, if it waits."""
        if self.wake is not None:
            _set(self.wake)

    async def _answer(self, ask: Ask, call: AsyncCall) -> None:
        found: Reply | BaseException
        try:
            found = await call()
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if self.reaping or (task is not None and task.cancelling()):
                if not self.reaping:  # by whoever shuts the loop down: the driver must not wait for this reply
                    self.deliver(ask, error)
                raise
            found = Reply(Failed("CancelledError: what the call waited for was cancelled"), ONE_CALL)
        except Exception as error:
            found = Reply(Failed(describe(error)), ONE_CALL)
        except BaseException as error:
            found = error
        self.deliver(ask, found)

    async def wait(self, until: float | None) -> None:
        """Until a reply is there, or until that time (of time.monotonic). Others on the loop always get a turn."""
        if self.done:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        self.wake = loop.create_future()
        timer = None
        if until is not None:
            timer = loop.call_later(max(0.0, until - time.monotonic()), _set, self.wake)
        try:
            await self.wake
        finally:
            self.wake = None
            if timer is not None:
                timer.cancel()

    async def reap(self) -> None:
        """Cancel what is in flight and see it end, for a while. Raises CancelledError if that came meanwhile."""
        left, self.reaping = set(self.running), True
        for task in left:
            task.cancel()
        until, cancelled = time.monotonic() + GRACE, None
        while (left := {task for task in left if not task.done()}) and (rest := until - time.monotonic()) > 0:
            try:
                await asyncio.wait(left, timeout=rest)
            except asyncio.CancelledError as error:  # anyio delivers it again at every await
                cancelled = error
        if cancelled is not None:
            raise cancelled


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def adrive(
    search: Search[S, A],
    prepare: Callable[[Ask, Tree[S, A]], Reply | AsyncCall],
    *,
    concurrency: int = 8,
    steps: int | None = None,
    deadline: float | None = None,
    journal: Journal | None = None,
    observe: Observe | None = None,
    stop: Stop | None = None,
    recall: Recall | None = None,
) -> SearchResult[S, A]:
    """Run `search` with at most `concurrency` calls in flight, on the running loop; else as `drive` does.

    Cancellation is raised again once the calls in flight have ended.
    """
    for name, most in (("concurrency", concurrency), ("steps", steps)):
        if most is not None and most < 1:
            raise ValueError(f"adrive({name}={most!r}): must be at least 1")
    started, slots = time.monotonic(), Slots(search, concurrency, steps)
    tasks, stop, loop = _Tasks(journal), stop or Stop(), asyncio.get_running_loop()
    pump: Pump[S, A, AsyncCall] = Pump(search, prepare, journal, observe, recall)
    # A thread of its own, as the loop's may all be taken. It ends with this call.
    disk = ThreadPoolExecutor(1, "thoughtree-disk") if journal is not None and journal.fsync else None

    async def tell_arrived() -> None:
        while arrived := len(tasks.done):
            if disk is not None and journal is not None:
                await loop.run_in_executor(disk, journal.force)  # those that come meanwhile are forced and told next
            for _ in range(arrived):
                ask, reply = tasks.done.popleft()
                slots.give_back(ask.request)
                if isinstance(reply, BaseException):
                    raise reply
                pump.tell(ask, reply)

    def wake() -> None:
        loop.call_soon_threadsafe(tasks.rouse)

    stop.wakes(wake)
    try:
        for number, _ in enumerate(pump.resume(), 1):
            if not number % TURN:
                await asyncio.sleep(0)
        while not search.done:
            now = time.monotonic()
            if (why := stop.due(now, deadline)) is not None:
                await tell_arrived()  # in time, and it may be the solution
                search.stop(why)
            elif slots.some and (job := pump.next(now, slots.free)) is not None:
                tasks.start(*job)
                slots.take(job[0].request)
            elif not search.done:
                ready_at = pump.ready_at() if slots.some else None  # without a slot it is no news
                if not slots.taken and ready_at is None:
                    raise RuntimeError("the search waits for nothing and has not ended; its controller has a defect")
                await tasks.wait(min((t for t in (deadline, ready_at) if t is not None), default=None))
                await tell_arrived()
    finally:
        stop.forgets(wake)
        await tasks.reap()
    await tell_arrived()  # too late to change anything, but paid for
    return search.result().replace(seconds=time.monotonic() - started, unfinished=slots.taken)
