"""Plans carried out in a world that is not as it was predicted."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import dspy
import pytest

import thoughtree
from engines import Engine, lm
from patience import PATIENCE
from stacking import PLAN, TASK, world
from thoughtree import RAP, BestFirst, Blocksworld, Illegal, TreeOfThoughts, aexecute, execute
from thoughtree.modules.execution import Execution, ExecutionStatus
from thoughtree.search.environment import EnvironmentFault, Observed
from thoughtree.tasks import BlocksworldEnvironment, BlocksworldState, LiveBlocksworld

INPUTS = {"initial": "on(red,blue), ontable(blue), ontable(green)", "goal": "on(blue,green)"}


@pytest.fixture(params=["threads", "asyncio"], autouse=True)
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test of this file is about both: what one does, the other does."""
    monkeypatch.setattr(f"{__name__}.DRIVER", request.param)
    return str(request.param)


DRIVER = "threads"


def carried_out(program: Any, environment: Any, **options: Any) -> Execution:
    if DRIVER == "asyncio":
        return asyncio.run(aexecute(program, environment, **options))
    return execute(program, environment, **options)


def run(environment: Any, model: Any = world, **options: Any) -> Execution:
    with dspy.context(lm=lm(Engine(model))):
        return carried_out(RAP(task=Blocksworld(), concurrency=1), environment, inputs=INPUTS, **options)


def live(**options: Any) -> LiveBlocksworld:
    return LiveBlocksworld(BlocksworldEnvironment(**options), INPUTS)


@pytest.mark.parametrize("kind", [BlocksworldEnvironment, live])
def test_a_plan_that_holds_is_carried_out_as_it_is(kind: Any) -> None:
    environment = kind()
    done = run(environment)
    assert (done.status, done.why, done.replans, done.accuracy) == (ExecutionStatus.REACHED, None, 0, 1.0)
    assert [step.action for step in done.steps] == PLAN
    assert all(step.predicted.facts == step.observed.facts for step in done.steps)
    assert done.spent.calls == done.plans[0].search.spent.calls > 0
    if isinstance(environment, LiveBlocksworld):  # the real one has moved on, and is left there
        assert (environment.steps, environment.state) == (4, done.state)


class Drops(BlocksworldEnvironment):
    """Drops exactly the first block that is stacked."""

    dropped = False

    def _chance(self, state: Any, move: Any) -> float:
        if move.verb == "stack" and not self.dropped:
            object.__setattr__(self, "dropped", True)
            return 0.0
        return 1.0


@pytest.mark.parametrize("lives", [False, True])
def test_a_dropped_block_is_seen_and_picked_up_again(lives: bool) -> None:
    environment = Drops(drop=0.5)
    done = run(LiveBlocksworld(environment, INPUTS) if lives else environment)
    assert done.reached
    assert [step.action for step in done.steps] == [*PLAN, *PLAN[2:]]
    assert [step.matched for step in done.steps] == [True, True, True, False, True, True]
    assert [step.plan for step in done.steps] == [0, 0, 0, 0, 1, 1]
    assert "slipped" in done.steps[3].observation
    assert (done.replans, done.accuracy) == (1, 5 / 6)
    assert len(done.plans[1].search.path) == 2  # planned from where it lies, and not from the start


def test_a_hand_that_drops_often_gets_there_within_its_replans() -> None:
    ended = [run(live(drop=0.3, seed=seed)) for seed in range(8)]
    assert all(done.reached for done in ended)
    assert all(TASK.is_goal(done.state) for done in ended)
    slips = [sum(not step.matched for step in done.steps) for done in ended]
    assert slips == [done.replans for done in ended]
    assert sum(slips) > 0


def wrong_about_unstacking(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """Takes what is unstacked to lie on the table at once."""
    if "next_state" in kind and inputs["search_action"].startswith("unstack the red"):
        return {"next_state": "ontable(red)\nontable(blue)\nontable(green)"}
    return world(kind, inputs, n)


def test_a_world_model_that_is_wrong_about_one_action_is_corrected_by_what_is_seen() -> None:
    done = run(live(), wrong_about_unstacking)
    assert done.plans[0].search.path == [PLAN[0], *PLAN[2:]]
    assert [step.action for step in done.steps] == PLAN
    assert [step.matched for step in done.steps] == [False, True, True, True]
    assert (done.reached, done.replans) == (True, 1)


class Sticky(BlocksworldEnvironment):
    """The blue block cannot be stacked on green before it was put down once."""

    def step(self, state: BlocksworldState, action: Any) -> Observed:
        seen = super().step(state, action)
        if seen.solved and not any(step == "put down the blue block" for step in state.plan):
            raise Illegal("it sticks to the hand")
        return seen


def test_a_refused_step_is_not_planned_from_that_state_again() -> None:
    done = run(Sticky())
    assert [step.refused for step in done.steps[:4]] == [None, None, None, "it sticks to the hand"]
    assert done.steps[3].observed is None
    assert done.replans >= 1
    # From the same state, the plan that follows may not begin with what was refused.
    assert done.steps[4].action != done.steps[3].action
    assert done.plans[1].search.rules_broken().get("it sticks to the hand", 0) >= 1


def test_it_gives_up_by_its_ceilings_and_says_which() -> None:
    always = BlocksworldEnvironment(drop=1.0)
    assert run(always, replans=2).why == "2 replans were not enough"
    assert run(always, replans=2).replans == 2
    few = run(BlocksworldEnvironment(), max_steps=3)
    assert (few.status, few.why, len(few.steps)) == (ExecutionStatus.GAVE_UP, "3 steps were not enough", 3)
    whole = run(BlocksworldEnvironment()).spent.calls
    poor = run(Drops(drop=0.5), budget=whole + 1)
    assert poor.why == "the budget is used up: calls"
    assert poor.spent.calls == whole + 1
    assert [step.action for step in poor.steps] == PLAN


def test_no_plan_is_told_apart_from_no_budget() -> None:
    def stubborn(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        return {"next_state": "ILLEGAL: no"} if "next_state" in kind else world(kind, inputs, n)

    assert str(run(BlocksworldEnvironment(), stubborn).why).startswith("no plan was found: failed")


def test_a_problem_that_is_solved_needs_no_plan() -> None:
    with dspy.context(lm=lm(Engine(world))):
        done = carried_out(
            RAP(task=Blocksworld()),
            BlocksworldEnvironment(),
            inputs={"initial": "on(blue,green), ontable(green)", "goal": "on(blue,green)"},
        )
    assert (done.reached, done.steps, done.plans, done.accuracy, done.spent.calls) == (True, (), (), None, 0)


class Shaky(BlocksworldEnvironment):
    def step(self, state: BlocksworldState, action: Any) -> Observed:
        if not getattr(self, "tried", 0):
            object.__setattr__(self, "tried", 1)
            raise EnvironmentFault("busy", transient=True)
        return super().step(state, action)


class Down(BlocksworldEnvironment):
    def step(self, state: BlocksworldState, action: Any) -> Observed:
        raise EnvironmentFault("no arm")


def test_a_fault_of_the_environment_is_no_outcome_of_a_step() -> None:
    assert [step.action for step in run(Shaky()).steps] == PLAN
    down = run(Down())
    assert (down.status, down.why, down.steps) == (ExecutionStatus.GAVE_UP, "environment: no arm", ())


def test_what_cannot_be_executed_is_refused_with_the_mend() -> None:
    with pytest.raises(TypeError, match="inputs_at"):
        carried_out(thoughtree.TreeOfThoughts(task=thoughtree.Game24()), BlocksworldEnvironment(), inputs={})
    with pytest.raises(TypeError, match="not a class"):
        run(BlocksworldEnvironment)
    with pytest.raises(ValueError, match="nodes are of one search"):
        run(BlocksworldEnvironment(), budget={"nodes": 3})
    with pytest.raises(ValueError, match="replans=-1"):
        run(BlocksworldEnvironment(), replans=-1)


def test_budgets_around_it_are_heeded_too() -> None:
    with thoughtree.limit(calls=5) as purse:
        done = run(BlocksworldEnvironment())
    assert (done.status, done.spent.calls, purse.spent.calls) == (ExecutionStatus.GAVE_UP, 5, 5)
    assert done.why == "the budget is used up: calls"


class Awaited(BlocksworldEnvironment):
    """Its steps are awaited; a blocking one would be a mistake."""

    def step(self, state: BlocksworldState, action: Any) -> Observed:
        raise AssertionError("not awaited")

    async def astep(self, state: BlocksworldState, action: Any) -> Observed:
        await asyncio.sleep(0)
        return super().step(state, action)


def test_steps_of_an_awaited_environment_are_awaited(driver: str) -> None:
    if driver == "threads":
        with pytest.raises(AssertionError, match="not awaited"):
            run(Awaited())
        return
    done = run(Awaited())
    assert (done.reached, [step.action for step in done.steps]) == (True, PLAN)


def test_blocking_steps_leave_the_loop_free() -> None:
    """Each step waits until the loop has seen it: on the loop's own thread that would never come."""
    begun, seen = threading.Event(), threading.Event()

    class Waiting(BlocksworldEnvironment):
        def step(self, state: BlocksworldState, action: Any) -> Observed:
            begun.set()
            assert seen.wait(PATIENCE)
            return super().step(state, action)

    async def both() -> Execution:
        running = asyncio.ensure_future(aexecute(RAP(task=Blocksworld()), Waiting(), inputs=INPUTS))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        seen.set()
        return await running

    with dspy.context(lm=lm(Engine(world))):
        assert asyncio.run(both()).reached


def test_cancelled_it_stops() -> None:
    acted: list[str] = []

    class Endless(BlocksworldEnvironment):
        async def astep(self, state: BlocksworldState, action: Any) -> Observed:
            acted.append(str(action))
            await asyncio.Event().wait()
            raise AssertionError

    async def cancel() -> None:
        running = asyncio.ensure_future(aexecute(RAP(task=Blocksworld()), Endless(), inputs=INPUTS))
        while not acted:
            await asyncio.sleep(0.001)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with dspy.context(lm=lm(Engine(world))):
        asyncio.run(cancel())
    assert len(acted) == 1


def put_down_is_enough(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """Believes that blue flies onto green when red is put down, and likes nothing better than red being moved."""
    if "next_state" in kind and inputs["search_action"].startswith("put down the red"):
        return {"next_state": "ontable(red)\non(blue,green)\nontable(green)"}
    if "step_verdict" in kind:
        return {"step_reasoning": "r", "step_verdict": "yes" if "red" in inputs["search_path"] else "no"}
    return world(kind, inputs, n)


def test_in_a_deterministic_world_what_was_seen_is_known(driver: str) -> None:
    """Else the same wrong plan is made again and again."""
    same = run(live(), put_down_is_enough, replans=3)
    assert same.why == "3 replans were not enough"
    assert [step.action for step in same.steps].count("put down the red block") >= 3
    engine = Engine(put_down_is_enough)
    with dspy.context(lm=lm(engine)):
        done = carried_out(RAP(task=Blocksworld()), live(), inputs=INPUTS, deterministic=True)
    assert done.reached
    assert [step.matched for step in done.steps] == [True, False, *[True] * (len(done.steps) - 2)]
    asked = [call.inputs for call in engine.calls if "next_state" in call.kind]
    held = [each for each in asked if "holding(red)" in each["search_state"].splitlines()]
    assert [each["search_action"] for each in held].count("put down the red block") == 1


def test_a_plan_may_be_made_without_a_model() -> None:
    """Any program's path will do: here one that searches by code alone."""
    controller = BestFirst(branching=None, keep=None, max_depth=8)
    program = TreeOfThoughts(task=Blocksworld(), propose="moves", rate="code", controller=controller)
    with dspy.context(lm=None):
        done = carried_out(program, Drops(drop=0.5), inputs=INPUTS)
    assert [step.action for step in done.steps] == [*PLAN, *PLAN[2:]]
    assert (done.reached, done.spent.calls) == (True, 0)


class Heavy(BlocksworldEnvironment):
    """Whatever is put down falls over, and stands on green: the task's own rules know nothing of it."""

    def step(self, state: BlocksworldState, action: Any) -> Observed:
        seen = super().step(state, action)
        if "holding(red)" in state.facts and "ontable(red)" in seen.state.facts:
            facts = frozenset(
                {"on(red,green)", "ontable(green)", "ontable(blue)", "clear(red)", "clear(blue)", "handempty"}
            )
            return self.observed(BlocksworldState(facts, state.goal, seen.state.plan))
        return seen


def test_what_was_seen_overrules_the_tasks_own_step_too() -> None:
    """Each time red is put down here, the task's rules are surprised; who knows what was seen is so once."""
    program = RAP(task=Blocksworld(), propose="moves", transition="replace", concurrency=1)
    with dspy.context(lm=lm(Engine(world))):
        forgetful = carried_out(program, Heavy(), inputs=INPUTS, replans=4)
        knowing = carried_out(program, Heavy(), inputs=INPUTS, replans=4, deterministic=True)
    wrong = [[step.action for step in done.steps if not step.matched] for done in (forgetful, knowing)]
    assert wrong[0].count("put down the red block") > 1
    assert wrong[1] == ["put down the red block"]
