"""The routines of a controller that run at once: which runs, what it asks next, and what it returned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .budget import Ended
from .controller import Routine
from .protocol import Answer, Request


class Routines:
    """fresh: those not yet begun. at_once: how many may run. first: ask for a direct answer before anything else.

    ended: why a routine that returned says that the search ends.
    """

    def __init__(self, fresh: Iterator[Routine], at_once: int, first: bool) -> None:
        self.ended: Ended | None = None
        self.live: list[Routine] = []
        self._fresh, self._at_once = fresh, at_once
        if first:
            self._fresh, self._at_once = self._after_direct_answer(fresh, at_once), 1

    @property
    def are_full(self) -> bool:
        """As many run as may."""
        return len(self.live) >= self._at_once

    def begin(self) -> Routine | None:
        """Another one; None: there is no other."""
        routine = next(self._fresh, None)
        if routine is not None:
            self.live.append(routine)
        return routine

    def advance(self, routine: Routine) -> Sequence[Request] | None:
        """Run it up to its next non-empty batch; None: it has returned."""
        try:
            while not (requests := next(routine)):
                pass
        except StopIteration as finished:
            self.live.remove(routine)
            self.ended = finished.value
            return None
        return requests

    def close(self) -> None:
        """End all that run."""
        for routine in self.live:
            routine.close()
        self.live.clear()

    def _after_direct_answer(self, routines: Iterator[Routine], at_once: int) -> Iterator[Routine]:
        """One direct answer first, alone; where code accepts it the search ends there, at one call."""

        def answer() -> Routine:
            yield [Answer(0)]
            return None

        yield answer()
        self._at_once = at_once
        yield from routines
