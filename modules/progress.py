"""Progress of a running search: for `on_event`, for dspy.streamify, and for the command line."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import anyio
import dspy
from dspy.streaming.messages import StatusMessage, sync_send_to_stream

from ..search import Event, Search
from .own import is_coroutine

logger = logging.getLogger(__name__)

EVERY = 0.1  # seconds between two messages to a stream


class SearchProgress(StatusMessage, str):
    """Where a search stands. best: the value of the best candidate so far; None: none is rated.

    message: the same in words. As text it is a server-sent event, since `dspy.streaming.streaming_response`
    raises on every StatusMessage that is not, and passes on text that begins with "data:".
    """

    def __new__(
        cls, nodes: int = 0, calls: int = 0, cost: float = 0.0, depth: int = 0, best: float | None = None
    ) -> Self:
        told = {"nodes": nodes, "calls": calls, "cost": cost, "depth": depth, "best": best}
        return str.__new__(cls, f"data: {json.dumps({'progress': told})}\n\n")

    def __init__(
        self, nodes: int = 0, calls: int = 0, cost: float = 0.0, depth: int = 0, best: float | None = None
    ) -> None:
        self.nodes, self.calls, self.cost, self.depth, self.best = nodes, calls, cost, depth, best
        shown = "no value yet" if best is None else f"best {best:g}"
        super().__init__(f"{nodes} nodes, depth {depth}, {calls} calls, {shown}")

    def __repr__(self) -> str:
        return f"SearchProgress({self.message!r})"


OnEvent = Callable[[Event], None]


class Reporter:
    """Passes each event on, and sends progress to DSPy's stream, at most ten times a second."""

    def __init__(self, on_event: OnEvent | None) -> None:
        """TypeError for what is no function, and for a coroutine function: nobody would await it."""
        if on_event is not None and not callable(on_event):
            raise TypeError(f"on_event={on_event!r}: must be a function of an Event")
        if is_coroutine(on_event):
            raise TypeError(f"on_event={on_event!r}: must be an ordinary function, not a coroutine function")
        self._on_event, self._stream, self._sent = on_event, dspy.settings.send_stream, 0.0

    @property
    def wanted(self) -> bool:
        return self._on_event is not None or self._stream is not None

    def __call__(self, event: Event) -> None:
        if self._on_event is not None:
            self._on_event(event)
        now = time.monotonic()
        if self._stream is not None and (now - self._sent >= EVERY or event.search.done):
            self._sent = now
            self._send(self._stream, progress(event.search))

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


def progress(search: Search[Any, Any]) -> SearchProgress:
    """Where `search` stands now."""
    tree, spent = search.tree, search.spent
    best = max((node.value for node in tree if node.value is not None), default=None)
    deepest = max(node.depth for node in tree)
    return SearchProgress(len(tree), spent.calls, spent.cost, deepest, best)
