"""When things go wrong: failing calls, wrong keys, overflows, cancellation, and what the result says of it."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import anyio
import dspy
import pytest

from engines import Engine, lm
from journals import replies
from puzzle24 import KINDS, PATH, PUZZLE, call, drivers, engine, script
from thoughtree import DFS, Beam, Game24, NodeStatus, SearchStatus, TreeOfThoughts


def solver(**knobs):
    return TreeOfThoughts(task=Game24(), controller=knobs.pop("controller", Beam(width=2)), **knobs)


class Planted(BaseException):
    pass


@drivers
def test_a_wrong_key_ends_the_search_at_its_first_message(driver):
    def fn(kind, inputs, n):
        raise dspy.LMAuthError(f"Incorrect API key provided: sk-abcdef0123456789 ({n})", model="m", status=401)

    model = engine(fn)
    found = call(solver(), model, driver, numbers=PUZZLE)
    assert model.count() == 1
    assert (found.search.status, found.search.ended) == (SearchStatus.FAILED, "error")
    assert "Incorrect API key provided" in found.search.first_error
    assert "sk-abcdef" not in found.search.first_error
    assert found.answer is None


@drivers
def test_when_all_calls_fail_the_status_says_so_and_no_score_is_low(driver):
    def fn(kind, inputs, n):
        raise ValueError("the model is on fire")

    found = call(solver(), engine(fn), driver, numbers=PUZZLE)
    assert (found.search.status, found.search.ended) == (SearchStatus.FAILED, "error")
    assert "the model is on fire" in found.search.first_error
    assert [n.value for n in found.search.tree] == [None]
    assert "calls failed" in found.search.explain()


@drivers
def test_a_failing_call_is_one_failed_node_with_its_error(driver):
    def fn(kind, inputs, n):
        if kind == "rate" and inputs["search_state"] == "10 13 13":
            raise ValueError("no luck with this one")
        return script(kind, inputs, n)

    found = call(solver(), engine(fn), driver, numbers=PUZZLE)
    assert found.search.path == PATH
    assert found.search.status is SearchStatus.SOLVED
    failed = [n for n in found.search.tree if n.status is NodeStatus.FAILED]
    assert [str(n.action) for n in failed] == ["4+9=13"]
    assert "no luck with this one" in failed[0].reason
    assert found.search.failed == 1


@drivers
@pytest.mark.parametrize("seed", range(5))
def test_a_third_of_the_calls_failing_still_ends_right(driver, seed):
    import random

    rng, lock = random.Random(seed), threading.Lock()

    def fn(kind, inputs, n):
        with lock:
            lost = rng.random() < 0.3
        if lost:
            raise dspy.LMServerError("overloaded", model="m", status=503, retry_after=0)
        return script(kind, inputs, n)

    found = call(solver(retries=9), engine(fn), driver, numbers=PUZZLE)
    assert found.search.path == PATH
    assert found.search.status is SearchStatus.SOLVED
    assert found.search.failed == sum(found.search.errors.values()) > 0


@drivers
def test_transient_failures_are_asked_again_and_others_are_not(driver):
    for error, asked in (
        (dspy.LMRateLimitError("slow down", model="m", retry_after=0), 3),
        (dspy.LMTimeoutError("too slow", model="m", retry_after=0), 3),
        (dspy.LMInvalidRequestError("no such field", model="m"), 1),
        (dspy.ContextWindowExceededError(message="too long", model="m"), 1),
    ):

        def fn(kind, inputs, n, error=error):
            raise error

        model = engine(fn)
        call(solver(retries=2), model, driver, numbers=PUZZLE)
        assert model.count() == asked, error
        model = engine(fn)
        call(solver(retries=0), model, driver, numbers=PUZZLE)
        assert model.count() == 1, error


@drivers
def test_a_prompt_that_is_too_long_fails_its_node_and_no_other(driver):
    def fn(kind, inputs, n):
        if kind == "propose" and inputs["search_path"].count("\n") == 1:
            raise dspy.ContextWindowExceededError(message="context overflow above 1000 characters", model="m")
        return script(kind, inputs, n)

    found = call(solver(controller=DFS()), engine(fn), driver, numbers=PUZZLE)
    failed = [n for n in found.search.tree if n.status is NodeStatus.FAILED]
    assert failed
    assert all("context overflow" in n.reason for n in failed)
    assert found.search.status is SearchStatus.FAILED
    assert len(found.search.path) == 2  # the last step is kept


@drivers
def test_an_error_of_the_task_is_the_visible_cause(driver):
    class Broken(Game24):
        def apply(self, state, action):
            raise AttributeError("a typo in the task")

    found = call(TreeOfThoughts(task=Broken()), engine(), driver, numbers=PUZZLE)
    assert "AttributeError: a typo in the task" in found.search.first_error
    assert found.search.status is SearchStatus.FAILED
    assert not found.search.rules_broken()


@pytest.mark.parametrize(
    ("hook", "given", "says"),
    [
        ("for_inputs", None, "Odd.for_inputs returned None; return a task"),
        ("initial", None, "Odd.initial returned None"),
        ("key", [1], "Odd.key returned a list that cannot be hashed"),
        ("answer", None, "Odd.answer returned None"),
        ("answer", "24", "Odd.answer returned '24'; return a dict of fields"),
    ],
)
@drivers
def test_a_hook_that_gives_something_else_is_named(driver, hook, given, says):
    class Odd(Game24):
        pass

    setattr(Odd, hook, lambda *given_to_it: given)
    with pytest.raises(TypeError, match=says):
        call(TreeOfThoughts(task=Odd()), engine(), driver, numbers=PUZZLE)


@drivers
@pytest.mark.parametrize("on_failure", ["best", "raise"])
def test_an_answer_hook_that_raises_loses_no_search(driver, on_failure, tmp_path):
    class Shy(Game24):
        def answer(self, state):
            raise LookupError("nothing to say")

        def check(self, fields):
            return True

    program = TreeOfThoughts(task=Shy(), controller=Beam(width=2, max_depth=3), on_failure=on_failure)
    found = call(program, engine(), driver, numbers=PUZZLE, config={"journal": tmp_path / "run.jsonl"})
    assert (found.search.path, found.answer) == (PATH, None)
    assert found.search.status is SearchStatus.UNVERIFIED  # the path is a solution, and there is no answer
    assert (found.search.failed, len(found.search.errors)) == (1, 1)
    assert found.search.first_error.startswith("answer: LookupError: nothing to say (test_program_faults.py:")
    assert any("LookupError: nothing to say" in warning for warning in found.search.warnings)


# Context


@drivers
def test_dspys_context_reaches_every_call(driver):
    seen, lock = [], threading.Lock()

    def fn(kind, inputs, n):
        with lock:
            seen.append((dspy.settings.marker, threading.current_thread() is threading.main_thread()))
        return script(kind, inputs, n)

    with dspy.context(marker="here"):
        call(solver(concurrency=4), engine(fn, delay=0.001), driver, numbers=PUZZLE)
    assert {marker for marker, _ in seen} == {"here"}
    assert {main for _, main in seen} == {driver == "asyncio"}


@drivers
@pytest.mark.parametrize("adapter", [dspy.JSONAdapter(), dspy.XMLAdapter()])
def test_the_users_adapter_is_kept(driver, adapter):
    model = engine()
    with dspy.context(adapter=adapter):
        found = call(solver(), model, driver, numbers=PUZZLE)
    assert found.search.path == PATH
    words = "JSON object" if isinstance(adapter, dspy.JSONAdapter) else "<next_thoughts>"
    assert words in str(model.calls[0].request.messages[-1])


@drivers
def test_an_adapter_of_two_calls_is_counted_as_two(driver):
    extraction = engine()

    def free(kind, inputs, n):
        return "I would take 10 - 4 = 6."

    model = Engine(free)
    with dspy.context(adapter=dspy.TwoStepAdapter(lm(extraction))):
        found = call(
            solver(controller=Beam(width=1, max_depth=1, branching=1)),
            model,
            driver,
            numbers=PUZZLE,
            config={"budget": 4},
        )
    assert found.search.spent.calls == model.count() + extraction.count() <= 4
    assert "declare" not in str(found.search.first_error)


# Cancellation


def running():
    return [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]


def test_cancellation_is_raised_again_and_leaves_nothing_running():
    model = engine(delay=lambda n: 600.0 if n > 3 else 0.0)

    async def main():
        with anyio.move_on_after(0.2) as scope:
            await solver().acall(numbers=PUZZLE)
            raise AssertionError("it was not cancelled")
        assert scope.cancelled_caught
        await asyncio.sleep(0)
        return running()

    with dspy.context(lm=lm(model)):
        assert asyncio.run(main()) == []
    assert model.now == 0


def test_a_cancelled_task_group_ends_with_its_search():
    """As a web server does it: the client goes away, and the request's group is cancelled."""
    model = engine(delay=lambda n: 600.0 if n > 3 else 0.0)
    after = []

    async def main():
        async with anyio.create_task_group() as group:

            async def serve():
                try:
                    await solver().acall(numbers=PUZZLE)
                except BaseException as error:
                    after.append(type(error))
                    raise

            group.start_soon(serve)
            while model.count() <= 3:
                await anyio.sleep(0.001)
            group.cancel_scope.cancel()
        return running()

    with dspy.context(lm=lm(model)):
        assert anyio.run(main) == []
    assert after == [asyncio.CancelledError]
    assert model.now == 0


def test_a_cancelled_search_keeps_its_journal(tmp_path):
    path = tmp_path / "run.jsonl"
    slow, quick = engine(delay=lambda n: 600.0 if n > 3 else 0.0), engine()

    async def main():
        async with anyio.create_task_group() as group:
            group.start_soon(partial(solver().acall, numbers=PUZZLE, config={"journal": path}))
            while not path.exists() or len(replies(path)) < 3:
                await anyio.sleep(0.001)
            group.cancel_scope.cancel()

    with dspy.context(lm=lm(slow)):
        asyncio.run(main())
    told = len(replies(path))
    assert told == 3
    found = call(solver(), quick, "asyncio", numbers=PUZZLE, config={"journal": path})
    assert found.search.path == PATH
    assert quick.count() == found.search.spent.calls - told


@drivers
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, Planted])
def test_what_is_no_exception_is_raised_again(driver, error):
    def fn(kind, inputs, n):
        if n == 3:
            raise error
        return script(kind, inputs, n)

    with pytest.raises(error):
        call(solver(), engine(fn), driver, numbers=PUZZLE)


@drivers
def test_an_observer_that_raises_is_heard(driver):
    def on_event(event):
        raise LookupError("the observer")

    with pytest.raises(LookupError, match="the observer"):
        call(solver(), engine(), driver, numbers=PUZZLE, config={"on_event": on_event})


# No second call where the first was enough


@drivers
def test_nothing_is_asked_after_the_answer(driver):
    model = Engine(lambda kind, inputs, n: {"next_thoughts": "1. ANSWER: 42"}, kinds=KINDS)
    found = call(TreeOfThoughts("question -> answer"), model, driver, question="q")
    assert (found.answer, model.count()) == ("42", 1)


@drivers
def test_goals_are_never_asked_about(driver):
    model = engine()
    found = call(solver(controller=Beam(width=2, max_depth=6)), model, driver, numbers=PUZZLE)
    assert found.search.path == PATH
    assert "24" not in {c.inputs["search_state"] for c in model.calls}
    assert len(found.search.best.children) == 0
