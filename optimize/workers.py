"""Running jobs a few at a time, each once: in threads, or as tasks of the running loop.

DSPy's own executor submits a slow job again, looks at all jobs after each, and its threads keep the interpreter from
exiting. Here a job is taken once, results come as they are ready, and a thread whose job hangs ends with its job.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import TypeVar

J = TypeVar("J")
R = TypeVar("R")


def in_threads(jobs: Sequence[J], run: Callable[[J], R], most: int) -> Iterator[R]:
    """The results of `run` as they come, in no order, from at most `most` daemon threads under the caller's context.

    An exception of `run` is raised here, and ends it. Closing the iterator leaves alone what has not begun.
    """
    waiting = deque((job, contextvars.copy_context()) for job in jobs)
    done: SimpleQueue[tuple[R | None, BaseException | None]] = SimpleQueue()

    def work() -> None:
        while True:
            try:
                job, context = waiting.popleft()
            except IndexError:
                return
            try:
                done.put((context.run(run, job), None))
            except BaseException as error:  # SystemExit too: the caller's, not this thread's
                done.put((None, error))
                return

    try:
        for number in range(min(most, len(jobs))):
            threading.Thread(target=work, name=f"thoughtree-evaluate-{number + 1}", daemon=True).start()
        for _ in jobs:
            result, error = done.get()
            if error is not None:
                raise error
            yield result  # type: ignore[misc]  # None only beside an error
    finally:
        waiting.clear()


async def as_tasks(jobs: Sequence[J], run: Callable[[J], Awaitable[R]], most: int) -> AsyncGenerator[R, None]:
    """The same with at most `most` tasks. Closing the iterator cancels those in flight."""
    waiting = deque(jobs)
    done: asyncio.Queue[tuple[R | None, BaseException | None]] = asyncio.Queue()

    async def work() -> None:
        while waiting:
            try:
                done.put_nowait((await run(waiting.popleft()), None))
            except BaseException as error:
                done.put_nowait((None, error))
                raise

    tasks = [asyncio.create_task(work()) for _ in range(min(most, len(jobs)))]
    try:
        for _ in jobs:
            result, error = await done.get()
            if error is not None:
                raise error
            yield result  # type: ignore[misc]
    finally:
        waiting.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
