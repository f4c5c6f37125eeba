"""Steps of a search in a daemon thread beside the driver's: whoever waits for them can leave them, and exit too."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from .patience import Left, Patience

T = TypeVar("T")
Came = tuple[Any, BaseException | None]  # what a call gave, or raised


def _came(call: Callable[[], Any]) -> Came:
    try:
        return call(), None
    except BaseException as error:  # raised again by whoever waits
        return None, error


def _given(came: Came) -> Any:
    value, error = came
    if error is not None:
        raise error
    return value


class Beside(Generic[T]):
    """One call in a thread of its own, under this context, and this thread, which waits for it."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call: Callable[[], T] | None = call
        self._inbox: SimpleQueue[Came | None] = SimpleQueue()

    def wake(self) -> None:
        """Have the one that waits look at its patience."""
        self._inbox.put(None)

    def wait(self, patience: Patience) -> T:
        """Start it, and give what it gives. Left, where it is to be left; a signal's error leaves it as well."""
        context = contextvars.copy_context()

        def work() -> None:
            call, self._call = self._call, None
            if call is not None:
                self._inbox.put(_came(lambda: context.run(call)))

        threading.Thread(target=work, name="thoughtree-steps", daemon=True).start()
        while True:
            found = None
            with suppress(Empty):
                found = self._inbox.get(timeout=patience.wait(time.monotonic()))
            if found is not None:
                value: T = _given(found)
                return value
            if patience.over(time.monotonic()):
                raise Left


async def aside(call: Callable[[], T], patience: Patience) -> T:
    """The same for a task: others on the loop have their turn meanwhile."""
    thread = Aside("thoughtree-steps")
    try:
        return await thread.run(call, patience)
    finally:
        thread.close()


class Aside:
    """A thread beside an event loop, for one call after the other, under the context of whoever made it."""

    def __init__(self, name: str) -> None:
        self._loop, self._name = asyncio.get_running_loop(), name
        self._context, self._own = contextvars.copy_context(), contextvars.copy_context()
        self._calls: SimpleQueue[tuple[Callable[[], Any], Callable[[Came], None]] | None] = SimpleQueue()
        self._started = False

    def do(self, call: Callable[[], Any], then: Callable[[Came], None]) -> None:
        """`call()` in the thread, after those before it; then `then(what came of it)` on the loop."""
        if not self._started:
            self._started = True
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        self._calls.put((call, then))

    async def run(self, call: Callable[[], T], patience: Patience | None) -> T:
        """What `call()` gives in the thread, while others on the loop have their turn. Left, where it is to be left."""
        came: asyncio.Future[Came] = self._loop.create_future()
        self.do(call, lambda found: None if came.done() else came.set_result(found))
        while not came.done():
            now = time.monotonic()
            if patience is not None and patience.over(now):
                raise Left
            await asyncio.wait({came}, timeout=None if patience is None else patience.wait(now))
        value: T = _given(came.result())
        return value

    def close(self) -> None:
        """No more calls. One that hangs is left."""
        self._calls.put(None)

    def _work(self) -> None:
        while (job := self._calls.get()) is not None:
            call, then = job
            self._tell(partial(then, _came(partial(self._context.run, call))))
            del job, call, then  # an idle thread holds on to nothing

    def _tell(self, call: Callable[[], Any]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(call, context=self._own)
