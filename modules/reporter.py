"""Who is told of a search while it goes on: functions, streams, DSPy's callbacks, Python's logging."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import dspy
from dspy.streaming.messages import sync_send_to_stream

from ..search import Event, Search, SearchResult
from ..search.patience import Patience
from ..search.protocol import Ask, Outcome, Usage
from .delivery import Delivery, Lines
from .logbook import Logbook
from .own import is_coroutine
from .progress import SearchProgress, progress

if TYPE_CHECKING:
    from .listeners import Listeners
    from .session import Session

logger = logging.getLogger(__name__)

EVERY = 0.1  # seconds between two messages to a stream
HOOK = "on_search_event"
HANDLER = "a handler of Python's logging"
OnEvent = Callable[[Event], None]


class Reporter:
    """Tells of one search: to `on_event`, to DSPy's stream (at most ten times a second), to those of DSPy's callbacks
    that want to hear of it, and to Python's logging.

    With patience, all are told in a thread that may be left (the search's own), so none of them can hold it up.
    """

    def __init__(self, on_event: OnEvent | None, program: Any, patience: Patience | None = None) -> None:
        """TypeError for what is no function, and for a coroutine function: nobody would await it."""
        if on_event is not None and not callable(on_event):
            raise TypeError(f"on_event={on_event!r}: must be a function of an Event")
        if is_coroutine(on_event):
            raise TypeError(f"on_event={on_event!r}: must be an ordinary function, not a coroutine function")
        self._on_event, self._stream, self._sent = on_event, dspy.settings.send_stream, 0.0
        self._program, self._logbook = type(program).__name__, Logbook(type(program).__name__)
        self.deliver = Delivery(patience)
        self._listeners = _listeners(program, self.deliver)
        self._lines = None if patience is None else Lines()
        self._loop = _loop_of_stream() if patience is not None and self._stream is not None else None
        self._search: Search[Any, Any] | None = None  # while it goes on
        self.begun = False

    @property
    def wanted(self) -> bool:
        """Whether somebody wants each event."""
        return self._on_event is not None or self._stream is not None or self._listeners is not None

    @property
    def hears_begin(self) -> bool:
        return self._listeners is not None or self._logbook.tells_all

    def hears_end(self, result: SearchResult[Any, Any]) -> bool:
        said = self._lines is not None and self._lines.some
        return self.hears_begin or said or not result.solved  # then its warnings are logged

    def begins(self, session: Session) -> None:
        search, controller = session.search, session.plan.controller
        self._search, self.begun = search, True
        self._log(lambda: self._logbook.begins(controller, session.plan.limits))
        if self._listeners is not None:
            self._listeners.started(search, self._program, controller, session.inputs, session.task)

    def __call__(self, event: Event) -> None:
        """A reply was told."""
        if self._on_event is not None:
            self.deliver(self._on_event, "on_event", partial(self._on_event, event))
        if self._listeners is not None:
            self._listeners(event)
        now = time.monotonic()
        if self._stream is not None and (now - self._sent >= EVERY or event.search.done):
            self._sent = now
            self._send(self._stream, progress(event.search))

    def replied(self, ask: Ask, outcome: Outcome, usage: Usage) -> None:
        """A call ended, in whatever thread; its reply is not told yet. outcome: without keys."""
        if not self._logbook.tells(outcome):
            return
        line = partial(self._logbook.replied, ask, outcome, usage)
        if self._lines is None:
            line()
        else:
            self._lines.put(line)

    def ends(self, result: SearchResult[Any, Any], error: BaseException | None = None) -> None:
        """The search is over; error: what broke it off."""
        self._search = None
        self._log(partial(self._logbook.ends, result) if error is None else partial(self._logbook.breaks_off, error))
        if self._listeners is not None:
            self._listeners.ended(result, error)

    @property
    def goes_on(self) -> bool:
        """Whether its end is still to be told."""
        return self._search is not None

    def breaks_off(self, error: BaseException) -> None:
        """The same for an error, unless the end was told."""
        if self._search is not None:
            self.ends(self._search.result(), error)

    def leave(self) -> None:
        """Whoever is being told and has not come back is left, and told nothing any more."""
        self.deliver.leave()

    def close(self) -> None:
        """Nobody is told anything any more."""
        if self._lines is not None:
            self._lines.close()

    def _log(self, line: Callable[[], None]) -> None:
        if self._lines is not None:
            self.deliver(self._logbook, HANDLER, self._lines.wait)  # what was logged before
        self.deliver(self._logbook, HANDLER, line)

    def _send(self, stream: Any, message: SearchProgress) -> None:
        """A message is dropped where its stream is full or not to be reached: it is only progress."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(_offer, stream, message)
            return
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            try:
                sync_send_to_stream(stream, message)
            except RuntimeError as error:  # not a thread of the stream's loop
                logger.debug("progress is not streamed from this thread: %s", error)
                self._stream = None
            return
        with suppress(anyio.WouldBlock):  # waiting here would block the loop that reads the stream
            stream.send_nowait(message)


def _offer(stream: Any, message: SearchProgress) -> None:
    with suppress(anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
        stream.send_nowait(message)


def _loop_of_stream() -> asyncio.AbstractEventLoop | None:
    """The loop on which a stream is read: this thread's, or that whose worker this thread is. None: neither."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        with suppress(RuntimeError):
            return anyio.from_thread.run_sync(asyncio.get_running_loop)
    return None


def _listeners(program: Any, deliver: Delivery) -> Listeners | None:
    """Those of DSPy's callbacks, in its settings and of the program, that have an `on_search_event`."""
    callbacks = [*(dspy.settings.get("callbacks") or ()), *(getattr(program, "callbacks", None) or ())]
    hearing = []
    for callback in callbacks:
        hook = getattr(callback, HOOK, None)
        if is_coroutine(hook):
            logger.warning("%s.%s is a coroutine function, which nobody awaits", type(callback).__name__, HOOK)
        elif callable(hook):
            hearing.append(callback)
    if not hearing:
        return None
    from .listeners import Listeners

    return Listeners(hearing, deliver)
