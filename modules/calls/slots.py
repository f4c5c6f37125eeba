"""Waiting for a turn: a bounded number of calls in flight, and a bounded number of starts a minute.

Both serve threads and asyncio tasks, of any event loop, in one line and in order of arrival. Waiting
ends with a TimeoutError at a deadline, which is a reading of `time.monotonic()`, in seconds.
"""

from __future__ import annotations

import asyncio
import threading
import time
from bisect import insort
from collections import deque
from collections.abc import Callable
from typing import Any


class _Waiter:
    """One place in the line. `granted`: a slot was handed to it, so whoever leaves must pass it on."""

    __slots__ = ("granted", "wake")

    def __init__(self, wake: Callable[[], object]) -> None:
        self.wake = wake
        self.granted = False


class Slots:
    """At most `n` holders at once.

    A slot that is given back goes straight to the first in line, so nobody overtakes and no wake-up is
    lost. A waiter that is cancelled or times out hands on a slot that reached it too late.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._free = n
        self._line: deque[_Waiter] = deque()
        self._spare: dict[Any, None] = {}  # holders whose calls nobody waits for any more, the first one first
        self._given: set[Any] = set()  # of those, whose slot another one has
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """How many slots are taken now."""
        return self.n - self._free

    def acquire(self, deadline: float | None = None) -> None:
        """Block until a slot is free, and take it."""
        if self._grab():
            return
        turn = threading.Event()
        waiter = self._queue(turn.set)
        if waiter is None:
            return
        try:
            if not turn.wait(_remaining(deadline)):
                raise TimeoutError("no call slot became free in time")
        except BaseException:  # KeyboardInterrupt too: a slot must never be lost
            self._leave(waiter)
            raise

    async def aacquire(self, deadline: float | None = None) -> None:
        """The same for a task: the event loop runs on while it waits."""
        if self._grab():
            return
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        waiter = self._queue(lambda: loop.call_soon_threadsafe(_settle, turn))
        if waiter is None:
            return
        try:
            async with asyncio.timeout(_remaining(deadline)):
                await turn
        except BaseException:  # CancelledError too
            self._leave(waiter)
            raise

    def release(self, holder: Any = None) -> None:
        """Give a slot back; the first in line has it at once. holder: whose call it was, which may be forsaken."""
        with self._lock:
            if holder in self._given:
                self._given.remove(holder)
                return
            self._spare.pop(holder, None)
            if not self._hand_on():
                self._free += 1

    def forsake(self, holder: Any) -> None:
        """Nobody waits for this holder's call any more, and it may hang: its slot is for the next who needs one."""
        with self._lock:
            if self._hand_on():
                self._given.add(holder)
            else:
                self._spare[holder] = None

    def _hand_on(self) -> bool:
        """Whether somebody in line has a slot now."""
        while self._line:
            waiter = self._line.popleft()
            try:
                waiter.wake()
            except RuntimeError:  # its event loop is closed: nobody waits there any more
                continue
            waiter.granted = True
            return True
        return False

    def _grab(self) -> bool:
        with self._lock:
            return self._take()

    def _take(self) -> bool:
        if self._free:
            self._free -= 1
        elif self._spare:
            holder = next(iter(self._spare))
            del self._spare[holder]
            self._given.add(holder)
        else:
            return False
        return True

    def _queue(self, wake: Callable[[], object]) -> _Waiter | None:
        """A place in the line, or None if a slot came free meanwhile and is taken."""
        with self._lock:
            if self._take():
                return None
            waiter = _Waiter(wake)
            self._line.append(waiter)
            return waiter

    def _leave(self, waiter: _Waiter) -> None:
        with self._lock:
            if not waiter.granted:
                if waiter in self._line:
                    self._line.remove(waiter)
                return
        self.release()


class Pace:
    """At most `n` starts in any `window` seconds. Each start is booked on arrival, and slept for."""

    def __init__(self, n: int, window: float = 60.0) -> None:
        self.n, self.window = n, window
        self._starts: list[float] = []  # booked starts of the last window and of the future, ascending
        self._lock = threading.Lock()

    def acquire(self, deadline: float | None = None) -> None:
        """Sleep until the next start that the pace allows."""
        start, wait = self._book(deadline)
        try:
            if wait > 0:
                time.sleep(wait)
        except BaseException:
            self._cancel(start)
            raise

    async def aacquire(self, deadline: float | None = None) -> None:
        """The same for a task."""
        start, wait = self._book(deadline)
        try:
            if wait > 0:
                await asyncio.sleep(wait)
        except BaseException:
            self._cancel(start)
            raise

    def _book(self, deadline: float | None) -> tuple[float, float]:
        """The start's time and the seconds until then. Nothing is booked if it lies past the deadline."""
        with self._lock:
            now = time.monotonic()
            while self._starts and self._starts[0] <= now - self.window:
                del self._starts[0]
            start = now
            if len(self._starts) >= self.n:
                start = max(now, self._starts[-self.n] + self.window)
            if deadline is not None and start > deadline:
                raise TimeoutError("the next start that the pace allows lies past the deadline")
            insort(self._starts, start)
            return start, start - now

    def _cancel(self, start: float) -> None:
        with self._lock:
            if start in self._starts:
                self._starts.remove(start)


def _remaining(deadline: float | None) -> float | None:
    return None if deadline is None else min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)


def _settle(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
