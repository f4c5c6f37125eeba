"""How much may be in flight: LM calls, and beside them what blocks on an environment."""

from __future__ import annotations

from typing import Any

from .protocol import Request, Step
from .search import Search


class Slots:
    """concurrency: calls at once. steps: an environment's steps at once, which take no slot of a call; None: they do.

    A step that makes LM calls of its own is a call. With one call at a time all is one at a time: such a run is the
    same whenever it is repeated.
    """

    def __init__(self, search: Search[Any, Any], concurrency: int, steps: int | None) -> None:
        self._search = search
        self._most = {False: concurrency, True: steps or 0}
        self._taken = {False: 0, True: 0}
        self._apart = steps is not None and concurrency > 1

    @property
    def taken(self) -> int:
        return sum(self._taken.values())

    @property
    def some(self) -> bool:
        """Is there a free one?"""
        taken, most = self._taken, self._most
        return taken[False] < most[False] or (self._apart and taken[True] < most[True])

    def free(self, request: Request) -> bool:
        lane = self._lane(request)
        return self._taken[lane] < self._most[lane]

    def take(self, request: Request) -> None:
        self._taken[self._lane(request)] += 1

    def give_back(self, request: Request) -> None:
        self._taken[self._lane(request)] -= 1

    def _lane(self, request: Request) -> bool:
        """Whether it goes beside the calls."""
        return self._apart and type(request) is Step and not self._search.price(request)
