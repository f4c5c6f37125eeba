"""Calls in threads, and what is done between them, by one thread at a time."""

from __future__ import annotations

import contextvars
import threading
import time
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, TypeAlias

from .grow import describe
from .hooks import GivenUp
from .journal import Journal
from .protocol import ONE_CALL, Ask, Failed, Reply
from .pump import Pump
from .slots import Slots
from .tree import A, S

# Prepared by whoever has the turn (only one thread at a time touches the tree), called without it.
Call: TypeAlias = Callable[[], Reply]
Job: TypeAlias = tuple[Ask, contextvars.Context, Call]


class Turns(Generic[S, A]):
    """Calls, each in a daemon thread, and what is done between them, which has one thread at a time: the turn.

    A worker that has made its call tells the reply and goes on with the next call by itself, if it can have the turn.
    To hand both to the driver's thread and back would be two changes of threads a call, and with a hundred threads
    each waits its time. Where somebody observes, the driver's thread has all the turns: callbacks may belong to it.

    A call that hangs holds its thread, and never the caller or the exit.
    """

    def __init__(
        self, pump: Pump[S, A, Call], journal: Journal | None, slots: Slots, due: Callable[[float], Any], shared: bool
    ) -> None:
        """due: why the search has to end now, or None. shared: whether workers may have the turn."""
        # None once closed: what a hung call's thread still holds is not the search.
        self.open: tuple[Pump[S, A, Call], Slots] | None = (pump, slots)
        self.journal, self.due, self.shared = journal, due, shared
        self.turn = threading.Lock()
        self.context = contextvars.copy_context()  # the caller's, for hooks that a worker runs
        self.started = 0
        self.over = False  # it was due to end: nobody waits for what is in flight
        self.error: BaseException | None = None  # of a hook that a worker ran: the caller's
        self.wakes: SimpleQueue[None] = SimpleQueue()  # the driver's thread waits for these
        self._order = threading.Lock()
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._arrived: deque[tuple[Ask, Reply | BaseException]] = deque()

    def wake(self) -> None:
        self.wakes.put(None)

    def close(self) -> None:
        """Nothing begins any more. What is in flight ends by itself."""
        self.open = None
        for _ in range(self.started):
            self._jobs.put(None)

    # ---- with the turn

    def advance(self, *, keep: bool = False) -> Job | None:
        """Tell what has arrived, and start what may start. keep: give one job back, for this thread to do."""
        try:
            return self._advance(keep)
        except BaseException:
            self.open = None  # before another thread has the turn
            raise

    def _advance(self, keep: bool) -> Job | None:
        kept: Job | None = None
        while self.open is not None:
            pump, slots = self.open
            now = time.monotonic()
            if not pump.search.done and (why := self.due(now)) is not None:
                self.tell()  # in time, and it may be the solution
                pump.search.stop(why)
                self.over = True
            if self.over or pump.search.done:
                if kept is not None:  # it does not start
                    slots.give_back(kept[0].request)
                return None
            if slots.some and (found := pump.next(now, slots.free)) is not None:
                if self.open is None:  # pyright: ignore[reportUnnecessaryComparison]
                    return None  # it was given up meanwhile
                ask, call = found
                slots.take(ask.request)
                if isinstance(call, Reply):
                    self._deliver(ask, call)
                elif keep and kept is None:
                    kept = ask, contextvars.copy_context(), call
                else:
                    self._start((ask, contextvars.copy_context(), call), slots.taken)
            elif not self._tell_one() and not pump.search.done:
                return kept
        return None

    def tell(self) -> None:
        """Tell the replies that are there."""
        while self._tell_one():
            pass

    def _tell_one(self) -> bool:
        """Tell the first of them; False: there is none. Raises what its call raised, if that is the caller's."""
        if not self._arrived or self.open is None:
            return False
        pump, slots = self.open
        ask, reply = self._arrived.popleft()
        slots.give_back(ask.request)
        if isinstance(reply, BaseException):
            raise reply
        pump.tell(ask, reply)
        return True

    def _start(self, job: Job, flying: int) -> None:
        self._jobs.put(job)
        if flying > self.started:
            self.started += 1
            threading.Thread(target=self._work, name=f"thoughtree-{self.started}", daemon=True).start()

    # ---- in a worker

    def _work(self) -> None:
        with suppress(GivenUp):  # of the code that writes a state: nobody waits for it
            self._answer_all()

    def _answer_all(self) -> None:
        while (job := self._jobs.get()) is not None:
            while job is not None:
                ask, context, call = job
                del job
                self._deliver(ask, _answer(context, call))
                del context, call  # an idle worker holds on to nothing
                job = self._follow()

    def _deliver(self, ask: Ask, reply: Reply | BaseException) -> None:
        """Journal a reply and put it where it is told from: in one order, which is that in which it will be told."""
        if self.journal is None or isinstance(reply, BaseException):
            self._arrived.append((ask, reply))
            return
        with self._order:
            try:
                self.journal.write(ask, reply)
            except Exception as error:
                self._arrived.append((ask, error))
            else:
                self._arrived.append((ask, reply))

    def _follow(self) -> Job | None:
        """After a call: the job to go on with. None where another thread has the turn, or there is nothing to start."""
        if not self.shared or not self.turn.acquire(blocking=False):
            self.wake()
            return None
        job: Job | None = None
        try:
            job = self.context.run(self.advance, keep=True)
        except BaseException as error:
            self.error = error
        finally:
            awaited = self._awaited()
            self.turn.release()
            if awaited or self._arrived:  # the latter came meanwhile, and found the turn taken
                self.wake()
        return job

    def _awaited(self) -> bool:
        """Whether the driver's thread has to look: at an end, or at a delay that it does not know of."""
        if self.open is None:
            return self.error is not None
        pump, slots = self.open
        return self.over or pump.search.done or not slots.taken or pump.ready_at() is not None


def _answer(context: contextvars.Context, call: Call) -> Reply | BaseException:
    try:
        return context.run(call)
    except (Exception, CancelledError) as error:  # nobody cancels a thread: something that it waited for was
        return Reply(Failed(describe(error)), ONE_CALL)
    except BaseException as error:  # SystemExit, KeyboardInterrupt: the caller's, not this thread's
        return error
