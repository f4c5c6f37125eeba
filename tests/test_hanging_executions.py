"""What never comes back while a plan is carried out does not hold it up: it ends with what was done so far."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dspy
import pytest

import thoughtree
from benchmarked import benchmark
from engines import Engine, lm
from faultworlds import watched
from patience import in_time
from stacking import PLAN, world
from thoughtree import aexecute, execute
from thoughtree.modules.execution import Execution, ExecutionStatus

(executions,) = map(benchmark, ("hanging_executions",))
SECONDS = 1.0


def carried_out(program: Any, environment: Any, driver: str, **options: Any) -> Execution:
    if driver == "asyncio":
        return asyncio.run(aexecute(program, environment, **options))
    return execute(program, environment, **options)


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("thoughtree")}


def left(case: Any, driver: str, around: bool) -> tuple[Execution, Any, Any]:
    """The execution, the calls that were made until it returned, and the counter that goes on counting."""

    def attempt(seconds: float) -> tuple[Execution, Any, Any] | None:
        with case.opened() as (program, environment, calls, context):

            def run() -> Execution:
                with dspy.context(lm=lm(Engine(world)), **context):
                    if not around:
                        budget = {"seconds": seconds}
                        return carried_out(program, environment, driver, inputs=case.inputs, budget=budget)
                    with thoughtree.limit(seconds=seconds):
                        return carried_out(program, environment, driver, inputs=case.inputs)

            done = watched(run)
            if not calls.reached.is_set() or not (done.hung or case.of == "listener"):
                return None
            made = dict(calls.made)
        assert calls.returned.wait(30)
        return done, made, calls

    return in_time(attempt, SECONDS)


@pytest.mark.parametrize("around", [False, True], ids=["budget", "limit"])
@pytest.mark.parametrize("driver", ["threads", "asyncio"])
def test_an_execution_in_which_something_hangs_returns_what_was_done(driver: str, around: bool) -> None:
    """All at once, as each takes the whole of its time."""
    cases = executions.EXECUTIONS | (executions.AWAITED if driver == "asyncio" else {})
    others = threads()
    with ThreadPoolExecutor(len(cases)) as pool:
        results = list(pool.map(lambda case: left(case, driver, around), cases.values()))
    for thread in threads() - others:
        thread.join(30)
    for (name, case), (done, made, calls) in zip(cases.items(), results, strict=True):
        assert dict(calls.made) == made, f"{name}: what was left went on"
        assert (done.status, done.reached) == (ExecutionStatus.GAVE_UP, False), name
        assert (done.why or "").startswith("the budget is used up: seconds"), name
        assert [step.action for step in done.steps] == PLAN[: case.steps], name
        if case.of == "listener":  # the plan's own search was left in it
            assert (done.hung, done.plans[0].search.hung) == ((), (case.hook,))
        else:
            assert done.hung == (case.hook,), name
            assert case.hook in (done.why or "")


@pytest.mark.parametrize("driver", ["threads", "asyncio"])
def test_with_seconds_a_plan_that_holds_is_carried_out_as_without(driver: str) -> None:
    def run(**options: Any) -> Any:
        with dspy.context(lm=lm(Engine(world))):
            program = thoughtree.RAP(task=thoughtree.Blocksworld(), concurrency=1)
            done = carried_out(program, executions.Real(drop=0.5), driver, inputs=executions.INPUTS, **options)
        return done.status, done.why, [(step.action, step.matched, step.plan) for step in done.steps], done.hung

    assert run() == run(budget={"seconds": 600})
    assert run()[0] is ExecutionStatus.REACHED
