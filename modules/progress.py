"""Progress of a running search: for `on_event`, for dspy.streamify, and for the command line."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import dspy
from dspy.streaming.messages import StatusMessage, sync_send_to_stream

from ..search import Event

logger = logging.getLogger(__name__)

EVERY = 0.1  # seconds between two messages to a stream


@dataclass
class SearchProgress(StatusMessage):
    """Where a search stands. best: the value of the best candidate so far; None: none is rated."""

    message: str = ""
    nodes: int = 0
    calls: int = 0
    cost: float = 0.0
    depth: int = 0
    best: float | None = None


OnEvent = Callable[[Event], None]


class Reporter:
    """Passes each event on, and sends progress to DSPy's stream, at most ten times a second."""

    def __init__(self, on_event: OnEvent | None) -> None:
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
            self._send(progress(event.search))

    def _send(self, message: SearchProgress) -> None:
        """A message is dropped where its stream is full or not to be reached: it is only progress."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            try:
                sync_send_to_stream(self._stream, message)
            except RuntimeError as error:  # not a thread of the stream's loop
                logger.debug("progress is not streamed from this thread: %s", error)
                self._stream = None
            return
        with suppress(anyio.WouldBlock):  # waiting here would block the loop that reads the stream
            self._stream.send_nowait(message)


def progress(search: Any) -> SearchProgress:
    """The progress of `search` as it is now."""
    tree, spent = search.tree, search.spent
    values = [node.value for node in tree if node.value is not None]
    depth, best = tree[len(tree) - 1].depth, max(values, default=None)
    shown = "no value yet" if best is None else f"best {best:g}"
    message = f"{len(tree)} nodes, depth {depth}, {spent.calls} calls, {shown}"
    return SearchProgress(message, len(tree), spent.calls, spent.cost, depth, best)
