"""What goes wrong with world models and their judges, and is neither a crash, nor a score, nor a loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

import dspy
import pytest

from engines import Engine, lm, response
from stacking import GOAL, PLAN, START, TASK, state_of, world
from test_rap import each, solve, told
from thoughtree import MCTS, RAP, Beam, BestFirst, Blocksworld, Illegal, Task
from thoughtree.search import DFS, NodeStatus, SearchStatus
from thoughtree.search.budget import Ended
from thoughtree.signatures import Approve, Predict
from thoughtree.tasks import BlocksworldState

controllers = pytest.mark.parametrize(
    "controller",
    [MCTS(rollouts=40), DFS(max_depth=6), Beam(width=4, max_depth=6), BestFirst(max_depth=6)],
    ids=lambda controller: type(controller).__name__,
)


class Guarded(Blocksworld):
    """Green may not be touched."""

    def rules(self, state: BlocksworldState) -> list[str]:
        return ["green was touched"] if "holding(green)" in state.facts else super().rules(state)


def test_the_tasks_rules_drop_a_prediction_that_reads_well() -> None:
    with dspy.context(lm=lm(Engine(world))):
        found = RAP(task=Guarded())(initial=START, goal=GOAL).search
    touched = [node for node in found.tree if str(node.action).startswith("pick up the green")]
    assert touched
    assert {(node.status, node.reason) for node in touched} == {(NodeStatus.ILLEGAL, "green was touched")}
    assert {node.value for node in touched} == {None}  # no judge was asked about them
    assert found.path == PLAN


@controllers
def test_a_world_that_goes_in_circles_is_left(controller: Any) -> None:
    """Two states that lead to each other: neither is expanded twice, and the search ends by itself."""

    def circle(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "next_thoughts" in kind:
            held = "holding(green)" in inputs["search_state"]
            return {"next_thoughts": "put down the green block" if held else "pick up the green block"}
        return world(kind, inputs, n)

    engine = Engine(circle)
    found = solve(RAP(task=Blocksworld(), controller=controller), engine).search
    assert [node.status for node in found.tree] == [NodeStatus.EXPANDED, NodeStatus.EXPANDED, NodeStatus.DUPLICATE]
    assert sum("next_thoughts" in call.kind for call in engine.calls) == 2
    assert found.ended is Ended.SEARCHED_OUT


@each
def test_each_prediction_starts_from_its_own_parent(concurrency: int, driver: str) -> None:
    """Interleaved branches share no state."""
    engine = Engine(world)
    tree = solve(RAP(task=Blocksworld(), concurrency=concurrency), engine, driver).search.tree
    asked = Counter(
        (call.inputs["search_state"], call.inputs["search_action"])
        for call in engine.calls
        if "next_state" in call.kind
    )
    stepped = Counter(
        (TASK.render(tree[node.parent].state), TASK.show(node.action))
        for node in tree
        if node.state is not None and node.id
    )
    assert not stepped - asked


def test_each_node_is_judged_once_and_what_code_knows_is_not_judged() -> None:
    engine = Engine(world)
    found = solve(RAP(task=Blocksworld(), concurrency=1), engine).search
    judged = [call for call in engine.calls if "step_verdict" in call.kind]
    rated = [node for node in found.tree if node.ratings]
    assert len(judged) == len(rated)
    assert {node.status for node in rated} <= {NodeStatus.OPEN, NodeStatus.EXPANDED}
    assert found.best.ratings == 0  # the goal


def test_a_judge_whose_calls_fail_gives_no_score() -> None:
    def fails(kind: Any, inputs: dict[str, str], n: int) -> Any:
        if "step_verdict" in kind and "green" in inputs["search_path"].splitlines()[-1]:
            raise dspy.LMServerError("overloaded", model="stub/model")
        return world(kind, inputs, n)

    found = solve(RAP(task=Blocksworld(), retries=0, controller=MCTS(rollouts=1)), Engine(fails)).search
    (lost,) = [node for node in found.tree if node.id and "green" in str(node.action)]
    assert (lost.status, lost.value) == (NodeStatus.FAILED, None)
    assert found.failed == 1
    assert "overloaded" in str(found.first_error)


def test_a_world_model_whose_calls_fail_is_an_error_and_no_illegal_step() -> None:
    def fails(kind: Any, inputs: dict[str, str], n: int) -> Any:
        if "next_state" in kind:
            raise dspy.LMServerError("overloaded", model="stub/model")
        return world(kind, inputs, n)

    found = solve(RAP(task=Blocksworld(), retries=0), Engine(fails)).search
    assert (found.status, found.ended) == (SearchStatus.FAILED, Ended.ERROR)
    assert not found.rules_broken()


@pytest.mark.parametrize("empty", ["", "None", "<think>hm, what would that be", "null"])
def test_an_empty_prediction_is_no_state(empty: str) -> None:
    found = solve(RAP(task=Blocksworld(), controller=MCTS(rollouts=1)), Engine(told(empty))).search
    assert {node.status for node in found.tree if node.id} == {NodeStatus.FAILED}
    assert found.unread["step"] > 0


def test_a_reply_cut_off_is_given_more_room() -> None:
    engine = Engine(
        lambda kind, inputs, n: (
            response("holding(red)", finish="length") if "next_state" in kind else world(kind, inputs, n)
        )
    )
    with dspy.context(lm=lm(engine, max_tokens=100)):
        RAP(task=Blocksworld(), controller=MCTS(rollouts=1, branching=1), concurrency=1)(initial=START, goal=GOAL)
    room = [call.request.config.max_tokens for call in engine.calls if "next_state" in call.kind]
    assert room == [100, 200]


def test_a_goal_that_the_model_declares_is_none_until_code_sees_it() -> None:
    def boasts(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        said = world(kind, inputs, n)
        return {"next_state": f"{said['next_state']}\nGoal met: yes"} if "next_state" in kind else said

    found = solve(RAP(task=Blocksworld(), controller=MCTS(rollouts=2)), Engine(boasts)).search
    assert found.status is SearchStatus.UNVERIFIED
    assert NodeStatus.SOLVED not in {node.status for node in found.tree}


def test_reasoning_comes_before_the_verdict() -> None:
    assert list(Approve.output_fields) == ["step_reasoning", "step_verdict"]
    assert list(Predict.output_fields) == ["next_state"]


def test_at_the_depth_limit_a_state_has_its_judges_value() -> None:
    found = solve(RAP(task=Blocksworld(), blend=0.0, controller=MCTS(rollouts=5, max_depth=1)), Engine(world)).search
    values = {found.shown(node): node.value for node in found.tree if node.depth == 1}
    assert values == {PLAN[0]: 1.0, "pick up the green block": 0.0}
    assert found.ended is Ended.SEARCHED_OUT


def test_what_the_world_model_allows_against_the_rules_of_moving_is_checked_where_asked() -> None:
    """A state can be legal and unreachable: only the task's own step knows, with transition='check'."""

    def teleports(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "next_state" in kind and inputs["search_action"].startswith("pick up the green"):
            assert not isinstance(state_of(inputs), Illegal)
            return {"next_state": "ontable(red)\non(blue,green)\nontable(green)"}
        return world(kind, inputs, n)

    trusting = solve(RAP(task=Blocksworld()), Engine(teleports)).search
    assert (trusting.status, trusting.path) == (SearchStatus.SOLVED, ["pick up the green block"])
    checked = solve(RAP(task=Blocksworld(), transition="check"), Engine(teleports)).search
    assert checked.path == PLAN
    assert checked.predicted["wrong"] >= 1


@controllers
def test_a_proposer_that_never_names_an_action_ends_the_search(controller: Any) -> None:
    engine = Engine(
        lambda kind, inputs, n: (
            {"next_thoughts": "I would look that up."} if "next_thoughts" in kind else world(kind, inputs, n)
        )
    )
    found = solve(RAP(task=Blocksworld(), controller=controller), engine).search
    assert found.status is SearchStatus.FAILED
    assert len(engine.calls) <= 2  # asked once, and once more


@dataclass(frozen=True)
class Room:
    facts: frozenset[str]


class Escape(Task[Room, str]):
    """A world that code knows nothing of, but for its start and its goal."""

    signature = "riddle -> steps"

    def initial(self, inputs: Any) -> Room:
        return Room(frozenset({"the key is on the hook", "the door is locked"}))

    def predicted(self, state: Room, action: str, facts: Any) -> Room:
        return Room(frozenset(facts))

    def is_goal(self, state: Room) -> bool:
        return "the door is open" in state.facts

    def key(self, state: Room) -> Any:
        return state.facts

    def render(self, state: Room) -> str:
        return "\n".join(sorted(state.facts))


@each
def test_a_world_of_ones_own_needs_no_vocabulary(concurrency: int, driver: str) -> None:
    """Whole states, changes and refusals, each line a fact; the closing call tells the steps."""
    leads = {
        "take the key": "Removed: the key is on the hook\nAdded: the key is in the hand",
        "open the door": "the key is in the hand\nthe door is open",
        "kick the door": "ILLEGAL: it would hurt",
    }

    def room(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "next_thoughts" in kind:
            return {
                "next_thoughts": "\n".join(
                    f"- {action}" for action in ["kick the door", "take the key", "open the door"]
                )
            }
        if "next_state" in kind:
            locked = "the key is on the hook" in inputs["search_state"] and inputs["search_action"] == "open the door"
            return {"next_state": "ILLEGAL: the door is locked" if locked else leads[inputs["search_action"]]}
        if "step_verdict" in kind:
            return {"step_reasoning": "r", "step_verdict": "yes"}
        return {"steps": "key, then door"}

    program = RAP(task=Escape(), concurrency=concurrency, controller=MCTS(rollouts=6, branching=3, max_depth=3))
    with dspy.context(lm=lm(Engine(room))):
        found = asyncio.run(program.acall(riddle="r")) if driver == "asyncio" else program(riddle="r")
    assert found.search.path == ["take the key", "open the door"]
    assert found.search.status is SearchStatus.SOLVED
    assert set(found.search.rules_broken()) >= {"illegal: it would hurt", "illegal: the door is locked"}


@dataclass(frozen=True)
class Stage:
    facts: frozenset[str]
    steps: tuple[str, ...] = ()


class Stages(Task[Stage, str]):
    """Reached by a1, a2, a3 and a4 in order; the only fact of the goal is a word that ends other lists."""

    signature = "start -> steps"

    def initial(self, inputs: Any) -> Stage:
        return Stage(frozenset({inputs["start"]}))

    def predicted(self, state: Stage, action: str, facts: Any) -> Stage:
        return Stage(frozenset(facts), (*state.steps, str(action)))

    def is_goal(self, state: Stage) -> bool:
        return "done" in state.facts

    def key(self, state: Stage) -> Any:
        return state.facts

    def render(self, state: Stage) -> str:
        return "\n".join(sorted(state.facts))

    def answer(self, state: Stage) -> dict[str, Any]:
        return {"steps": " ".join(state.steps)}


@each
def test_the_default_search_finds_four_actions_of_any_world(concurrency: int, driver: str) -> None:
    """Of three actions at each state one is refused, one leads nowhere, and one is the next of the plan."""

    def stages(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "next_thoughts" in kind:
            at = inputs["search_state"].removeprefix("step ")
            return {"next_thoughts": f"x\na{int(at) + 1 if at.isdigit() else 9}\nlose the way at {at}"}
        if "next_state" in kind:
            action = inputs["search_action"]
            if action == "x":
                return {"next_state": "ILLEGAL: it cannot be done"}
            leads = {"a1": "step 1", "a2": "step 2", "a3": "step 3", "a4": "done"}
            return {"next_state": leads.get(action, f"lost after {action}")}
        return {"step_reasoning": "r", "step_verdict": "no" if "lose" in inputs["search_path"] else "yes"}

    program = RAP(task=Stages(), concurrency=concurrency)
    with dspy.context(lm=lm(Engine(stages))):
        found = asyncio.run(program.acall(start="step 0")) if driver == "asyncio" else program(start="step 0")
    assert (found.steps, found.search.path) == ("a1 a2 a3 a4", ["a1", "a2", "a3", "a4"])
    assert found.search.status is SearchStatus.SOLVED
