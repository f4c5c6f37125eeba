"""The plain driver: one request at a time, in order, answered by a function. For tests, and for code as the model."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from .grow import describe
from .journal import Journal
from .protocol import FREE, ONE_CALL, Ask, Failed, Outcome, Reply, Request
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
    """Run `search` to its end.

    answer: `answer(request, tree) -> outcome`, asked one request at a time. A request names nodes by their ids in
    `tree`: a Propose wants Proposed(actions) for `tree[request.node].state`; a Step, unless the search steps in code,
    Stepped(state) or Illegal(rule) for `tree[request.node].action`; a Rate, Rated(values), one for each of
    `request.nodes`; an Answer, Answered(fields). Each may be Unread or Failed instead, and an exception is Failed.
    What the search reserves no call for (`calls={Step: 0}`) costs none. Delays before a retry are not waited for.
    Raises ProtocolError for an outcome that does not answer its request.
    """

    def prepare(ask: Ask, tree: Tree[S, A]) -> Reply:
        usage = ONE_CALL if search.price(ask.request) else FREE
        try:
            return Reply(answer(ask.request, tree), usage)
        except Exception as error:
            return Reply(Failed(describe(error)), usage)

    pump: Pump[S, A, Reply] = Pump(search, prepare, journal, observe)
    for _ in pump.resume():
        pass
    while not search.done and (job := pump.next(inf)) is not None:
        if journal is not None:
            journal.write(*job)
        pump.tell(*job)
    return search.result()
