"""What every driver does between its calls: which ask starts next, replay, events. No clock of its own."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .budget import SearchStatus
from .grow import describe
from .growth import Growth
from .journal import Journal
from .marks import Marks
from .protocol import FREE, Ask, Failed, Refused, Reply, Request
from .replay import Told, replay
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
Recall = Callable[[Ask, Reply], None]


class Pump(Generic[S, A, C]):
    """Feeds one search, on one thread at a time: only whoever is in here touches the tree.

    A driver journals a reply, then tells it, in one order for all replies, those of code among them: node ids
    hang on it.
    """

    def __init__(
        self,
        search: Search[S, A],
        prepare: Callable[[Ask, Tree[S, A]], Reply | C],
        journal: Journal | None,
        observe: Observe | None,
        recall: Recall | None = None,
    ) -> None:
        self.search = search
        self._prepare, self._observe, self._recall = prepare, observe, recall
        self._marks = None if journal is None else Marks(search.tree)
        self._growth = None if journal is None or self._marks is None else Growth(journal, search.tree, self._marks)
        self._kept: Told = {}  # paid for by an earlier run
        self._waiting: deque[Ask] = deque()
        self._delayed: list[tuple[float, int, Ask]] = []  # a heap by the time at which each may start
        self._closing = False
        self._journal = journal

    def resume(self) -> Iterator[None]:
        """Tell again what a journal holds, a reply a step. To be done before all else."""
        if self._journal is not None:
            tell = self.tell
            left, self._kept = yield from replay(self._journal, self.search, self._asks, self._told_again, tell)
            self._waiting.extend(left)
            self._closing = self.search.status is not SearchStatus.RUNNING
            if self._growth is not None:
                self._growth.resumed()

    def next(self, now: float, free: Callable[[Request], bool] = lambda request: True) -> tuple[Ask, Reply | C] | None:
        """The next call to start, or the reply of code that needs none. None: none may start yet.

        free: whether there is a slot for it.
        """
        while (ask := self._next_ask(now, free)) is not None:
            if self._kept and (kept := self._kept.pop((ask.request, ask.attempt, ask.about), None)) is not None:
                return ask, kept
            why = self.search.ceiling(ask.request)  # may have been reached since it was asked
            if why is None:
                return ask, self._make(ask)
            self.tell(ask, Reply(Refused(why), FREE))
        return None

    def ready_at(self) -> float | None:
        """When the next delayed call may start; None: none is delayed."""
        return self._delayed[0][0] if self._delayed else None

    def tell(self, ask: Ask, reply: Reply) -> None:
        self.search.tell(ask.id, reply.outcome, reply.usage)
        if self._growth is not None:
            self._growth.note(ask.request)
        if self._observe is not None:
            self._observe(Event(self.search, ask, reply))

    def _make(self, ask: Ask) -> Reply | C:
        try:
            return self._prepare(ask, self.search.tree)
        except Exception as error:
            return Reply(Failed(describe(error)), FREE)

    def _next_ask(self, now: float, free: Callable[[Request], bool]) -> Ask | None:
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
        for place, ask in enumerate(self._waiting):
            if free(ask.request):
                del self._waiting[place]
                return ask
        return None

    def _asks(self) -> list[Ask]:
        asks = self.search.ask()
        if self._marks is not None:
            for ask in asks:
                ask.about = self._marks.of(ask.request)
        return asks

    def _told_again(self, ask: Ask, reply: Reply | None) -> Reply | None:
        """The reply to tell, given the journal's; None: code answered it then, and does not now."""
        if reply is None:
            made = self._make(ask)
            return made if isinstance(made, Reply) else None
        if self._recall is not None:
            self._recall(ask, reply)
        return reply
