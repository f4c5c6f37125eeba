"""Who is told of a search while it goes on: functions, streams, DSPy's callbacks, Python's logging."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import dspy
from dspy.streaming.messages import sync_send_to_stream

from ..search import Event, Search, SearchResult
from ..search.protocol import Ask, Outcome, Usage
from .logbook import Logbook
from .own import is_coroutine
from .prediction import SearchFailed, SearchPrediction
from .progress import SearchProgress, progress

if TYPE_CHECKING:
    from .listeners import Listeners
    from .session import Session

logger = logging.getLogger(__name__)

EVERY = 0.1  # seconds between two messages to a stream
HOOK = "on_search_event"
OnEvent = Callable[[Event], None]


class Reporter:
    """Tells of one search: to `on_event`, to DSPy's stream (at most ten times a second), to those of DSPy's callbacks
    that want to hear of it, and to Python's logging. A context manager around all that may break the search off.
    """

    def __init__(self, on_event: OnEvent | None, program: Any) -> None:
        """TypeError for what is no function, and for a coroutine function: nobody would await it."""
        if on_event is not None and not callable(on_event):
            raise TypeError(f"on_event={on_event!r}: must be a function of an Event")
        if is_coroutine(on_event):
            raise TypeError(f"on_event={on_event!r}: must be an ordinary function, not a coroutine function")
        self._on_event, self._stream, self._sent = on_event, dspy.settings.send_stream, 0.0
        self._program, self._logbook = type(program).__name__, Logbook(type(program).__name__)
        self._listeners = _listeners(program)
        self._search: Search[Any, Any] | None = None  # while it goes on

    @property
    def wanted(self) -> bool:
        """Whether somebody wants each event."""
        return self._on_event is not None or self._stream is not None or self._listeners is not None

    def begins(self, session: Session) -> None:
        search, controller = session.search, session.plan.controller
        self._search = search
        self._logbook.begins(controller, session.plan.limits)
        if self._listeners is not None:
            self._listeners.started(search, self._program, controller, session.inputs, session.task)

    def __call__(self, event: Event) -> None:
        """A reply was told."""
        if self._on_event is not None:
            self._on_event(event)
        if self._listeners is not None:
            self._listeners(event)
        now = time.monotonic()
        if self._stream is not None and (now - self._sent >= EVERY or event.search.done):
            self._sent = now
            self._send(self._stream, progress(event.search))

    def replied(self, ask: Ask, outcome: Outcome, usage: Usage) -> None:
        """A call ended, in whatever thread; its reply is not told yet. outcome: without keys."""
        self._logbook.replied(ask, outcome, usage)

    def ends(self, found: SearchPrediction) -> SearchPrediction:
        """Gives `found` back."""
        self._ends(found.search)
        return found

    def _ends(self, result: SearchResult[Any, Any], error: BaseException | None = None) -> None:
        self._search = None
        if error is None:
            self._logbook.ends(result)
        else:
            self._logbook.breaks_off(error)
        if self._listeners is not None:
            self._listeners.ended(result, error)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, SearchFailed):  # as was asked for
            self._ends(error.result)
        elif error is not None and self._search is not None:
            self._ends(self._search.result(), error)

    def _send(self, stream: Any, message: SearchProgress) -> None:
        """A message is dropped where its stream is full or not to be reached: it is only progress."""
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


def _listeners(program: Any) -> Listeners | None:
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

    return Listeners(hearing)
