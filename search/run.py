"""The plain driver: one request at a time, in order, answered by a function. For tests, and for code as the model."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from .journal import Journal
from .protocol import Ask, Outcome, Reply, Request
from .pump import Observe, Pump
from .result import SearchResult
from .search import Search
from .tree import A, S, Tree

Answerer = Callable[[Request, Tree[S, A]], Outcome]


def run(
    search: Search[S, A],
    answer: Answerer[S, A],
    *,
    journal: Journal | None = None,
    observe: Observe | None = None,
) -> SearchResult[S, A]:
    """Run `search` to its end. An exception in `answer` is that request's failure; delays are not waited for."""

    def prepare(ask: Ask, tree: Tree[S, A]) -> Reply:
        return Reply(answer(ask.request, tree))

    pump: Pump[S, A, Reply] = Pump(search, prepare, journal, observe)
    while not search.done and (job := pump.next(inf)) is not None:
        if journal is not None:
            journal.write(*job)
        pump.tell(*job)
    return search.result()
