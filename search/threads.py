"""The thread driver, behind `forward`: each call in a worker thread, under the caller's context."""

from __future__ import annotations

import contextvars
import threading
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from .grow import describe
from .journal import Journal
from .protocol import ONE_CALL, Ask, Failed, Reply
from .pump import Observe, Pump, Recall
from .result import SearchResult
from .search import Search
from .slots import Slots
from .stopping import Stop
from .tree import A, S, Tree

LONGEST = 86_400.0  # seconds: Python's queues take no time of centuries, and whoever waits a day may look again

# Prepared on the driver's thread (the only one that touches the tree), called on another.
Call: TypeAlias = Callable[[], Reply]


class _Workers:
    """Daemon threads, started as needed. A hung call holds one, and never the caller or the exit."""

    def __init__(self, journal: Journal | None) -> None:
        self.started, self.journal = 0, journal
        self.order = threading.Lock()
        self.jobs: SimpleQueue[tuple[Ask, contextvars.Context, Call] | None] = SimpleQueue()
        self.done: SimpleQueue[tuple[Ask, Reply | BaseException] | None] = SimpleQueue()  # None: look up

    def start(self, ask: Ask, call: Reply | Call, flying: int) -> None:
        """Have a worker make the call. A reply of code is there already."""
        if isinstance(call, Reply):
            self.deliver(ask, call)
            return
        self.jobs.put((ask, contextvars.copy_context(), call))
        if flying >= self.started:
            self.started += 1
            threading.Thread(target=self._work, name=f"thoughtree-{self.started}", daemon=True).start()

    def deliver(self, ask: Ask, reply: Reply | BaseException) -> None:
        """Journal a reply and queue it for the driver: in one order, which is that in which it will be told."""
        if self.journal is None or isinstance(reply, BaseException):
            self.done.put((ask, reply))
            return
        with self.order:
            try:
                self.journal.write(ask, reply)
            except Exception as error:
                self.done.put((ask, error))
            else:
                self.done.put((ask, reply))

    def arrived(self) -> Iterator[tuple[Ask, Reply | BaseException]]:
        """The replies that are there, without waiting."""
        while True:
            try:
                found = self.done.get_nowait()
            except Empty:
                return
            if found is not None:
                yield found

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            ask, context, call = job
            del job
            self.deliver(ask, self._answer(context, call))
            del context, call  # an idle worker holds on to nothing

    def _answer(self, context: contextvars.Context, call: Call) -> Reply | BaseException:
        try:
            return context.run(call)
        except (Exception, CancelledError) as error:  # nobody cancels a thread: something that it waited for was
            return Reply(Failed(describe(error)), ONE_CALL)
        except BaseException as error:  # SystemExit, KeyboardInterrupt: the caller's, not this thread's
            return error

    def close(self) -> None:
        for _ in range(self.started):
            self.jobs.put(None)


def drive(
    search: Search[S, A],
    prepare: Callable[[Ask, Tree[S, A]], Reply | Call],
    *,
    concurrency: int = 8,
    steps: int | None = None,
    deadline: float | None = None,
    journal: Journal | None = None,
    observe: Observe | None = None,
    stop: Stop | None = None,
    recall: Recall | None = None,
) -> SearchResult[S, A]:
    """Run `search` with at most `concurrency` calls in flight, and `steps` steps of an environment; see `Slots`.

    prepare: makes one call from an ask (or answers it at once), on this thread. deadline: a time.monotonic(); the
    search returns then, and a call that hangs stays in its thread. observe: called after each reply, here.
    stop: ends the search from outside. recall: called here before a reply of the journal is told again.
    """
    for name, most in (("concurrency", concurrency), ("steps", steps)):
        if most is not None and most < 1:
            raise ValueError(f"drive({name}={most!r}): must be at least 1")
    started, slots = time.monotonic(), Slots(search, concurrency, steps)
    workers, stop = _Workers(journal), stop or Stop()
    pump: Pump[S, A, Call] = Pump(search, prepare, journal, observe, recall)

    def tell(ask: Ask, reply: Reply | BaseException) -> None:
        slots.give_back(ask.request)
        if isinstance(reply, BaseException):
            raise reply
        pump.tell(ask, reply)

    def wake() -> None:
        workers.done.put(None)

    stop.wakes(wake)
    try:
        for _ in pump.resume():
            pass
        while not search.done:
            now = time.monotonic()
            if (why := stop.due(now, deadline)) is not None:
                for arrived in workers.arrived():  # in time, and it may be the solution
                    tell(*arrived)
                search.stop(why)
                break
            if slots.some and (job := pump.next(now, slots.free)) is not None:
                workers.start(*job, slots.taken)
                slots.take(job[0].request)
            elif not search.done:
                ready_at = pump.ready_at() if slots.some else None  # without a slot it is no news
                if (found := _wait(workers, slots.taken, now, deadline, ready_at)) is not None:
                    tell(*found)
        for arrived in workers.arrived():  # too late to change anything, but paid for
            tell(*arrived)
    finally:
        stop.forgets(wake)
        workers.close()
    return search.result().replace(seconds=time.monotonic() - started, unfinished=slots.taken)


def _wait(
    workers: _Workers, flying: int, now: float, deadline: float | None, ready_at: float | None
) -> tuple[Ask, Any] | None:
    """The next reply; None when something else is due first: the deadline, a stop, a delayed call."""
    if not flying and ready_at is None:
        raise RuntimeError("the search waits for nothing and has not ended; this is a defect of its controller")
    due = [t for t in (deadline, ready_at) if t is not None]
    try:
        return workers.done.get(timeout=min(max(0.0, min(due) - now), LONGEST)) if due else workers.done.get()
    except Empty:
        return None
