"""Running jobs a few at a time, each once: in threads, or as tasks of the running loop.

DSPy's own executor submits a slow job again, looks at all jobs after each, and its threads keep the interpreter from
exiting. Here a job is taken once, and a thread whose job hangs ends with its job.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar

from ..modules.calls.limit import active
from ..modules.calls.meter import earliest

J = TypeVar("J")
LOOK_UP = 0.2  # seconds: a signal that comes as a wait begins does not end it
GRACE = 0.5  # seconds for what ends by itself as its time is up: a search


class TimeIsUp(Exception):
    """The time of a limit around these jobs is over, and some of them are not."""


def in_threads(jobs: Sequence[J], run: Callable[[J], None], most: int, *, cut: bool = False) -> None:
    """Run all jobs in at most `most` daemon threads, each job under a copy of the caller's context.

    One at a time, it is the caller's own thread: what belongs to it (a connection, a debugger) is at hand.
    What `run` raises is raised here at once, and no further job begins then. cut: raise TimeIsUp, where there are
    threads, soon after the deadline of the limits around; whatever hangs in them then is left to itself.
    """
    if most == 1:
        for job in jobs:
            contextvars.copy_context().run(run, job)
        return
    waiting = deque((job, contextvars.copy_context()) for job in jobs)
    ended: SimpleQueue[BaseException | None] = SimpleQueue()  # of each thread, why

    def work() -> None:
        try:
            while waiting:
                try:
                    job, context = waiting.popleft()
                except IndexError:  # another thread was faster
                    break
                context.run(run, job)
        except BaseException as error:  # SystemExit too: the caller's, not this thread's
            ended.put(error)
        else:
            ended.put(None)

    threads, until = min(most, len(jobs)), _last_moment() if cut else None
    try:
        for number in range(threads):
            threading.Thread(target=work, name=f"thoughtree-evaluate-{number + 1}", daemon=True).start()
        for _ in range(threads):
            if (error := _next(ended, until)) is not None:
                raise error
    finally:
        waiting.clear()


def _next(ended: SimpleQueue[BaseException | None], until: float | None) -> BaseException | None:
    while True:
        left = LOOK_UP if until is None else min(LOOK_UP, until - time.monotonic())
        try:
            return ended.get(timeout=max(0.0, left))
        except Empty:
            if left <= 0:
                raise TimeIsUp from None


def _last_moment() -> float | None:
    """By time.monotonic()."""
    deadline = earliest([purse.deadline for purse in active()])
    return None if deadline is None else deadline + GRACE


async def as_tasks(jobs: Sequence[J], run: Callable[[J], Awaitable[None]], most: int) -> None:
    """The same with at most `most` tasks. An error, a cancellation or TimeIsUp cancels those in flight."""
    waiting, until = deque(jobs), _last_moment()

    async def work() -> None:
        while waiting:
            await run(waiting.popleft())

    try:
        async with asyncio.timeout(None if until is None else max(0.0, until - time.monotonic())) as timeout:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(most, len(jobs))):
                    group.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    except TimeoutError:
        if not timeout.expired():
            raise
        raise TimeIsUp from None
