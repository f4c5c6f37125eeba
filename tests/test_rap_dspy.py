"""RAP as a DSPy module: saved, copied, streamed, an agent's tool, resumed, learned from."""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import cloudpickle
import dspy
import pytest

import thoughtree
from engines import Engine, lm
from journals import replies
from stacking import GOAL, PLAN, START, world
from thoughtree import MCTS, RAP, Beam, Blocksworld, Budget, SearchProgress, SearchStatus

PROBLEM = {"initial": START, "goal": GOAL}
drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])


def call(program: Any, engine: Engine | None, driver: str = "threads", **inputs: Any) -> Any:
    with dspy.context(lm=None if engine is None else lm(engine)):
        return asyncio.run(program.acall(**inputs)) if driver == "asyncio" else program(**inputs)


class Pipeline(dspy.Module):
    """Plans, and tells the plan."""

    def __init__(self, **knobs: Any) -> None:
        super().__init__()
        self.solve = RAP(task=Blocksworld(), **knobs)
        self.tell = dspy.Predict("plan -> sentence")

    def forward(self, **problem: Any) -> Any:
        return self.tell(plan=self.solve(**problem).plan)

    async def aforward(self, **problem: Any) -> Any:
        return await self.tell.acall(plan=(await self.solve.acall(**problem)).plan)


def told(kind: Any, inputs: dict[str, str], n: int) -> Any:
    lines = len(inputs.get("plan", "").splitlines())
    return {"sentence": f"{lines} steps"} if "sentence" in kind else world(kind, inputs, n)


KNOBS: dict[str, Any] = {
    "controller": MCTS(rollouts=7, branching=2, max_depth=5, exploration=0.4),
    "budget": Budget(calls=90),
    "propose": "moves",
    "blend": 0.3,
    "samples": 4,
    "transition": "check",
    "aggregate": True,
    "answer": "lm",
    "concurrency": 3,
    "seed": 5,
    "retries": 1,
    "on_failure": "raise",
    "history": True,
}


def test_every_knob_survives_saving(tmp_path: Path) -> None:
    program = RAP(task=Blocksworld(style="pddl"), **KNOBS)
    program.save(tmp_path / "rap.json")
    loaded = thoughtree.load(tmp_path / "rap.json")
    assert (type(loaded), loaded.plan, loaded.task) == (RAP, program.plan, program.task)
    assert [name for name, _ in loaded.named_predictors()] == [name for name, _ in program.named_predictors()]


@pytest.mark.parametrize("transition", [None, "check", "replace"])
def test_a_loaded_program_plans_alike(transition: Any, tmp_path: Path) -> None:
    RAP(task=Blocksworld(), transition=transition).save(tmp_path / "rap.json")
    assert call(thoughtree.load(tmp_path / "rap.json"), Engine(world), **PROBLEM).plan.splitlines() == PLAN


def test_a_pipeline_keeps_it_through_save_load_and_reset_copy(tmp_path: Path) -> None:
    knobs = {"controller": MCTS(rollouts=12, branching=4), "blend": 0.25}
    Pipeline(**knobs).save(tmp_path / "pipeline.json")
    other = Pipeline()
    other.load(tmp_path / "pipeline.json")
    for found in (other, other.reset_copy(), other.deepcopy()):
        assert found.solve.controller == MCTS(rollouts=12, branching=4)
        assert found.solve.plan.blend == 0.25
        assert call(found, Engine(told), **PROBLEM).sentence == "4 steps"


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda p: p.deepcopy(), lambda p: cloudpickle.loads(cloudpickle.dumps(p))]
)
def test_a_copy_plans_alike_and_shares_no_predictor(copied: Any) -> None:
    program = RAP(task=Blocksworld())
    other = copied(program)
    assert other.plan == program.plan
    assert not {id(mine) for mine in program.predictors()} & {id(its) for its in other.predictors()}
    other.controller = Beam(width=2, max_depth=6)
    assert program.controller == MCTS(rollouts=10, branching=3, max_depth=6, exploration=1.0)
    assert call(other, Engine(world), **PROBLEM).plan.splitlines() == PLAN


def test_names_and_signatures_of_predictors_are_fixed_and_differ() -> None:
    named = RAP("initial, goal -> plan, remark", task=Blocksworld()).named_predictors()
    assert [name for name, _ in named] == ["propose.predict", "world.predict", "rate.predict", "answer.predict"]
    asked = [(p.signature.instructions, tuple(p.signature.output_fields)) for _, p in named]
    assert len(set(asked)) == 4


@drivers
def test_a_call_inside_another_module(driver: str) -> None:
    assert call(Pipeline(), Engine(told), driver, **PROBLEM).sentence == "4 steps"


def test_a_tool_has_the_signatures_schema() -> None:
    tool = RAP(task=Blocksworld()).as_tool("planner", "Plans.")
    assert (tool.name, tool.desc) == ("planner", "Plans.")
    assert {name: schema["type"] for name, schema in tool.args.items()} == {"initial": "string", "goal": "string"}
    with dspy.context(lm=lm(Engine(world))):
        for given in (tool(**PROBLEM), asyncio.run(tool.acall(**PROBLEM))):
            assert given == {"plan": "\n".join(PLAN), "search_status": "solved"}
        with pytest.raises(ValueError, match="Arg config is not in the tool's args"):
            tool(**PROBLEM, config={"budget": 3})


@pytest.mark.parametrize("asynchronous", [False, True])
def test_progress_is_streamed(asynchronous: bool) -> None:
    streamed = dspy.streamify(RAP(task=Blocksworld()), is_async_program=asynchronous)

    async def chunks() -> list[Any]:
        return [chunk async for chunk in streamed(**PROBLEM)]

    with dspy.context(lm=lm(Engine(world, delay=0.01))):
        *messages, prediction = asyncio.run(chunks())
    assert prediction.plan.splitlines() == PLAN
    assert messages
    assert all(isinstance(message, SearchProgress) for message in messages)
    assert messages[-1].nodes == len(prediction.search.tree)


@drivers
def test_settings_of_one_call_are_of_that_call(driver: str) -> None:
    program, engine, seen = RAP(task=Blocksworld()), Engine(world), []
    config = {"budget": 5, "on_event": seen.append}
    assert call(program, engine, driver, **PROBLEM, config=config).search.spent.calls == len(engine.calls) == 5
    assert seen
    config = {"controller": Beam(width=2, max_depth=6), "seed": 3, "blend": 1.0, "samples": 2, "aggregate": True}
    found = call(program, Engine(world), driver, **PROBLEM, config=config).search
    assert (found.controller["kind"], found.rating.samples) == ("Beam", 2)
    assert program.plan == RAP(task=Blocksworld()).plan
    with pytest.raises(ValueError, match="transition"):  # the roles hang on it
        call(program, engine, driver, **PROBLEM, config={"transition": "replace"})


def test_flags_that_are_none_are_named() -> None:
    with pytest.raises(ValueError, match="aggregate='yes'"):
        RAP(task=Blocksworld(), aggregate="yes")  # type: ignore[arg-type]


@drivers
def test_each_role_calls_its_own_lm(driver: str) -> None:
    propose, predict, rate = Engine(world), Engine(world), Engine(world)
    program = RAP(task=Blocksworld(), propose_lm=lm(propose), world_lm=lm(predict), rate_lm=lm(rate))
    assert call(program, None, driver, **PROBLEM).plan.splitlines() == PLAN
    for engine, field in ((propose, "next_thoughts"), (predict, "next_state"), (rate, "step_verdict")):
        assert engine.calls
        assert all(field in one.kind for one in engine.calls)
    bound = Engine(world)
    program.world.set_lm(lm(bound))
    call(program, None, driver, **PROBLEM)
    assert all("next_state" in one.kind for one in bound.calls)
    assert bound.calls


def test_an_lm_that_is_missing_is_named_before_anything_is_paid() -> None:
    program = RAP(task=Blocksworld(), propose_lm=lm(Engine(world)), rate_lm=lm(Engine(world)))
    with pytest.raises(ValueError, match="no LM for world"):
        call(program, None, **PROBLEM)


def test_evaluate_parallel_and_batch_run_it() -> None:
    examples = [dspy.Example(**PROBLEM).with_inputs("initial", "goal") for _ in range(3)]
    program = RAP(task=Blocksworld())

    def solved(example: Any, prediction: Any, trace: Any = None) -> bool:
        return prediction.search.status is SearchStatus.SOLVED

    with dspy.context(lm=lm(Engine(world))):
        evaluate = dspy.Evaluate(devset=examples, metric=solved, num_threads=2, display_progress=False)
        assert evaluate(program).score == 100.0
        assert [found.plan.splitlines() for found in program.batch(examples)] == [PLAN] * 3
        pairs = dspy.Parallel(num_threads=2, timeout=0)([(program, example) for example in examples])
    assert [found.plan.splitlines() for found in pairs] == [PLAN] * 3


@drivers
def test_usage_is_what_the_engine_counted(driver: str) -> None:
    engine = Engine(world, tokens=(7, 3))
    with dspy.track_usage() as tracker:
        found = call(RAP(task=Blocksworld(), concurrency=1), engine, driver, **PROBLEM)  # no call comes late
    calls = len(engine.calls)
    assert tracker.get_total_tokens()["stub/model"]["total_tokens"] == found.search.spent.tokens == 10 * calls


def test_callbacks_see_the_program_start_and_end() -> None:
    from dspy.utils.callback import BaseCallback

    class Seen(BaseCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.modules: list[str] = []

        def on_module_start(self, call_id: str, instance: Any, inputs: Any) -> None:
            self.modules.append(type(instance).__name__)

    seen = Seen()
    with dspy.context(callbacks=[seen]):
        call(RAP(task=Blocksworld()), Engine(world), **PROBLEM)
    assert seen.modules[0] == "RAP"
    assert "Predict" in seen.modules


def test_the_prediction_is_a_plain_one_outside() -> None:
    found = call(RAP(task=Blocksworld()), Engine(world), **PROBLEM)
    assert sorted(found.keys()) == ["plan", "reasoning"]
    assert json.loads(json.dumps(found.toDict()))["plan"].splitlines() == PLAN
    assert copy.deepcopy(found).search.path == PLAN


def test_calls_of_the_solution_path_are_learned_from() -> None:
    """The proposals, predictions and verdicts of the plan's own four steps, and none of another branch."""
    program = RAP(task=Blocksworld())
    with dspy.context(trace=(trace := [])):
        call(program, Engine(world), **PROBLEM)
    named = {id(predictor): name for name, predictor in program.named_predictors()}
    by_role: dict[str, list[Any]] = {name: [] for name in named.values()}
    for predictor, inputs, _ in trace:
        by_role[named[id(predictor)]].append(inputs)
    assert [inputs["search_action"] for inputs in by_role["world.predict"]] == PLAN
    assert len(by_role["propose.predict"]) == 4
    steps = [inputs["search_path"].splitlines()[-1].split(". ", 1)[1] for inputs in by_role["rate.predict"]]
    assert steps == PLAN[:3]  # code knows the goal


def test_bootstrap_gives_each_role_demos() -> None:
    from dspy.teleprompt import BootstrapFewShot

    example = dspy.Example(**PROBLEM).with_inputs("initial", "goal")
    optimizer = BootstrapFewShot(metric=lambda e, p, trace=None: p.search.solved, max_labeled_demos=0)
    with dspy.context(lm=lm(Engine(world))):
        compiled = optimizer.compile(RAP(task=Blocksworld()), trainset=[example])
    assert {name for name, predictor in compiled.named_predictors() if predictor.demos} == {
        "propose.predict",
        "world.predict",
        "rate.predict",
    }
    assert call(compiled, Engine(world), **PROBLEM).plan.splitlines() == PLAN


@drivers
def test_a_run_cut_after_any_line_of_its_journal_is_resumed_to_the_same_plan(driver: str, tmp_path: Path) -> None:
    program = RAP(task=Blocksworld(), transition="check", concurrency=1)
    once, whole = Engine(world), tmp_path / "whole.jsonl"
    unbroken = call(program, once, driver, **PROBLEM, config={"journal": whole}).search
    lines = whole.read_bytes().splitlines(keepends=True)
    for kept in range(1, len(lines) + 1, 7):
        cut = tmp_path / f"{kept}.jsonl"
        cut.write_bytes(b"".join(lines[:kept]))
        engine = Engine(world)
        found = call(program, engine, driver, **PROBLEM, config={"journal": cut}).search
        assert (found.path, found.predicted, len(found.tree)) == (PLAN, unbroken.predicted, len(unbroken.tree))
        assert len(engine.calls) == len(once.calls) - len(replies(b"".join(lines[:kept])))


def test_an_estimate_bounds_what_is_spent() -> None:
    program = RAP(task=Blocksworld(), controller=MCTS(rollouts=5, branching=3), samples=2)
    estimate = program.estimate()
    assert estimate.calls == {"propose": 5, "rate": 30, "step": 15}
    spent = call(program, Engine(world), **PROBLEM).search.spent_by
    assert all(usage.calls <= estimate.calls[role] for role, usage in spent.items())
    assert (
        program.estimate(price={"propose": (1.0, 1.0), "rate": (1.0, 1.0), "step": (2.0, 2.0)}).total_cost is not None
    )
