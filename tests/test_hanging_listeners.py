"""Who listens to a search and never comes back holds up nothing: no deadline, no stop, no cancellation, no loop.

Each hangs until the call has returned: one that waits for it never ends, and the watchdog says so. How soon it ends is
measured in benchmarks/deadline.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import dspy
import pytest
from dspy.utils.callback import BaseCallback

from benchmarked import benchmark
from engines import lm
from faultworlds import shape, watched
from patience import in_time
from puzzle24 import PUZZLE, engine
from thoughtree import DFS, Game24, SearchStatus, TreeOfThoughts
from thoughtree.search import Ended, Stop

(listeners,) = map(benchmark, ("hanging_listeners",))
DRIVERS = ("threads", "asyncio")
drivers = pytest.mark.parametrize("driver", DRIVERS)
SECONDS = 0.5
LONG = {"budget": {"seconds": 600}}  # never up, here
ON_EVENT = listeners.LISTENERS["on_event"]
CALLBACK = listeners.LISTENERS["callback"]


@pytest.fixture(autouse=True)
def logged() -> Iterator[None]:
    with listeners.all_logged():
        yield


def call(program: Any, model: Any, driver: str, inputs: dict[str, Any], config: Any, context: Any) -> Any:
    with dspy.context(lm=model, **context):
        if driver == "asyncio":
            return asyncio.run(program.acall(**inputs, config=config))
        return program(**inputs, config=config)


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("thoughtree")}


def hung(name: str, driver: str) -> tuple[Any, Callable[[], bool]]:
    """The result of one case, and whether nothing was heard or changed once the listener came back."""
    case = listeners.LISTENERS[name]

    def attempt(seconds: float) -> tuple[Any, Callable[[], bool]] | None:
        kind = f"Case{list(listeners.LISTENERS).index(name)}x{driver}x{int(seconds * 10)}x"
        with case.opened(kind) as (program, model, heard, config, context):
            config |= {"budget": {"seconds": seconds}}
            found = call(program, model, driver, case.inputs, config, context).search
            if not heard.reached.is_set() or found.hung != (case.who,):  # or only just before the deadline
                return None
            if case.late and found.ended is not Ended.SEARCHED_OUT:
                return None

            def left() -> Any:
                return shape(found), len(heard.events), model.calls

            before = left()
            heard.released.set()
            assert heard.returned.wait(30)
            return found, lambda: left() == before

    return in_time(attempt, SECONDS)


@drivers
def test_a_search_whose_listener_hangs_ends_with_what_it_had_and_tells_nothing_afterwards(driver: str) -> None:
    """All at once, as each takes the whole of its time."""
    others, names = threads(), list(listeners.LISTENERS)
    with ThreadPoolExecutor(len(names)) as pool:
        found = pool.map(lambda name: watched(lambda: hung(name, driver)), names)
        results = dict(zip(names, found, strict=True))
    for thread in threads() - others:
        thread.join(30)
    assert not threads() - others
    for name, (result, same) in results.items():
        case = listeners.LISTENERS[name]
        assert result.hung == (case.who,), name
        assert any(case.who in warning for warning in result.warnings), name
        assert same(), f"{name}: the search that was left went on"
        assert result.ended is (Ended.SEARCHED_OUT if case.late else Ended.SECONDS), name
        assert result.status in (SearchStatus.FAILED, SearchStatus.UNVERIFIED), name


@drivers
@pytest.mark.parametrize("case", [ON_EVENT, CALLBACK], ids=["on_event", "callback"])
def test_a_stop_ends_a_search_whose_listener_hangs(case: Any, driver: str) -> None:
    stop = Stop()
    with case.opened("Stopped") as (program, model, heard, config, context):
        threading.Thread(target=lambda: (heard.reached.wait(), stop()), daemon=True).start()
        found = watched(lambda: call(program, model, driver, case.inputs, config | {"stop": stop}, context)).search
    assert (found.ended, found.hung) == (Ended.STOPPED, (case.who,))
    assert len(found.tree) > 1


class Ears(BaseCallback):
    def __init__(self, hear: Callable[[Any], Any]) -> None:
        self.hear = hear

    def on_search_event(self, call_id: str, event: Any) -> None:
        self.hear(event)


@drivers
def test_others_hear_the_end_of_a_search_that_was_left_in_a_listener(driver: str) -> None:
    """on_event hangs in the fourth reply: what the callback heard has no gap, but for that reply, before the end."""
    events: list[Any] = []
    with ON_EVENT.opened("Others") as (program, model, heard, config, _):
        config |= {"budget": {"seconds": SECONDS}, "concurrency": 1}
        context = {"callbacks": [Ears(events.append)]}
        found = watched(lambda: call(program, model, driver, ON_EVENT.inputs, config, context)).search
        assert heard.reached.is_set()
        assert found.hung == ("on_event",)
    assert [event.number for event in events] == list(range(len(events)))
    assert [event.kind for event in events].count("ended") == 1
    assert (events[0].kind, events[-1].kind, events[-1].result.ended) == ("started", "ended", Ended.SECONDS)


@drivers
@pytest.mark.parametrize("kind", ["solved", "ended"])
def test_a_solution_is_not_lost_to_a_listener_that_hangs_as_it_hears_of_it(kind: str, driver: str) -> None:
    case = listeners.HangingListener("Ears.on_search_event", kind=kind)
    program, model = TreeOfThoughts(task=Game24(), controller=DFS()), lm(engine())

    def attempt(seconds: float) -> Any:
        with case.opened("Solves") as (_, _, heard, _, context):
            config = {"budget": {"seconds": seconds}}
            found = watched(lambda: call(program, model, driver, {"numbers": PUZZLE}, config, context))
            return found if heard.reached.is_set() and found.search.hung else None

    found = in_time(attempt, SECONDS)
    assert (found.search.status, found.search.hung) == (SearchStatus.SOLVED, (case.who,))
    assert found.answer == "(10 - 4) * (13 - 9)"


class Said(logging.Handler):
    """Keeps what is said of each search: that it begins, whom it asks what, and that it ends."""

    def __init__(self, told: list[Any]) -> None:
        super().__init__(logging.DEBUG)
        self.told = told

    def emit(self, record: logging.LogRecord) -> None:
        _, _, said = record.getMessage().partition(" #")
        self.told.append(said.partition(" ")[2].partition(":")[0])


@drivers
def test_where_nothing_hangs_a_deadline_changes_nothing_that_is_heard(driver: str) -> None:
    """In the same order, and all of it before the call returns."""

    def all_heard(config: dict[str, Any]) -> list[Any]:
        told: list[Any] = []
        program = TreeOfThoughts(task=Game24(), controller=DFS(), concurrency=1)
        context = {"callbacks": [Ears(lambda event: told.append(event.kind))]}
        config = config | {"on_event": lambda event: told.append(type(event.reply.outcome).__name__)}
        handler = Said(told)
        log.addHandler(handler)
        call(program, lm(engine()), driver, {"numbers": PUZZLE}, config, context)
        log.removeHandler(handler)
        return told

    log = logging.getLogger(listeners.LOG)
    without, with_deadline = all_heard({}), all_heard(LONG)
    listened = ({"Proposed", "Rated"}, {"started", "proposed", "rated", "node", "solved", "ended"})
    for names in listened:
        assert [one for one in with_deadline if one in names] == [one for one in without if one in names]
        assert any(one in names for one in without)
    rest = set.union(*listened)
    assert [one for one in with_deadline if one not in rest] == [one for one in without if one not in rest] != []


@pytest.mark.parametrize("case", [ON_EVENT, CALLBACK], ids=["on_event", "callback"])
def test_a_task_is_cancelled_and_the_loop_runs_on_while_a_listener_hangs(case: Any) -> None:
    async def cancelled(program: Any, model: Any, heard: Any, config: Any, context: Any) -> bool:
        with dspy.context(lm=model, **context):
            task = asyncio.create_task(program.acall(**case.inputs, config=config | LONG))
        while not heard.reached.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return not heard.returned.is_set()

    with case.opened("Cancelled") as (program, model, heard, config, context):
        assert watched(lambda: asyncio.run(cancelled(program, model, heard, config, context)))
        before = len(heard.events)
        heard.released.set()
        assert heard.returned.wait(30)
        for thread in threads():
            thread.join(30)
        assert len(heard.events) == before


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signal can be sent to a thread here")
@pytest.mark.parametrize("case", [ON_EVENT, CALLBACK], ids=["on_event", "callback"])
def test_an_interrupt_comes_through_while_a_listener_hangs(case: Any) -> None:
    main = threading.main_thread().ident
    with case.opened("Interrupted") as (program, model, heard, config, context):

        def interrupt() -> None:
            heard.reached.wait()
            signal.pthread_kill(main, signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        with dspy.context(lm=model, **context), pytest.raises(KeyboardInterrupt):
            program(**case.inputs, config=config | LONG)
        assert not heard.returned.is_set()


def test_a_stream_that_nobody_reads_holds_up_nothing() -> None:
    """It has no room at all."""
    with ON_EVENT.opened("Streamed") as (program, model, _, _, _):

        async def main() -> Any:
            send, receive = anyio.create_memory_object_stream[Any](0)
            async with send, receive:
                with dspy.context(lm=model, send_stream=send):
                    return await anyio.to_thread.run_sync(lambda: program(**ON_EVENT.inputs, config=LONG))

        found = watched(lambda: asyncio.run(main())).search
    assert (found.ended, found.hung) == (Ended.SEARCHED_OUT, ())


@drivers
@pytest.mark.parametrize("config", [{}, LONG], ids=["no deadline", "a deadline"])
def test_an_error_of_on_event_is_the_callers_and_others_hear_of_it(driver: str, config: dict[str, Any]) -> None:
    def fails(event: Any) -> None:
        raise KeyError("enough")

    told: list[Any] = []
    said: list[Any] = []
    handler = Said(said)
    logging.getLogger(listeners.LOG).addHandler(handler)
    with CALLBACK.opened("Fails") as (program, model, _, _, _):
        context = {"callbacks": [Ears(told.append)]}
        with pytest.raises(KeyError, match="enough"):
            call(program, model, driver, CALLBACK.inputs, config | {"on_event": fails}, context)
    logging.getLogger(listeners.LOG).removeHandler(handler)
    assert told[-1].kind == "ended"
    assert isinstance(told[-1].error, KeyError)
    assert said[-1] == "is broken off by KeyError"
