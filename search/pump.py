"""What every driver does between its calls: which ask starts next, replay, journal, events. No clock of its own."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .budget import SearchStatus
from .grow import describe
from .journal import Journal
from .protocol import FREE, Ask, Failed, Reply
from .search import Search
from .tree import A, S, Tree

C = TypeVar("C")  # what makes one call: a function, or a coroutine function


@dataclass(frozen=True, slots=True)
class Event:
    """A reply was told. `search` is as it is after it."""

    search: Search[Any, Any]
    ask: Ask
    reply: Reply


Observe = Callable[[Event], None]


class Pump(Generic[S, A, C]):
    """Feeds one search. All of it runs on the driver's thread, the only one that touches the tree."""

    def __init__(
        self,
        search: Search[S, A],
        prepare: Callable[[Ask, Tree[S, A]], Reply | C],
        journal: Journal | None,
        observe: Observe | None,
    ) -> None:
        self.search, self.journal = search, journal
        self._prepare, self._observe = prepare, observe
        self._waiting: deque[Ask] = deque()
        self._delayed: list[tuple[float, int, Ask]] = []  # a heap by the time at which each may start
        self._closing = False
        # Recorded replies that nothing asks for yet: the budget was raised, or code (not recorded) answers in between.
        self._early: dict[Any, deque[Reply]] = {}
        self._replay(journal.recorded if journal is not None else [])

    def next(self, now: float) -> tuple[Ask, C] | None:
        """The next call to start, requests that code answers being answered on the way. None: none may start yet."""
        while (ask := self._next_ask(now)) is not None:
            try:
                made = self._prepare(ask, self.search.tree)
            except Exception as error:
                made = Reply(Failed(describe(error)), FREE)
            if not isinstance(made, Reply):
                return ask, made
            if self.journal is not None and not made.by_code:
                self.journal.write(ask, made)
            self.tell(ask, made)
        return None

    def ready_at(self) -> float | None:
        """When the next delayed call may start; None: none is delayed."""
        return self._delayed[0][0] if self._delayed else None

    def tell(self, ask: Ask, reply: Reply) -> None:
        self.search.tell(ask.id, reply.outcome, reply.usage)
        if self._observe is not None:
            self._observe(Event(self.search, ask, reply))

    def _next_ask(self, now: float) -> Ask | None:
        search = self.search
        if not self._closing and search.status is not SearchStatus.RUNNING:
            self._closing = True  # what had not started is dropped; only a closing call may follow
            self._waiting.clear()
            self._delayed.clear()
        for ask in self._asks():
            if ask.delay > 0:
                heapq.heappush(self._delayed, (now + ask.delay, ask.id, ask))
            else:
                self._waiting.append(ask)
        while self._delayed and self._delayed[0][0] <= now:
            self._waiting.append(heapq.heappop(self._delayed)[2])
        return self._waiting.popleft() if self._waiting else None

    def _asks(self) -> list[Ask]:
        """What the search asks now, less what a journal has already answered."""
        left: list[Ask] = []
        while asks := self.search.ask():
            for ask in asks:
                if self._early and (replies := self._early.get((ask.request, ask.attempt))):
                    self.tell(ask, replies.popleft())
                else:
                    left.append(ask)
        return left

    def _replay(self, recorded: list[Any]) -> None:
        """Tell the recorded replies again, in their order; what is left of the asks is the world's."""
        if not recorded:
            return
        asked = {(ask.request, ask.attempt): ask for ask in self._asks()}
        for key, reply in recorded:
            if self.search.done:
                break
            if (ask := asked.pop(key, None)) is None:
                self._early.setdefault(key, deque()).append(reply)
                continue
            self.tell(ask, reply)
            asked.update({(ask.request, ask.attempt): ask for ask in self._asks()})
        self._waiting.extend(sorted(asked.values(), key=lambda ask: ask.id))
