"""Progress of a running search: in DSPy's streams, by on_event, and the same with and without."""

from __future__ import annotations

import asyncio
import json

import dspy
from dspy.streaming.messages import StatusMessage

from engines import lm
from puzzle24 import PATH, PUZZLE, call, drivers, engine
from thoughtree import Beam, Game24, SearchProgress, TreeOfThoughts


def solver():
    return TreeOfThoughts(task=Game24(), controller=Beam(width=2))


def stream(program, asynchronous):
    streamed = dspy.streamify(program, is_async_program=asynchronous)

    async def main():
        return [chunk async for chunk in streamed(numbers=PUZZLE)]

    with dspy.context(lm=lm(engine(delay=0.03))):
        return asyncio.run(main())


def check(chunks):
    *messages, prediction = chunks
    assert prediction.search.path == PATH
    progress = [m for m in messages if isinstance(m, SearchProgress)]
    assert progress
    assert all(isinstance(m, StatusMessage) for m in messages)  # no tokens of inner calls
    calls = [m.calls for m in progress]
    assert calls == sorted(calls)
    last = progress[-1]
    assert last.nodes == len(prediction.search.tree)
    assert last.message == f"{last.nodes} nodes, depth 3, {calls[-1]} calls, best 20"


def test_progress_of_a_sync_program_arrives():
    check(stream(solver(), asynchronous=False))


def test_progress_of_an_async_program_arrives():
    check(stream(solver(), asynchronous=True))


def test_a_search_inside_a_streamed_program_sends_its_progress():
    class Outer(dspy.Module):
        def __init__(self):
            super().__init__()
            self.solve = solver()

        def forward(self, numbers):
            return self.solve(numbers=numbers)

        async def aforward(self, numbers):
            return await self.solve.acall(numbers=numbers)

    check(stream(Outer(), asynchronous=False))
    check(stream(Outer(), asynchronous=True))


def test_streaming_response_sends_progress_and_prediction_as_events():
    streamed = dspy.streamify(solver(), is_async_program=True)

    async def main():
        return [line async for line in dspy.streaming.streaming_response(streamed(numbers=PUZZLE))]

    with dspy.context(lm=lm(engine(delay=0.03))):
        *progress, prediction, done = asyncio.run(main())

    def data(line):
        assert line.startswith("data: ")
        assert line.endswith("\n\n")
        return json.loads(line.removeprefix("data: "))

    assert data(progress[-1])["progress"] == {"nodes": 13, "calls": 12, "cost": 0.0, "depth": 3, "best": 20.0}
    assert data(prediction)["prediction"]["answer"] == "(10 - 4) * (13 - 9)"
    assert done == "data: [DONE]\n\n"


@drivers
def test_on_event_is_told_each_reply(driver):
    events = []

    def on_event(event):
        events.append((type(event.ask.request).__name__, event.search.spent.calls, len(event.reply.records)))

    found = call(solver(), engine(), driver, numbers=PUZZLE, config={"on_event": on_event})
    assert len(events) == found.search.spent.calls
    assert [calls for _, calls, _ in events] == list(range(1, len(events) + 1))
    assert {records for _, _, records in events} == {1}
    assert events[0][0] == "Propose"


@drivers
def test_on_event_changes_nothing(driver):
    quiet = call(solver(), engine(), driver, numbers=PUZZLE)
    watched = call(solver(), engine(), driver, numbers=PUZZLE, config={"on_event": lambda event: None})

    def shape(prediction):
        return [(str(n.action), n.status, n.value) for n in prediction.search.tree]

    assert shape(quiet) == shape(watched)
