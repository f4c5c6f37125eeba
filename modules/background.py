"""Blocking code beside a running event loop, and code that may never come back."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any


class Late(Exception):
    """It did not end in time; it goes on in its thread."""


async def in_thread(call: Callable[[], Any]) -> Any:
    """`call()`, in a daemon thread of its own and under this context; it raises what `call` raises.

    The loop's default pool is DSPy's and others', and a pool's threads are waited for at exit: a call that
    hangs would hold up both.
    """
    value, error = await started(call)
    if error is not None:
        raise error
    return value


def started(call: Callable[[], Any]) -> asyncio.Future[tuple[Any, BaseException | None]]:
    """What `call()` gives or raises, in a daemon thread that is running from now on, whoever waits for it."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def settle(outcome: tuple[Any, BaseException | None]) -> None:
        if not arrived.done():  # else the caller was cancelled
            arrived.set_result(outcome)

    def deliver(outcome: tuple[Any, BaseException | None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, outcome)

    _start(call, deliver)
    return arrived


def within(call: Callable[[], Any], seconds: float) -> Any:
    """`call()`, in a daemon thread of its own and under this context. Late, if that takes longer."""
    arrived: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    _start(call, arrived.put)
    try:
        value, error = arrived.get(timeout=min(max(0.0, seconds), threading.TIMEOUT_MAX))
    except Empty:
        raise Late from None
    if error is not None:
        raise error
    return value


def in_loop(call: Callable[[], Awaitable[Any]]) -> Any:
    """The result of a coroutine, in a loop of its own; in a thread of its own where a loop runs here already."""

    async def awaited() -> Any:
        return await call()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(awaited())
    arrived: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    _start(lambda: asyncio.run(awaited()), arrived.put)
    value, error = arrived.get()
    if error is not None:
        raise error
    return value


def _start(call: Callable[[], Any], deliver: Callable[[tuple[Any, BaseException | None]], None]) -> None:
    context = contextvars.copy_context()

    def work() -> None:
        value, error = None, None
        try:
            value = context.run(call)
        except BaseException as raised:  # raised again by whoever waits
            error = raised
        deliver((value, error))

    threading.Thread(target=work, name="thoughtree-call", daemon=True).start()
