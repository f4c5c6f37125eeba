"""The first state of a call. A real environment may take its time over it, or never give one."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Any, Final

from ..tasks import Task, stepping
from ..tasks.environment_task import EnvironmentTask
from .background import in_thread

LATE: Final = object()  # in place of a state: the time was over before there was one


def first_state(task: Task[Any, Any], inputs: Mapping[str, Any], deadline: float | None) -> Any:
    """The task's first state; of an environment, LATE if it comes after `deadline`, a time.monotonic()."""
    start = _start(task, inputs)
    if not isinstance(task, EnvironmentTask) or deadline is None:
        return start()
    context, arrived = contextvars.copy_context(), SimpleQueue[tuple[Any, BaseException | None]]()

    def work() -> None:
        try:
            arrived.put((context.run(start), None))
        except BaseException as error:  # raised again by whoever waits
            arrived.put((None, error))

    threading.Thread(target=work, name="thoughtree-start", daemon=True).start()
    try:
        state, error = arrived.get(timeout=_left(deadline))
    except Empty:
        return LATE
    if error is not None:
        raise error
    return state


async def afirst_state(task: Task[Any, Any], inputs: Mapping[str, Any], deadline: float | None) -> Any:
    """The same for a task; others on the loop have their turn meanwhile."""
    start = _start(task, inputs)
    if not isinstance(task, EnvironmentTask):
        return start()
    try:
        async with asyncio.timeout(None if deadline is None else _left(deadline)) as time_is_up:
            return await in_thread(start)
    except TimeoutError:
        if time_is_up.expired():
            return LATE
        raise


def _start(task: Task[Any, Any], inputs: Mapping[str, Any]) -> Callable[[], Any]:
    return lambda: stepping.given(task, "initial", task.initial(inputs))


def _left(deadline: float) -> float:
    return min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)
