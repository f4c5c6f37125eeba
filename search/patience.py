"""How long a driver waits for the steps of its own search, once it has to end."""

from __future__ import annotations

import time
from math import inf

from .hooks import UNNAMED, Hooks
from .stopping import Stop

HANGS = 0.15  # seconds: a hook that takes longer is taken to hang, where the time is up
GRACE = 0.2  # seconds past its end that a search waits for a hook that hangs
LATEST = 0.35  # seconds past its end that it waits for anything
LOOK_UP = 0.1  # seconds: a stop, or a signal that comes as a wait begins, need not end it
LOOK_AGAIN = 0.02  # seconds, from then on. On a busy machine a step is late for want of a processor, and so is a look:
FEW, MANY = 3, 8  # so it has so many looks to come back, with a hook that hangs and without


class Left(Exception):
    """The time is up, and a step of the search has not come back: it goes on without it."""


class Patience:
    """Of one call, through all its phases. deadline: a time.monotonic(), or None."""

    def __init__(self, hooks: Hooks, stop: Stop, deadline: float | None) -> None:
        self.hooks, self.stop, self.deadline = hooks, stop, deadline
        self._left: list[str] = []  # hooks that had not come back as they were given up
        self._end = inf if deadline is None else deadline  # or the moment at which a stop was seen
        self._looks = 0  # past its grace

    def over(self, now: float) -> bool:
        """Whether what has not come back by now is to be left."""
        if self.stop.asked and now < self._end:
            self._end = now
        late = now - self._end
        if late < GRACE:
            self._looks = 0
            return False
        self._looks += 1
        return (self._looks >= FEW and self.hooks.stuck(now, HANGS)) or (self._looks >= MANY and late >= LATEST)

    def wait(self, now: float) -> float:
        """Seconds after which to look again."""
        due = self._end + GRACE - now
        return min(LOOK_UP, due) if due > 0 else LOOK_AGAIN

    def rest(self, most: float) -> float:
        """Seconds that a cancelled call has to end in: `most`, and next to none past the latest end."""
        return min(most, max(0.0, self._end + LATEST - time.monotonic()))

    def at_least(self, seconds: float) -> None:
        """What begins now has so long, even where that is past the end."""
        self._end, self._looks = max(self._end, time.monotonic() + seconds - LATEST), 0

    def give_up(self) -> tuple[str, ...]:
        """No hook that runs now comes back, and no other begins. Returns the names of all that hung."""
        now = time.monotonic()
        self.over(now)
        running = self.hooks.give_up()
        if now >= self._end:
            self._left += [name for name, since in running if now - since >= HANGS]
        return self.left

    def leave(self) -> tuple[str, ...]:
        """The same where a step was left: there was something that hung."""
        self._left = list(self.give_up()) or [UNNAMED]
        return self.left

    @property
    def left(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._left))
