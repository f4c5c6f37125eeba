"""The first state of a call, and the end of it. A real environment may take its time over both, or never come back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from ..tasks import Task, stepping
from ..tasks.environment_task import EnvironmentTask
from .background import Late, in_thread, started, within

GRACE = 0.25  # seconds past the end that a step has, where nobody waits for it any more


def first_state(task: Task[Any, Any], inputs: Mapping[str, Any]) -> Any:
    """The task's first state."""
    return stepping.given(task, "initial", task.initial(inputs))


async def afirst_state(task: Task[Any, Any], inputs: Mapping[str, Any]) -> Any:
    """The same; of an environment in a thread: others on the loop have their turn meanwhile."""
    if not isinstance(task, EnvironmentTask):
        return first_state(task, inputs)
    return await in_thread(lambda: first_state(task, inputs))


def rest(task: Task[Any, Any], seconds: float | None) -> None:
    """Have the environment left as it was found; a step that still runs is waited for, so long. None: to its end."""
    if not stepping.rests(task):
        return
    if seconds is None:
        stepping.rest(task)
        return
    try:
        within(lambda: stepping.rest(task), seconds)
    except Late:
        return


async def arest(task: Task[Any, Any], seconds: float | None) -> None:
    """The same for a task. Cancelled meanwhile it waits a moment longer, and raises that."""
    if not stepping.rests(task):
        return
    resting, cancelled = started(lambda: stepping.rest(task)), None
    until = None if seconds is None else time.monotonic() + seconds
    while not resting.done() and (until is None or until > time.monotonic()):
        try:
            await asyncio.wait({resting}, timeout=None if until is None else max(0.0, until - time.monotonic()))
        except asyncio.CancelledError as error:  # anyio delivers it again at every await
            if cancelled is None:
                soon = time.monotonic() + GRACE
                cancelled, until = error, soon if until is None else min(soon, until)
    if cancelled is not None:
        raise cancelled
    if resting.done() and (failed := resting.result()[1]) is not None:
        raise failed
