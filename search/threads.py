"""The thread driver, behind `forward`: each call in a worker thread, under the caller's context."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from queue import Empty, SimpleQueue

from .beside import Beside
from .budget import Ended
from .hooks import Hooks
from .journal import Journal
from .patience import Left, Patience
from .protocol import Ask, Reply
from .pump import Observe, Pump, Recall
from .result import SearchResult
from .search import Search
from .slots import Slots
from .stopping import Stop
from .tree import A, S, Tree
from .turns import Call, Turns

LOOK_UP = 0.2  # seconds: a signal that comes as a wait begins does not end it, and on Windows none does


def drive(
    search: Search[S, A],
    prepare: Callable[[Ask, Tree[S, A]], Reply | Call],
    *,
    concurrency: int = 8,
    steps: int | None = None,
    deadline: float | None = None,
    journal: Journal | None = None,
    observe: Observe | None = None,
    stop: Stop | None = None,
    recall: Recall | None = None,
    patience: Patience | None = None,
) -> SearchResult[S, A]:
    """Run `search` with at most `concurrency` calls in flight, and `steps` steps of an environment; see `Slots`.

    prepare: makes one call from an ask (or answers it at once), under this context, in one thread at a time.
    deadline: a time.monotonic(); the search returns then, and a call that hangs stays in its thread. observe: called
    after each reply, in one thread. stop: ends the search from outside. recall: called before a reply of the journal
    is told again. patience: of a call that the search is a part of.

    With a deadline, or a stop, the search's own code and `observe` run in a thread beside this one. What of them hangs
    then is left there, and the result says which (`SearchResult.hung`). Without, they run in this one.
    """
    for name, most in (("concurrency", concurrency), ("steps", steps)):
        if most is not None and most < 1:
            raise ValueError(f"drive({name}={most!r}): must be at least 1")
    started, slots, stopping = time.monotonic(), Slots(search, concurrency, steps), stop or Stop()
    if patience is None and (deadline is not None or stop is not None):
        patience = Patience(Hooks(), stopping, deadline)
    beside: Beside[None] = Beside(lambda: _step(turns, stopping, deadline))
    if patience is not None:
        search.watch(patience.hooks)
        prepare = patience.hooks.watched("prepare", prepare)
        observe = None if observe is None else patience.hooks.watched("observe", observe)
    pump: Pump[S, A, Call] = Pump(search, prepare, journal, observe, recall)
    turns = Turns(pump, journal, slots, lambda now: stopping.due(now, deadline), observe is None)
    for wake in (turns.wake, beside.wake):
        stopping.wakes(wake)
    try:
        if patience is None:
            _step(turns, stopping, deadline)
        else:
            beside.wait(patience)
        found = search.result()
    except Left:
        turns.open = None
        assert patience is not None
        patience.leave()
        found = search.left(Ended.STOPPED if stopping.asked else Ended.SECONDS)
    finally:
        for wake in (turns.wake, beside.wake):
            stopping.forgets(wake)
        turns.close()
        left = patience.give_up() if patience is not None else ()
    return found.replace(seconds=time.monotonic() - started, unfinished=slots.taken, hung=left)


def _step(turns: Turns[S, A], stopping: Stop, deadline: float | None) -> None:
    """The search from its first step to its last."""
    if turns.open is None:
        return
    pump, slots = turns.open
    for _ in pump.resume():
        pass
    while True:
        while not turns.turn.acquire(timeout=LOOK_UP):
            pass
        try:
            if turns.error is not None:
                raise turns.error
            turns.advance()
            if turns.over or pump.search.done or turns.open is None:  # pyright: ignore[reportUnnecessaryComparison]
                turns.tell()  # too late to change anything, but paid for
                turns.open = None
                return
            ready_at = pump.ready_at() if slots.some else None  # without a slot it is no news
            if not slots.taken and ready_at is None:
                raise RuntimeError("the search waits for nothing and has not ended; this is a defect of its controller")
        finally:
            turns.turn.release()
        _wait(turns.wakes, deadline, ready_at)


def _wait(wakes: SimpleQueue[None], deadline: float | None, ready_at: float | None) -> None:
    """Until there may be something to look at: a wake, the deadline, a delayed call that may start, a signal."""
    due = min((t for t in (deadline, ready_at) if t is not None), default=inf)
    with suppress(Empty):
        wakes.get(timeout=min(max(0.0, due - time.monotonic()), LOOK_UP))
