"""How a running search is told from outside to end with what it has."""

from __future__ import annotations

from collections.abc import Callable

from .budget import Ended


class Stop:
    """Call it to end a search: from any thread, or from a callback of the search's own loop.

    The search gives its best so far at once; what is in flight is cancelled (asyncio) or left to end by
    itself (threads). One Stop may serve several searches; one that starts later ends before its first request.
    """

    def __init__(self) -> None:
        self.asked = False
        self._wakes: list[Callable[[], object]] = []

    def __call__(self) -> None:
        self.asked = True
        for wake in tuple(self._wakes):
            wake()

    def wakes(self, wake: Callable[[], object]) -> None:
        """From now on, wake a driver that waits by this function."""
        self._wakes.append(wake)

    def forgets(self, wake: Callable[[], object]) -> None:
        """The driver has returned."""
        self._wakes.remove(wake)

    def due(self, now: float, deadline: float | None) -> Ended | None:
        """Why a search has to end now; None: it may go on."""
        if self.asked:
            return Ended.STOPPED
        return Ended.SECONDS if deadline is not None and now >= deadline else None
