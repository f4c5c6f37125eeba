"""The thread driver, behind `forward`: each call in a worker thread, under the caller's context."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from .budget import Ended
from .grow import describe
from .journal import Journal
from .protocol import ONE_CALL, Ask, Failed, Reply
from .pump import Observe, Pump
from .result import SearchResult
from .search import Search
from .tree import A, S, Tree

# Prepared on the driver's thread (the only one that touches the tree), called on another.
Call: TypeAlias = Callable[[], Reply]


class _Workers:
    """Daemon threads, started as needed. A hung call holds one, and never the caller or the exit."""

    def __init__(self, most: int, journal: Journal | None) -> None:
        self.most, self.started, self.journal = most, 0, journal
        self.jobs: SimpleQueue[tuple[Ask, contextvars.Context, Call] | None] = SimpleQueue()
        self.done: SimpleQueue[tuple[Ask, Reply | BaseException]] = SimpleQueue()

    def submit(self, ask: Ask, call: Call, flying: int) -> None:
        self.jobs.put((ask, contextvars.copy_context(), call))
        if flying >= self.started:
            self.started += 1
            threading.Thread(target=self._work, name=f"thoughtree-{self.started}", daemon=True).start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            ask, context, call = job
            del job
            self.done.put((ask, self._answer(ask, context, call)))

    def _answer(self, ask: Ask, context: contextvars.Context, call: Call) -> Reply | BaseException:
        try:
            reply = context.run(call)
        except Exception as error:
            reply = Reply(Failed(describe(error)), ONE_CALL)
        except BaseException as error:  # SystemExit, KeyboardInterrupt: the caller's, not this thread's
            return error
        if self.journal is not None:
            try:
                self.journal.write(ask, reply)
            except Exception as error:
                return error
        return reply

    def close(self) -> None:
        for _ in range(self.started):
            self.jobs.put(None)


def drive(
    search: Search[S, A],
    prepare: Callable[[Ask, Tree[S, A]], Reply | Call],
    *,
    concurrency: int = 8,
    deadline: float | None = None,
    journal: Journal | None = None,
    observe: Observe | None = None,
) -> SearchResult[S, A]:
    """Run `search` with at most `concurrency` calls in flight.

    prepare: makes one call from an ask (or answers it at once), on this thread. deadline: a time.monotonic(); the
    search returns then, and a call that hangs stays in its thread. observe: called after each reply, here.
    """
    if concurrency < 1:
        raise ValueError(f"drive(concurrency={concurrency!r}): must be at least 1")
    started, flying = time.monotonic(), 0
    workers = _Workers(concurrency, journal)
    pump: Pump[S, A, Call] = Pump(search, prepare, journal, observe)
    try:
        while not search.done:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                search.stop(Ended.SECONDS)
                break
            while flying < concurrency and (job := pump.next(now)) is not None:
                workers.submit(*job, flying)
                flying += 1
            if search.done:
                break
            told = _wait(workers, flying, now, deadline, pump.ready_at())
            if told is not None:
                ask, reply = told
                flying -= 1
                if isinstance(reply, BaseException):
                    raise reply
                pump.tell(ask, reply)
    finally:
        workers.close()
    return search.result().replace(seconds=time.monotonic() - started, unfinished=flying)


def _wait(
    workers: _Workers, flying: int, now: float, deadline: float | None, ready_at: float | None
) -> tuple[Ask, Any] | None:
    """The next reply; None when something else is due first: the deadline, or a delayed call."""
    if not flying and ready_at is None:
        raise RuntimeError("the search waits for nothing and has not ended; this is a defect of its controller")
    due = [t for t in (deadline, ready_at) if t is not None]
    try:
        return workers.done.get(timeout=max(0.0, min(due) - now)) if due else workers.done.get()
    except Empty:
        return None
