"""Equal requests at one time are one call: the first makes it, the others wait for its reply.

Within a process. A call that fails leaves those who waited to try it themselves, one after the other, as each would
have done alone.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future

from ..calls.meter import Meter, current

POLL = 0.5  # seconds after which one who waits looks whether the call is still wanted


class Flight:
    """A call on its way, for `key`."""

    __slots__ = ("followers", "key", "meter", "thread")

    def __init__(self, key: str) -> None:
        self.key = key
        self.meter: Meter | None = current()
        self.thread = threading.get_ident()
        self.followers: list[Future[None]] = []

    def worth_waiting(self, blocking: bool) -> bool:
        """Not where the search that makes it has ended: it may hang. Nor for one's own thread, whose event loop would
        stand still."""
        if blocking and self.thread == threading.get_ident():
            return False
        if self.meter is None:
            return True
        until = self.meter.until
        return not self.meter.unwanted and (until is None or time.monotonic() < until)


class Flights:
    def __init__(self) -> None:
        self._flights: dict[str, Flight] = {}
        self._lock = threading.Lock()

    def board(self, key: str, *, blocking: bool) -> Flight | Future[None]:
        """A flight of one's own, to be landed; or what ends when the one ahead has landed.

        blocking: whether the caller would stop its thread to wait.
        """
        with self._lock:
            ahead = self._flights.get(key)
            if ahead is not None and ahead.worth_waiting(blocking):
                waiting: Future[None] = Future()
                ahead.followers.append(waiting)
                return waiting
            flight = self._flights[key] = Flight(key)
            return flight

    def land(self, flight: Flight) -> None:
        """Whatever became of it."""
        with self._lock:
            if self._flights.get(flight.key) is flight:
                del self._flights[flight.key]
            followers = flight.followers
        for waiting in followers:
            if waiting.set_running_or_notify_cancel():
                waiting.set_result(None)
