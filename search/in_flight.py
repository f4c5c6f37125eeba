"""The calls of the asyncio driver that are in flight, each a task, and the replies that wait to be told."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from .beside import Aside, Came
from .grow import describe
from .hooks import GivenUp
from .journal import Journal
from .protocol import ONE_CALL, Ask, Failed, Reply

AsyncCall: TypeAlias = Callable[[], Awaitable[Reply]]


class InFlight:
    """All on the loop's thread, so nothing here is locked.

    writer: the thread in which replies are journaled, as the code that writes a state may hang; None: this one.
    """

    def __init__(self, journal: Journal | None, writer: Aside | None) -> None:
        self.journal, self._writer = journal, writer
        self.running: set[asyncio.Task[None]] = set()
        self.done: deque[tuple[Ask, Reply | BaseException]] = deque()
        self.writing = 0  # replies that will be done once they are on disk
        self.wake: asyncio.Future[None] | None = None
        self.roused = False  # since the driver last waited
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
        journal = self.journal
        if journal is None or not isinstance(reply, Reply):
            self._arrive(ask, reply)
            return
        write = partial(journal.append if journal.fsync else journal.write, ask, reply)  # forced before it is told
        if self._writer is not None:
            self.writing += 1
            self._writer.do(write, partial(self._written, ask, reply))
            return
        try:
            write()
        except Exception as error:
            self._arrive(ask, error)
        else:
            self._arrive(ask, reply)

    def rouse(self) -> None:
        """Wake the driver; where it does not wait, it will not wait next time."""
        self.roused = True
        if self.wake is not None:
            _set(self.wake)

    def _written(self, ask: Ask, reply: Reply, came: Came) -> None:
        self.writing -= 1
        _, error = came
        if not isinstance(error, GivenUp):
            self._arrive(ask, reply if error is None else error)

    def _arrive(self, ask: Ask, reply: Reply | BaseException) -> None:
        self.done.append((ask, reply))
        self.rouse()

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
        except GivenUp:
            return
        except BaseException as error:
            found = error
        self.deliver(ask, found)

    async def wait(self, until: float | None) -> None:
        """Until a reply is there, or until that time (of time.monotonic). Others on the loop always get a turn."""
        if self.done or self.roused:  # a stop may come while the search's own thread says what to wait for
            self.roused = False
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
            self.wake, self.roused = None, False
            if timer is not None:
                timer.cancel()

    async def reap(self, seconds: float) -> None:
        """Cancel what is in flight and see it end, for so long. Raises CancelledError if that came meanwhile."""
        left, self.reaping = set(self.running), True
        for task in left:
            task.cancel()
        until, cancelled = time.monotonic() + seconds, None
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
