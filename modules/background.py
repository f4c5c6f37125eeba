"""Blocking code beside a running event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


async def in_thread(call: Callable[[], Any]) -> Any:
    """`call()`, in a daemon thread of its own and under this context; it raises what `call` raises.

    The loop's default pool is DSPy's and others', and a pool's threads are waited for at exit: a call that
    hangs would hold up both.
    """
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    arrived: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def deliver(value: Any, error: BaseException | None) -> None:
        if not arrived.done():  # else the caller was cancelled
            arrived.set_result((value, error))

    def work() -> None:
        value, error = None, None
        try:
            value = context.run(call)
        except BaseException as raised:  # raised again, on the loop's thread
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, value, error)

    threading.Thread(target=work, name="thoughtree-call", daemon=True).start()
    value, error = await arrived
    if error is not None:
        raise error
    return value
