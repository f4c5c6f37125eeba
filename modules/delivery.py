"""How those who listen to a search are told, where none of them may hold it up: a listener may never come back."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from ..search.hooks import GivenUp
from ..search.patience import Patience


class Delivery:
    """Calls those who listen, each known by a name while it runs. One that was left is not called again.

    patience: of the call of the program; its hooks, as they are then, watch the listener. None: a listener takes as
    long as it likes.
    """

    def __init__(self, patience: Patience | None) -> None:
        self._patience = patience
        self._running: list[Any] = []  # and those that were given up as they ran
        self._left: tuple[Any, ...] = ()
        self.names: set[str] = set()  # of those that were told something

    def __call__(self, who: Any, name: str, tell: Callable[[], Any]) -> None:
        """Tell `who`, by `tell`, unless it was left. Raises what `tell` raises."""
        if self._patience is None:
            tell()
            return
        if any(who is left for left in self._left):
            return
        self.names.add(name)
        self._running.append(who)
        returned = True
        try:
            self._patience.hooks.call(name, tell)
        except GivenUp:
            returned = False
            raise
        finally:
            if returned:
                self._running.pop()

    def leave(self) -> None:
        """Whoever has not come back by now is told nothing any more."""
        self._left = tuple(self._running)


class Lines:
    """What loops and workers log, said in a daemon thread, in order: they wait for no handler of the user's own."""

    def __init__(self) -> None:
        self._lines: SimpleQueue[Callable[[], None] | threading.Event | None] = SimpleQueue()
        self._context = contextvars.copy_context()
        self._starting = threading.Lock()
        self._started = self._closed = False

    def put(self, line: Callable[[], None]) -> None:
        with self._starting:
            if self._closed:
                return
            if not self._started:
                self._started = True
                threading.Thread(target=self._say, name="thoughtree-log", daemon=True).start()
        self._lines.put(line)

    @property
    def some(self) -> bool:
        """Whether there was anything to say."""
        return self._started

    def wait(self) -> None:
        """Until all is said that was put before."""
        if self._started:
            said = threading.Event()
            self._lines.put(said)
            said.wait()

    def close(self) -> None:
        """Nothing is said any more."""
        with self._starting:
            self._closed = True
        self._lines.put(None)

    def _say(self) -> None:
        while (line := self._lines.get()) is not None:
            if isinstance(line, threading.Event):
                line.set()
            elif not self._closed:
                self._context.run(line)
