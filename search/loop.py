"""The asyncio driver, behind `aforward`: each call a task; those in flight are cancelled when the search ends."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from .budget import Ended
from .grow import describe
from .journal import Journal
from .protocol import ONE_CALL, Ask, Failed, Reply
from .pump import Observe, Pump
from .result import SearchResult
from .search import Search
from .tree import A, S, Tree

AsyncCall: TypeAlias = Callable[[], Awaitable[Reply]]
GRACE = 0.3  # seconds that a cancelled call has to end in; after that it is left to its loop


class _Tasks:
    """The calls in flight. All on one thread, so nothing here is locked."""

    def __init__(self, journal: Journal | None) -> None:
        self.journal = journal
        self.running: set[asyncio.Task[None]] = set()
        self.done: deque[tuple[Ask, Reply | BaseException]] = deque()
        self.wake: asyncio.Future[None] | None = None

    def start(self, ask: Ask, call: AsyncCall) -> None:
        task = asyncio.create_task(self._answer(ask, call))
        self.running.add(task)
        task.add_done_callback(self.running.discard)

    async def _answer(self, ask: Ask, call: AsyncCall) -> None:
        found: Reply | BaseException
        try:
            try:
                found = await call()
            except Exception as error:
                found = Reply(Failed(describe(error)), ONE_CALL)
            if self.journal is not None:
                self.journal.write(ask, found)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            found = error
        self.done.append((ask, found))
        if self.wake is not None and not self.wake.done():
            self.wake.set_result(None)

    async def wait(self, until: float | None) -> None:
        """Until a reply is there, or until that time (of time.monotonic)."""
        if self.done:
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

    async def reap(self) -> int:
        """Cancel what is in flight and see it end; how many calls would not. Raises CancelledError if that came."""
        left = set(self.running)
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
        return len(left)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def adrive(
    search: Search[S, A],
    prepare: Callable[[Ask, Tree[S, A]], Reply | AsyncCall],
    *,
    concurrency: int = 8,
    deadline: float | None = None,
    journal: Journal | None = None,
    observe: Observe | None = None,
) -> SearchResult[S, A]:
    """Run `search` with at most `concurrency` calls in flight, on the running loop; else as `drive` does.

    Cancellation is raised again once the calls in flight have ended.
    """
    if concurrency < 1:
        raise ValueError(f"adrive(concurrency={concurrency!r}): must be at least 1")
    started, flying, unfinished = time.monotonic(), 0, 0
    tasks = _Tasks(journal)
    pump: Pump[S, A, AsyncCall] = Pump(search, prepare, journal, observe)
    try:
        while not search.done:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                search.stop(Ended.SECONDS)
                break
            while flying < concurrency and (job := pump.next(now)) is not None:
                tasks.start(*job)
                flying += 1
            if search.done:
                break
            ready_at = pump.ready_at()
            if not flying and ready_at is None:
                raise RuntimeError("the search waits for nothing and has not ended; its controller has a defect")
            await tasks.wait(min((t for t in (deadline, ready_at) if t is not None), default=None))
            while tasks.done and not search.done:
                ask, reply = tasks.done.popleft()
                flying -= 1
                if isinstance(reply, BaseException):
                    raise reply
                pump.tell(ask, reply)
    finally:
        unfinished = flying
        await tasks.reap()
    return search.result().replace(seconds=time.monotonic() - started, unfinished=unfinished)
