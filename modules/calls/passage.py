"""One LM call's way in: the request's meter, the limits from the innermost out, the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

from .limit import PROCESS, Refusal, active
from .meter import current, earliest, total_tokens


class Passage:
    """Reserves and waits for `n` calls that are made one after the other. All of it is held, or nothing.

    Limits are entered innermost first: a call that waits for a narrow limit holds no turn of a wider one,
    and since all calls go the same way, no two can wait for each other.

    limits: those to be entered. purses: those that what the calls cost is counted on, the process's own among them.
    """

    __slots__ = ("_lock", "deadline", "entered", "left", "limits", "meter", "n", "purses")

    def __init__(self, n: int) -> None:
        """OverCalls or Refusal: it may not start. Refused at once where that is known without waiting."""
        inside = active()
        chosen = any(purse.slots is not None for purse in inside)  # how many at once: the user's say, and not ours
        self.n, self.meter, self.entered = n, current(), 0
        self.left, self._lock = False, threading.Lock()
        self.purses = (*inside, PROCESS)
        self.limits = inside if chosen else self.purses
        deadlines = [purse.deadline for purse in self.limits]
        if self.meter is not None:
            deadlines.append(self.meter.until)
        self.deadline = earliest(deadlines)
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise Refusal("seconds", "the time for this call was over before it could start")
        for purse in self.limits:
            purse.check(n)
        if self.meter is not None:
            self.meter.take(n)

    def enter(self) -> None:
        """Wait for a turn everywhere. Refusal: a ceiling or a deadline was reached meanwhile."""
        try:
            for purse in self.limits:
                purse.enter(self.n, self.deadline)
                self.entered += 1
            self._ask_again()
        except BaseException:
            self.leave(started=False)
            raise

    async def aenter(self) -> None:
        """The same for a task; a cancelled one holds nothing."""
        try:
            for purse in self.limits:
                await purse.aenter(self.n, self.deadline)
                self.entered += 1
            self._ask_again()
        except BaseException:
            self.leave(started=False)
            raise

    def _ask_again(self) -> None:
        if self.meter is None:
            return
        self.meter.goes_in(self)
        if self.meter.unwanted:
            raise Refusal("stopped", "the search ended before this call had its turn")

    def paid(self, record: dict[str, Any]) -> None:
        """A reply came: its record is for the meter, and what it cost for every limit."""
        if self.meter is not None:
            self.meter.record(record)
        tokens = total_tokens(record["usage"])
        for purse in self.purses:
            purse.add(tokens, record["cost"], record["seconds"], record["model"])

    def lost(self, seconds: float, secrets: Iterable[str]) -> None:
        """A call brought no reply. secrets: what its error must not tell."""
        if self.meter is not None:
            self.meter.lost(seconds, secrets)
        for purse in self.purses:
            purse.add(0, 0.0, seconds)

    def leave(self, *, started: bool = True) -> None:
        """Give the turns back; the reservations too, if no call started."""
        with self._lock:
            self.left = True
        if self.meter is not None:
            self.meter.comes_out(self)
        for purse in self.limits[: self.entered]:
            purse.leave(0 if started else self.n, self)
        if not started and self.meter is not None:
            self.meter.give_back(self.n)

    def forsake(self) -> None:
        """Its search has ended without it: it may hang for ever, and others must not wait for its turns."""
        with self._lock:
            if not self.left:
                for purse in self.limits[: self.entered]:
                    if purse.slots is not None:
                        purse.slots.forsake(self)
