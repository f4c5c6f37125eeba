"""Running jobs a few at a time, each once: in threads, or as tasks of the running loop.

DSPy's own executor submits a slow job again, looks at all jobs after each, and its threads keep the interpreter from
exiting. Here a job is taken once, and a thread whose job hangs ends with its job.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar

J = TypeVar("J")
LOOK_UP = 0.2  # seconds: a signal that comes as a wait begins does not end it


def in_threads(jobs: Sequence[J], run: Callable[[J], None], most: int) -> None:
    """Run all jobs in at most `most` daemon threads, each job under a copy of the caller's context.

    One at a time, it is the caller's own thread: what belongs to it (a connection, a debugger) is at hand.
    What `run` raises is raised here at once, and no further job begins then.
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

    threads = min(most, len(jobs))
    try:
        for number in range(threads):
            threading.Thread(target=work, name=f"thoughtree-evaluate-{number + 1}", daemon=True).start()
        for _ in range(threads):
            if (error := _next(ended)) is not None:
                raise error
    finally:
        waiting.clear()


def _next(ended: SimpleQueue[BaseException | None]) -> BaseException | None:
    while True:
        try:
            return ended.get(timeout=LOOK_UP)
        except Empty:
            continue


async def as_tasks(jobs: Sequence[J], run: Callable[[J], Awaitable[None]], most: int) -> None:
    """The same with at most `most` tasks. An error, or a cancellation, cancels those in flight."""
    waiting = deque(jobs)

    async def work() -> None:
        while waiting:
            await run(waiting.popleft())

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(most, len(jobs))):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
