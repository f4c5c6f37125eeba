"""What DSPy's callbacks hear of a search while it goes on, in order and by type."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import dspy
import pytest
from dspy.utils.callback import ACTIVE_CALL_ID, BaseCallback

from coding import Runner, actor
from engines import Engine, lm
from hostile import PROGRAMS, search
from puzzle24 import PATH, PUZZLE, call, engine, script
from thoughtree import DFS, LATS, MCTS, Beam, Game24, SearchFailed, TreeOfThoughts
from thoughtree.events import (
    BudgetReached,
    CallFailed,
    GoalReached,
    LessonLearned,
    NodeAdded,
    NodesRated,
    Replied,
    ReplyUnread,
    SearchEnded,
    SearchEvent,
    SearchStarted,
    StepsProposed,
    StepTaken,
)
from thoughtree.search import Stop
from thoughtree.search.protocol import Propose

drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])


class Ears(BaseCallback):
    """Keeps what it hears, and under which of DSPy's calls."""

    def __init__(self) -> None:
        self.heard: list[SearchEvent] = []
        self.calls: set[Any] = set()
        self.modules: dict[str, str] = {}

    def on_module_start(self, call_id: str, instance: Any, inputs: Any) -> None:
        self.modules[call_id] = type(instance).__name__

    def on_search_event(self, call_id: str, event: SearchEvent) -> None:
        self.heard.append(event)
        self.calls.add(call_id)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.heard if isinstance(event, kind)]

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.heard]


def solver(**knobs: Any) -> TreeOfThoughts:
    return TreeOfThoughts(task=Game24(), **{"controller": DFS(), "concurrency": 1, **knobs})


def heard(program: Any, model: Any, driver: str = "threads", **inputs: Any) -> tuple[Ears, Any]:
    ears = Ears()
    with dspy.context(callbacks=[ears]):
        found = call(program, model, driver, **inputs)
    return ears, found


@drivers
def test_a_search_from_its_start_to_its_end(driver: str):
    """The root's three children, of which the first is the way; then its two, of which the second is; then the goal."""
    ears, found = heard(solver(), engine(), driver, numbers=PUZZLE)
    level = ["proposed", "node", "node", "node", "rated", "rated", "rated"]
    assert ears.kinds[:8] == ["started", *level]
    assert ears.kinds[-3:] == ["node", "solved", "ended"]
    assert [event.number for event in ears.heard] == list(range(len(ears.heard)))
    (started,), (ended,), (goal,) = ears.of(SearchStarted), ears.of(SearchEnded), ears.of(GoalReached)
    assert (started.program, started.controller, started.inputs) == ("TreeOfThoughts", DFS(), {"numbers": PUZZLE})
    assert ended.result is found.search
    assert ended.error is None
    assert goal.node is found.search.best
    assert [event.node.id for event in ears.of(NodeAdded)] == list(range(1, len(found.search.tree)))
    assert ears.of(StepsProposed)[0].actions == ("10 - 4 = 6", "4 + 9 = 13", "13 * 4 = 52")
    assert [event.action for event in ears.of(NodeAdded)][:3] == ["10-4=6", "4+9=13", "13*4=52"]
    first = ears.of(NodesRated)[0]
    assert (first.nodes, first.values, first.verdicts, first.attempt) == ((1,), (20.0,), ("sure",), 0)
    assert sum(event.usage.calls for event in ears.of(Replied)) == found.search.spent.calls


def test_the_events_are_those_of_the_programs_own_call():
    ears, _ = heard(solver(), engine(), numbers=PUZZLE)
    (call_id,) = ears.calls
    assert ears.modules[call_id] == "TreeOfThoughts"
    assert ACTIVE_CALL_ID.get() is None


def test_what_ends_a_search_is_told_by_its_name():
    ears, found = heard(solver(budget=5), engine(), numbers=PUZZLE)
    assert [event.ceiling for event in ears.of(BudgetReached)] == ["calls"]
    assert ears.of(GoalReached) == []
    assert ears.kinds[-2:] == ["budget", "ended"]
    assert found.search.ended == "calls"


@drivers
def test_nodes_that_come_as_a_search_is_stopped_are_told_too(driver: str):
    """A stop between two proposals of a level: what the first gave is paid for, and counts."""
    ears, stop = Ears(), Stop()

    def halt(event: Any) -> None:
        if isinstance(event.ask.request, Propose) and event.ask.request.node == 1:
            stop()

    program = solver(controller=Beam(width=2, branching=3))
    with dspy.context(callbacks=[ears]):
        found = call(program, engine(), driver, numbers=PUZZLE, config={"stop": stop, "on_event": halt})
    assert found.search.ended == "stopped"
    assert len(found.search.tree) == 6
    assert [(e.node.id, e.action) for e in ears.of(NodeAdded)] == [
        (node.id, found.search.shown(node)) for node in found.search.tree if node.id
    ]
    assert ears.kinds[-3:] == ["node", "node", "ended"]


@drivers
def test_what_went_wrong_is_told(driver: str):
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "rate" and inputs["search_state"] == "10 13 13":
            raise ValueError("no such luck")
        if kind == "rate" and inputs["search_state"] == "9 10 52":
            return "I would rather not say."
        return script(kind, inputs, n)

    ears, found = heard(solver(), engine(fn), driver, numbers=PUZZLE)
    assert "no such luck" in ears.of(CallFailed)[0].error
    assert [event.text.strip() for event in ears.of(ReplyUnread)] == ["I would rather not say."]
    assert len(ears.of(CallFailed)) == found.search.failed


def test_steps_and_lessons_of_an_environment():
    ears, found = heard(
        LATS(env=Runner(), controller=MCTS(rollouts=2, branching=2), concurrency=1), Engine(actor), task="t"
    )
    assert [event.lesson for event in ears.of(LessonLearned)] == found.search.tree.lessons[:2]
    steps = ears.of(StepTaken)
    assert [event.node for event in steps][:2] == [1, 2]
    assert any(event.solved for event in steps) == found.search.solved


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_tells_each_of_its_nodes_once(name: str):
    ears = Ears()
    with dspy.context(callbacks=[ears]):
        found, _ = search(name, "x")
    assert ears.kinds[0] == "started"
    assert (ears.kinds[-1], ears.kinds.count("ended")) == ("ended", 1)
    assert [event.node.id for event in ears.of(NodeAdded)] == list(range(1, len(found.search.tree)))
    assert [event.number for event in ears.heard] == list(range(len(ears.heard)))


@drivers
def test_an_error_of_a_callback_is_logged_and_changes_nothing(driver: str, caplog: pytest.LogCaptureFixture):
    class Broken(BaseCallback):
        def on_search_event(self, call_id: str, event: SearchEvent) -> None:
            raise RuntimeError("not my day")

    alone = call(solver(), engine(), driver, numbers=PUZZLE)
    ears = Ears()
    with caplog.at_level(logging.WARNING, "thoughtree"), dspy.context(callbacks=[Broken(), ears]):
        found = call(solver(), engine(), driver, numbers=PUZZLE)
    assert found.search.path == alone.search.path == PATH
    told = [record for record in caplog.records if "not my day" in record.getMessage()]
    assert len(told) == len(ears.heard)
    assert told[0].getMessage() == "Broken.on_search_event raised RuntimeError: not my day"


def test_a_callback_of_the_program_alone_is_told_too():
    ears = Ears()
    program = solver()
    program.callbacks.append(ears)
    call(program, engine(), numbers=PUZZLE)
    assert ears.kinds[-1] == "ended"


def test_who_has_no_such_hook_is_not_asked():
    class Deaf(BaseCallback):
        pass

    with dspy.context(callbacks=[Deaf()]):
        assert call(solver(), engine(), numbers=PUZZLE).search.path == PATH


def test_a_hook_that_would_have_to_be_awaited_is_named_and_left_out(caplog: pytest.LogCaptureFixture):
    class Later(BaseCallback):
        async def on_search_event(self, call_id: str, event: SearchEvent) -> None:
            raise AssertionError("nobody awaits it")

    with caplog.at_level(logging.WARNING, "thoughtree"), dspy.context(callbacks=[Later()]):
        call(solver(), engine(), numbers=PUZZLE)
    assert caplog.messages == ["Later.on_search_event is a coroutine function, which nobody awaits"]


def test_a_search_that_is_to_raise_ends_all_the_same():
    ears = Ears()
    with dspy.context(callbacks=[ears]), pytest.raises(SearchFailed) as failed:
        call(solver(on_failure="raise", budget=2), engine(), numbers=PUZZLE)
    (ended,) = ears.of(SearchEnded)
    assert ended.result is failed.value.result


def test_a_search_that_is_cancelled_ends_with_its_error():
    ears = Ears()
    arrived = asyncio.Event()

    class Waits:
        async def complete(self, request: Any) -> Any:
            arrived.set()
            await asyncio.Event().wait()

    async def run() -> None:
        model = dspy.LM("stub/model", engine=engine(), async_engine=Waits(), cache=False)
        with dspy.context(callbacks=[ears], lm=model):
            task = asyncio.create_task(solver().acall(numbers=PUZZLE))
            await arrived.wait()
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()

    asyncio.run(run())
    (ended,) = ears.of(SearchEnded)
    assert isinstance(ended.error, asyncio.CancelledError)
    assert ended.result.spent.calls == 0


def test_searches_at_once_are_told_apart():
    ears = Ears()
    program = solver(controller=Beam(width=2))
    with dspy.context(callbacks=[ears], lm=lm(engine())):
        program.batch([dspy.Example(numbers=PUZZLE).with_inputs("numbers")] * 4, num_threads=4)
    by_search: dict[int, list[SearchEvent]] = {}
    for event in ears.heard:
        by_search.setdefault(id(event.search), []).append(event)
    assert len(by_search) == len(ears.calls) == 4
    for events in by_search.values():
        assert [event.number for event in events] == list(range(len(events)))
        assert (events[0].kind, events[-1].kind) == ("started", "ended")
