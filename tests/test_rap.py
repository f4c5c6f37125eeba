"""RAP: planning in a world that a model predicts."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import dspy
import pytest

import thoughtree
from engines import Engine, lm, response
from stacking import GOAL, PLAN, START, world
from thoughtree import ABMCTS, MCTS, RAP, Beam, BestFirst, Blocksworld
from thoughtree.search import DFS, NodeStatus, SearchStatus
from thoughtree.search.budget import Ended
from thoughtree.tasks.blocksworld_text import in_words

each = pytest.mark.parametrize(
    ("concurrency", "driver"), [(c, d) for c in (1, 8) for d in ("threads", "asyncio")], ids=str
)


def solve(program: RAP, engine: Engine, driver: str = "threads") -> Any:
    inputs = {"initial": START, "goal": GOAL}
    with dspy.context(lm=lm(engine)):
        return asyncio.run(program.acall(**inputs)) if driver == "asyncio" else program(**inputs)


@each
@pytest.mark.parametrize("exploration", [0.5, 1.0])
def test_the_plan_is_exactly_the_four_actions_in_order(concurrency: int, driver: str, exploration: float) -> None:
    controller = MCTS(rollouts=10, branching=3, max_depth=6, exploration=exploration)
    found = solve(RAP(task=Blocksworld(), controller=controller, concurrency=concurrency), Engine(world), driver)
    assert found.plan.splitlines() == PLAN
    assert found.search.path == PLAN
    assert found.search.status is SearchStatus.SOLVED


def test_names_of_the_predictors() -> None:
    names = [name for name, _ in RAP(task=Blocksworld()).named_predictors()]
    assert names == ["propose.predict", "world.predict", "rate.predict"]


CONTROLLERS: dict[str, Any] = {
    "depth-first": DFS(max_depth=6),
    "beam": Beam(width=2, max_depth=6),
    "best-first": BestFirst(max_depth=6),
    "lazy": MCTS(rollouts=40, branching=3, max_depth=6, lazy=True),
    "simulating": MCTS(rollouts=10, branching=3, max_depth=6, simulate=True),
    "widening": MCTS(rollouts=40, branching=3, max_depth=6, widening=0.6),
    "priors": MCTS(rollouts=10, branching=3, max_depth=6, selection="puct"),
    "discounted": MCTS(rollouts=10, branching=3, max_depth=6, returns="discounted", discount=0.9),
    "in flight": MCTS(rollouts=10, branching=3, max_depth=6, at_once=4),
    "adaptive": ABMCTS(rollouts=150, max_depth=6),
}


@pytest.mark.parametrize("controller", CONTROLLERS.values(), ids=CONTROLLERS)
def test_every_controller_runs_over_a_predicted_world(controller: Any) -> None:
    found = solve(RAP(task=Blocksworld(), controller=controller, propose="moves"), Engine(world))
    assert found.plan.splitlines() == PLAN


def told(text: str) -> Any:
    """A world model that says `text` of every action."""
    return lambda kind, inputs, n: {"next_state": text} if "next_state" in kind else world(kind, inputs, n)


def test_what_the_model_calls_illegal_is_dropped_with_its_reason() -> None:
    found = solve(RAP(task=Blocksworld()), Engine(told("ILLEGAL: the hand is tied")))
    assert {node.status for node in found.search.tree if node.id} == {NodeStatus.ILLEGAL}
    assert "the hand is tied" in next(iter(found.search.rules_broken()))
    assert found.search.status is SearchStatus.FAILED


def test_a_prediction_that_cannot_be_is_dropped_by_the_rules() -> None:
    two_places = "on(red,blue)\non(red,green)\nontable(blue)\nontable(green)\nclear(red)\nhandempty"
    found = solve(RAP(task=Blocksworld()), Engine(told(two_places)))
    assert {node.status for node in found.search.tree if node.id} <= {NodeStatus.ILLEGAL, NodeStatus.FAILED}
    assert found.search.status is SearchStatus.FAILED


def test_an_unread_prediction_is_asked_once_more_and_then_fails_its_child() -> None:
    engine = Engine(told("as you would expect"))
    found = solve(RAP(task=Blocksworld(), controller=MCTS(rollouts=1)), engine)
    children = [node for node in found.search.tree if node.id]
    assert {node.status for node in children} == {NodeStatus.FAILED}
    assert found.search.unread["step"] == 2 * len(children)


CONTRADICTION = "the hand is empty, I am holding the red block, the blue and green blocks are on the table"


def once_then_right(first: Any) -> Any:
    """A world model that is right about each step when it is asked again."""
    asked: set[tuple[str, str]] = set()

    def model(kind: Any, inputs: dict[str, str], n: int) -> Any:
        if "next_state" in kind and (step := (inputs["search_state"], inputs["search_action"])) not in asked:
            asked.add(step)
            return first
        return world(kind, inputs, n)

    return model


@pytest.mark.parametrize(
    "first",
    [
        {"next_state": CONTRADICTION},
        {"next_state": "holding(red)\nontable(blue)\nontable(gr"},
        response("[[ ## next_state ## ]]\nholding(red)\nontable(blue)\nontable(green)", finish="length"),
    ],
    ids=["contradiction", "cut off", "cut by the limit"],
)
def test_what_is_asked_again_and_then_read_leads_to_the_same_plan(first: Any) -> None:
    engine = Engine(once_then_right(first))
    found = solve(RAP(task=Blocksworld(), concurrency=1), engine)
    assert found.plan.splitlines() == PLAN
    steps = [call for call in engine.calls if "next_state" in call.kind]
    assert found.search.unread == {"step": (len(steps) + 1) // 2}  # at the goal the last one is not asked again
    assert NodeStatus.FAILED not in {node.status for node in found.search.tree}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (CONTRADICTION, "hand empty and holding"),
        ("holding(red)\nontable(blue)\nontable(gr", "the reply was cut off"),
        ("holding(red)\nontable(blue)", "it does not say where green is"),
    ],
)
def test_a_child_that_cannot_be_read_fails_with_the_reason(reply: str, reason: str) -> None:
    found = solve(RAP(task=Blocksworld(), controller=MCTS(rollouts=1)), Engine(told(reply))).search
    children = [node for node in found.tree if node.id]
    assert {node.status for node in children} == {NodeStatus.FAILED}
    assert {node.reason for node in children} == {f"the reply could not be read: {reason}"}
    assert found.unread == {"step": 2 * len(children)}
    assert found.spent_by["step"].calls == 2 * len(children)
    assert "rate" not in found.spent_by  # what failed is not rated


def told_in(shape: Any) -> Any:
    """The world model's replies in another shape: from the facts before and after an action."""

    def model(kind: Any, inputs: dict[str, str], n: int) -> Any:
        said = world(kind, inputs, n)
        if "next_state" not in kind or said["next_state"].startswith("ILLEGAL"):
            return said
        before, after = (set(text.splitlines()) for text in (inputs["search_state"], said["next_state"]))
        return {"next_state": shape(before, after)}

    return model


SHAPES = {
    "delta": lambda before, after: "\n".join(
        [*(f"+ {f}" for f in after - before), *(f"- {f}" for f in before - after)]
    ),
    "JSON delta": lambda before, after: json.dumps({"add": sorted(after - before), "delete": sorted(before - after)}),
    "JSON": lambda before, after: (
        f"Here it is:\n```json\n{json.dumps({'state': sorted(after), 'goal_met': 'False'})}\n```"
    ),
    "prose": lambda before, after: "After that, " + ", ".join(map(in_words, sorted(after))) + ".",
    "several states": lambda before, after: "[STATE 1] " + ", ".join(sorted(after)) + "\n[STATE 2] handempty",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_predictions_of_every_shape_lead_to_the_plan(shape: str) -> None:
    found = solve(RAP(task=Blocksworld(), transition="check"), Engine(told_in(SHAPES[shape])))
    assert found.plan.splitlines() == PLAN
    assert found.search.world_accuracy == 1.0


def test_a_step_that_changes_nothing_is_not_gone_on_from() -> None:
    found = solve(RAP(task=Blocksworld(), controller=MCTS(rollouts=3)), Engine(told("Nothing changes."))).search
    assert {node.status for node in found.tree if node.id} == {NodeStatus.ILLEGAL}
    assert found.rules_broken() == {"nothing changes": len(found.tree) - 1}
    assert found.ended is Ended.SEARCHED_OUT


def test_the_reward_joins_the_verdict_with_the_share_of_the_goal() -> None:
    class Two(Blocksworld):
        pass

    def approves(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        return {"step_reasoning": "r", "step_verdict": "yes"} if "step_verdict" in kind else world(kind, inputs, n)

    program = RAP(task=Two(), blend=0.25, controller=MCTS(rollouts=1, branching=1))
    with dspy.context(lm=lm(Engine(approves))):
        found = program(initial=START, goal="on(blue,green), ontable(green)")
    assert found.search.tree[1].value == pytest.approx(0.75 * 1.0 + 0.25 * 0.5)


def test_moves_of_the_task_need_no_proposer() -> None:
    engine = Engine(world)
    found = solve(RAP(task=Blocksworld(), propose="moves", controller=MCTS(rollouts=20)), engine)
    assert found.plan.splitlines() == PLAN
    assert "propose" not in found.search.spent_by


def half_right(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """Knows Blocksworld, but takes what is unstacked to lie on the table at once."""
    if "next_state" in kind and inputs["search_action"].startswith("unstack the red"):
        return {"next_state": "ontable(red)\nontable(blue)\nontable(green)"}
    return world(kind, inputs, n)


@each
def test_the_tasks_own_step_checks_the_model_and_counts(concurrency: int, driver: str) -> None:
    program = RAP(task=Blocksworld(), transition="check", concurrency=concurrency)
    found = solve(program, Engine(half_right), driver)
    assert found.plan.splitlines() == PLAN  # the truth was used, not the prediction
    predicted = found.search.predicted
    assert predicted["wrong"] >= 1
    assert predicted["right"] > predicted["wrong"]
    assert found.search.world_accuracy == predicted["right"] / (predicted["right"] + predicted["wrong"])


def test_a_model_that_knows_the_rules_is_always_right_and_one_that_is_not_checked_is_not_counted() -> None:
    assert solve(RAP(task=Blocksworld(), transition="check"), Engine(world)).search.world_accuracy == 1.0
    assert solve(RAP(task=Blocksworld()), Engine(world)).search.world_accuracy is None


def test_what_the_model_wrongly_forbids_or_allows_is_wrong() -> None:
    never = RAP(task=Blocksworld(), transition="check", controller=MCTS(rollouts=1), concurrency=1)
    found = solve(never, Engine(told("ILLEGAL: the hand is tied"))).search
    assert found.predicted["right"] == 0
    assert found.predicted["wrong"] > 0
    assert all(node.status is not NodeStatus.ILLEGAL for node in found.tree)


def test_the_tasks_own_step_replaces_the_model(tmp_path: Any) -> None:
    engine, path = Engine(world), tmp_path / "rap.json"
    program = RAP(task=Blocksworld(), transition="replace")
    assert [name for name, _ in program.named_predictors()] == ["propose.predict", "rate.predict"]
    found = solve(program, engine)
    assert found.plan.splitlines() == PLAN
    assert "step" not in found.search.spent_by
    assert not [call for call in engine.calls if "next_state" in call.kind]
    program.save(path)
    assert thoughtree.load(path).plan.transition == "replace"
    with pytest.raises(ValueError, match="transition='maybe'"):
        RAP(task=Blocksworld(), transition="maybe")


def test_the_counts_are_saved_with_the_result(tmp_path: Any) -> None:
    found = solve(RAP(task=Blocksworld(), transition="check"), Engine(half_right)).search
    found.save(tmp_path / "result.json")
    loaded = thoughtree.SearchResult.load(tmp_path / "result.json")
    assert (loaded.predicted, loaded.world_accuracy) == (found.predicted, found.world_accuracy)


def test_a_task_without_facts_is_refused() -> None:
    with pytest.raises(TypeError, match=r"predicted\(state, action, facts\)"):
        RAP(task=thoughtree.Game24())


def test_it_is_saved_and_loaded(tmp_path: Any) -> None:
    path = tmp_path / "rap.json"
    RAP(task=Blocksworld(style="words"), controller=MCTS(rollouts=4), blend=0.3, samples=2).save(path)
    loaded = thoughtree.load(path)
    assert (type(loaded), loaded.controller, loaded.plan.blend) == (RAP, MCTS(rollouts=4), 0.3)
    assert loaded.task.style == "words"


def test_a_run_is_resumed_from_its_journal(tmp_path: Any) -> None:
    engine, path = Engine(world), tmp_path / "run.jsonl"  # one call at a time: none is in flight at the goal
    program = RAP(task=Blocksworld(), concurrency=1)
    with dspy.context(lm=lm(engine)):
        program(initial=START, goal=GOAL, config={"journal": path, "budget": 9})
        found = program(initial=START, goal=GOAL, config={"journal": path})
    once = Engine(world)
    whole = solve(RAP(task=Blocksworld(), concurrency=1), once)
    assert found.search.path == whole.search.path == PLAN
    assert len(engine.calls) == len(once.calls)


def test_an_estimate_counts_the_world_models_calls() -> None:
    calls = RAP(task=Blocksworld(), controller=MCTS(rollouts=5, branching=3)).estimate().calls
    assert calls == {"propose": 5, "rate": 15, "step": 15}
    replaced = RAP(task=Blocksworld(), controller=MCTS(rollouts=5, branching=3), transition="replace")
    assert replaced.estimate().calls == {"propose": 5, "rate": 15}


@each
def test_a_resumed_run_counts_the_predictions_that_were_recorded(tmp_path: Any, concurrency: int, driver: str) -> None:
    """Half of it from a journal or all of it, and without another call: the world accuracy of the unbroken run."""
    controller = MCTS(rollouts=3, branching=3)  # ends before the goal, so that no reply comes late
    program = RAP(task=Blocksworld(), transition="check", controller=controller, concurrency=concurrency)
    unbroken = solve(program, Engine(half_right), driver).search
    assert unbroken.predicted["wrong"] > 0
    assert not unbroken.solved
    path, engine = tmp_path / "run.jsonl", Engine(half_right)
    with dspy.context(lm=lm(engine)):
        program(initial=START, goal=GOAL, config={"journal": path, "budget": unbroken.spent.calls // 2})
        for _ in range(2):
            found = program(initial=START, goal=GOAL, config={"journal": path}).search
            assert (found.predicted, found.world_accuracy) == (unbroken.predicted, unbroken.world_accuracy)
            assert found.path == unbroken.path
    assert len(engine.calls) == unbroken.spent.calls


def test_a_node_that_gets_more_children_gets_the_next_of_the_tasks_moves() -> None:
    """And not its first one again: with one child at a time both moves of the start are found, each once."""
    program = RAP(task=Blocksworld(), controller=ABMCTS(rollouts=12, max_depth=2), propose="moves")
    found = solve(program, Engine(world)).search
    assert [str(node.action) for node in found.tree if node.depth == 1] == [PLAN[0], "pick up the green block"]
