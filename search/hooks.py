"""The code of others that a search runs in its own steps, and that may never come back: which runs now, and since when.

A model, a tool or an environment is called beside the search, and left where it hangs. A task's hooks are not: the
state machine needs what they say before it can go on. So where a deadline or a stop may end a search, its steps run in
a thread beside the driver's, and with a hook that hangs the whole step is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import get_ident
from time import monotonic
from typing import Any

UNNAMED = "code of the task"  # a `__hash__`, say, of a state of the user's own


class GivenUp(BaseException):
    """Raised where a hook comes back to a search that has gone on without it. It ends its thread, unseen."""


class Hooks:
    """The hooks of one search. given_up: nobody waits for them any more, and none may begin."""

    def __init__(self) -> None:
        self.given_up = False
        self._running: dict[int, list[tuple[str, float]]] = {}  # by thread: names and starts, an inner one last

    def watched(self, name: str, hook: Callable[..., Any]) -> Callable[..., Any]:
        """`hook`, known by this name while it runs. What it gives once it was given up reaches nobody."""

        def called(*args: Any, **kwargs: Any) -> Any:
            return self.call(name, hook, *args, **kwargs)

        return called

    def call(self, name: str, hook: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if self.given_up:
            raise GivenUp
        thread = get_ident()
        running = self._running.setdefault(thread, [])
        running.append((name, monotonic()))
        try:
            found = hook(*args, **kwargs)
        finally:
            running.pop()
            if not running:
                del self._running[thread]
            if self.given_up:
                raise GivenUp
        if isinstance(found, Iterator):
            given: Iterator[Any] = found  # pyright: ignore[reportUnknownVariableType]
            return self._each(name, given)
        return found

    def _each(self, name: str, found: Iterator[Any]) -> Iterator[Any]:
        """What a generator gives, each from a call of its own: it runs where somebody reads it."""
        end = object()
        while (value := self.call(name, next, found, end)) is not end:
            yield value

    def stuck(self, now: float, seconds: float) -> bool:
        """Whether one of them has been running for so long."""
        return any(now - since >= seconds for _, since in self._now())

    def give_up(self) -> list[tuple[str, float]]:
        """From now on none begins, and none comes back. Returns which run, and since when, the oldest first."""
        self.given_up = True
        return sorted(self._now(), key=lambda one: one[1])

    def _now(self) -> list[tuple[str, float]]:
        """Of each thread, the innermost that runs."""
        return [running[-1] for stack in tuple(self._running.values()) if (running := tuple(stack))]
