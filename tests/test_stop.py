"""A search that is stopped from outside gives its best so far at once, whatever is still in flight."""

import asyncio
import threading

import pytest

from patience import PATIENCE
from thoughtree import TreeOfThoughts
from thoughtree.search import (
    Beam,
    Ended,
    Propose,
    Proposed,
    Rate,
    Rated,
    Reply,
    Search,
    SearchStatus,
    Stepped,
    Stop,
    adrive,
    drive,
)

CONTROLLER = Beam(width=2, branching=2, max_depth=3)


def answered(ask):
    if isinstance(ask.request, Propose):
        return Reply(Proposed(("a", "b")))
    return Reply(Rated((1.0,) * len(ask.request.nodes)))


def step(state, action):
    return Stepped(f"{state}{action}")


def hanging(stop, released):
    """The second proposal stops the search, and its own call hangs until the test is over."""

    def prepare(ask, tree):
        def call():
            if isinstance(ask.request, Propose) and ask.request.node:
                stop()
                assert released.wait(30)
            return answered(ask)

        return call

    return prepare


def test_threads_return_while_a_call_hangs():
    stop, released = Stop(), threading.Event()
    result = drive(Search(CONTROLLER, "", step=step), hanging(stop, released), concurrency=1, stop=stop)
    released.set()
    assert (result.ended, result.status) == (Ended.STOPPED, SearchStatus.UNVERIFIED)
    assert (result.path, result.unfinished) == (["a"], 1)  # a and b were proposed and rated alike
    assert len(result.tree) == 3


def test_asyncio_cancels_what_is_in_flight():
    stop, cancelled = Stop(), []

    def prepare(ask, tree):
        async def call():
            if isinstance(ask.request, Propose) and ask.request.node:
                threading.Thread(target=stop).start()  # from a thread that has no loop
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    cancelled.append(ask.request.node)
                    raise
            return answered(ask)

        return call

    search = Search(CONTROLLER, "", step=step)
    result = asyncio.run(adrive(search, prepare, concurrency=1, stop=stop))
    assert (result.ended, result.path, result.unfinished) == (Ended.STOPPED, ["a"], 1)
    assert cancelled == [1]


def test_a_stop_between_a_look_and_the_wait_is_heard():
    """It comes as the driver has just looked, and waits for what the search's own thread says next."""
    cancelled = []

    class Asked(Stop):
        def due(self, now, deadline):
            found = super().due(now, deadline)
            if search.spent.calls == 2 and not self.asked:  # one rating is in, and the other hangs
                self()
            return found

    def prepare(ask, tree):
        async def call():
            if ask.request == Rate((2,)):
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    cancelled.append(ask.request)
                    raise
            return answered(ask)

        return call

    search = Search(CONTROLLER, "", step=step)
    result = asyncio.run(asyncio.wait_for(adrive(search, prepare, stop=Asked()), PATIENCE))
    assert (result.ended, result.spent.calls, result.unfinished) == (Ended.STOPPED, 2, 1)
    assert cancelled == [Rate((2,))]


def test_a_search_that_starts_after_the_stop_asks_nothing():
    stop = Stop()
    stop()
    result = drive(Search(CONTROLLER, "", step=step), lambda ask, tree: pytest.fail("was asked"), stop=stop)
    assert (result.ended, result.status, result.spent.calls) == (Ended.STOPPED, SearchStatus.FAILED, 0)


def test_a_reply_that_came_before_the_stop_counts():
    """Here the goal arrives, and the stop with it: it is solved, not stopped."""
    stop = Stop()

    def prepare(ask, tree):
        stop()
        return Reply(Proposed(("goal",)))

    def goal(state, action):
        return Stepped(action, solved=True, terminal=True)

    result = drive(Search(CONTROLLER, "", step=goal), prepare, stop=stop)
    assert (result.ended, result.solved) == (Ended.GOAL, True)


def test_a_program_takes_a_stop_for_one_call():
    stop = Stop()

    def propose(inputs, node, n):
        if node.depth:
            stop()
        return ["first", "second"]

    program = TreeOfThoughts(
        "question -> answer", propose=propose, value_fn=lambda inputs, path: 0.5, answer="path", concurrency=1
    )
    found = program(question="?", config={"stop": stop})
    assert (found.search.ended, found.search.status) == (Ended.STOPPED, SearchStatus.UNVERIFIED)
    assert found.answer == "first"
    assert program(question="?").search.ended is Ended.SEARCHED_OUT  # of one call only
