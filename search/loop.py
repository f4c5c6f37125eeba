"""The asyncio driver, behind `aforward`: each call a task; those in flight are cancelled when the search ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Generic, TypeVar

from .beside import Aside
from .budget import Ended
from .hooks import Hooks
from .in_flight import AsyncCall, InFlight
from .journal import Journal
from .patience import Left, Patience
from .protocol import Ask, Reply
from .pump import Observe, Pump, Recall
from .result import SearchResult
from .search import Search
from .slots import Slots
from .stopping import Stop
from .tree import A, S, Tree

T = TypeVar("T")
TURN = 100  # replies of a journal that are told again (some milliseconds) before others on the loop get a turn
GRACE = 0.2  # seconds that a cancelled call has to end in; after that it is left to its loop


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
    patience: Patience | None = None,
) -> SearchResult[S, A]:
    """Run `search` with at most `concurrency` calls in flight, on the running loop; else as `drive` does.

    Cancellation is raised again once the calls in flight have ended. With a deadline, or a stop, the search's own code
    and `observe` run in a thread, and others on the loop have their turn meanwhile; without, on the loop.
    """
    for name, most in (("concurrency", concurrency), ("steps", steps)):
        if most is not None and most < 1:
            raise ValueError(f"adrive({name}={most!r}): must be at least 1")
    started, slots, stopping = time.monotonic(), Slots(search, concurrency, steps), stop or Stop()
    if patience is None and (deadline is not None or stop is not None):
        patience = Patience(Hooks(), stopping, deadline)
    own = None if patience is None else Aside("thoughtree-steps")
    if patience is not None:
        search.watch(patience.hooks)
        prepare = patience.hooks.watched("prepare", prepare)
        observe = None if observe is None else patience.hooks.watched("observe", observe)
    pump: Pump[S, A, AsyncCall] = Pump(search, prepare, journal, observe, recall)
    running = _Running(pump, slots, stopping, deadline, journal, own, patience)
    stopping.wakes(running.wake)
    found: SearchResult[S, A] | None = None
    try:
        try:
            await running.steps()
        finally:
            stopping.forgets(running.wake)
            await running.calls.reap(GRACE if patience is None else patience.rest(GRACE))
        await running.tell_arrived()  # too late to change anything, but paid for
    except Left:
        assert patience is not None
        patience.leave()
        found = search.left(Ended.STOPPED if stopping.asked else Ended.SECONDS)
    finally:
        running.close()
        left = patience.give_up() if patience is not None else ()
    found = found or search.result()
    return found.replace(seconds=time.monotonic() - started, unfinished=slots.taken, hung=left)


class _Running(Generic[S, A]):
    """One search on the loop. own: the thread of its steps; None: they run here."""

    def __init__(
        self,
        pump: Pump[S, A, AsyncCall],
        slots: Slots,
        stop: Stop,
        deadline: float | None,
        journal: Journal | None,
        own: Aside | None,
        patience: Patience | None,
    ) -> None:
        self.pump, self.slots, self.stop, self.deadline = pump, slots, stop, deadline
        self.journal, self.own, self.patience = journal, own, patience
        # A thread of its own, as the loop's may all be taken, and as it may hang.
        apart = journal is not None and (journal.fsync or own is not None)
        self.disk = Aside("thoughtree-disk") if apart else None
        self.calls = InFlight(journal, self.disk if own is not None else None)
        self._loop = asyncio.get_running_loop()

    def wake(self) -> None:
        self._loop.call_soon_threadsafe(self.calls.rouse)

    def close(self) -> None:
        for thread in (self.own, self.disk):
            if thread is not None:
                thread.close()

    async def steps(self) -> None:
        """The search from its first step to its last."""
        search, slots, calls = self.pump.search, self.slots, self.calls
        replayed = self.pump.resume()
        while await self._step(partial(_some, replayed)):
            await asyncio.sleep(0)
        while not search.done:
            now = time.monotonic()
            if (why := self.stop.due(now, self.deadline)) is not None:
                await self.tell_arrived()  # in time, and it may be the solution
                await self._step(partial(search.stop, why))
            elif slots.some and (jobs := await self._step(partial(self._next, now))):
                for job in jobs:
                    calls.start(*job)
            elif not search.done:
                ready_at = self.pump.ready_at() if slots.some else None  # without a slot it is no news
                if not slots.taken and ready_at is None:
                    raise RuntimeError("the search waits for nothing and has not ended; its controller has a defect")
                due = (t for t in (self.deadline, ready_at) if t is not None)
                await calls.wait(min(due, default=None))
                await self.tell_arrived()

    async def tell_arrived(self) -> None:
        """Tell the replies that are there."""
        calls, disk, journal = self.calls, self.disk, self.journal
        while arrived := len(calls.done) + calls.writing:
            if disk is not None and journal is not None:
                await disk.run(journal.force, self.patience)  # those that come meanwhile are forced and told next
            told = [calls.done.popleft() for _ in range(min(arrived, len(calls.done)))]
            await self._step(partial(self._tell, told))

    def _next(self, now: float) -> list[tuple[Ask, Reply | AsyncCall]]:
        """What may start now, with its slots taken."""
        jobs: list[tuple[Ask, Reply | AsyncCall]] = []
        while self.slots.some and (job := self.pump.next(now, self.slots.free)) is not None:
            self.slots.take(job[0].request)
            jobs.append(job)
        return jobs

    def _tell(self, arrived: list[tuple[Ask, Reply | BaseException]]) -> None:
        for ask, reply in arrived:
            self.slots.give_back(ask.request)
            if isinstance(reply, BaseException):
                raise reply
            self.pump.tell(ask, reply)

    async def _step(self, call: Callable[[], T]) -> T:
        """What `call()` gives: of the search's own code, one call at a time."""
        return call() if self.own is None else await self.own.run(call, self.patience)


def _some(replayed: Iterator[None]) -> bool:
    """Tell some more replies of the journal again; False: that was all."""
    return sum(1 for _ in islice(replayed, TURN)) == TURN
