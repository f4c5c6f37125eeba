"""LATS as a DSPy module, over an environment, tools and a reward: saved, copied, streamed, a tool, learned from."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import dspy
import pytest

import thoughtree
from engines import Engine, lm
from thoughtree import LATS, MCTS, Beam, Budget, SearchFailed, SearchProgress, SearchStatus, repeatable
from thoughtree.search.environment import Observed
from thoughtree.tasks.live import Rewound
from thoughtree.testing import RuleLM

drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])


class Adder:
    """A pure environment: actions are numbers, which are to add up to the goal."""

    signature = "goal: int -> answer: int"

    def initial(self, inputs: dict[str, Any]) -> tuple[int, ...]:
        return (int(inputs["goal"]), 0)

    def step(self, state: tuple[int, ...], action: str) -> Observed:
        goal, total = state
        total += int(action)
        return Observed((goal, total), observation=f"at {total}", solved=total == goal, failed=total > goal, key=total)

    def answer(self, state: tuple[int, ...]) -> dict[str, Any]:
        return {"answer": state[1]}


class LiveAdder:
    """The same, in one state at a time."""

    signature = "goal: int -> answer: int"

    def __init__(self) -> None:
        self.now = (0, 0)

    def reset(self, inputs: dict[str, Any]) -> None:
        self.now = (int(inputs["goal"]), 0)

    def step(self, action: str) -> Observed:
        seen = Adder().step(self.now, action)
        self.now = seen.state
        return seen

    def snapshot(self) -> tuple[int, int]:
        return self.now

    def restore(self, token: tuple[int, int]) -> None:
        self.now = token

    def answer(self, token: tuple[int, int]) -> dict[str, Any]:
        return {"answer": token[1]}


@repeatable
def half(of: int) -> int:
    """Half a number."""
    return of // 2


def check(inputs: Any, prediction: Any) -> float:
    return 1.0 if prediction.answer == inputs["goal"] else 0.0


def over_env(**knobs: Any) -> LATS:
    return LATS(env=Adder(), **knobs)


def over_live(**knobs: Any) -> LATS:
    return LATS(env=LiveAdder(), **knobs)


def over_tools(**knobs: Any) -> LATS:
    return LATS("goal: int -> answer: int", tools=[half], **knobs)


def over_reward(**knobs: Any) -> LATS:
    return LATS("goal: int -> answer: int", reward_fn=check, **knobs)


GIVEN: dict[Callable[..., LATS], dict[str, Any]] = {
    over_env: {"env": Adder()},
    over_live: {"env": LiveAdder()},
    over_tools: {"tools": [half]},
    over_reward: {"reward_fn": check},
}
each = pytest.mark.parametrize("make", GIVEN)
STATUS = {over_tools: SearchStatus.UNVERIFIED}  # a submission that nobody checks


def plays(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """Three and three make six; a tool gives six of twelve; an answer is six at the second attempt."""
    if "next_action" in kind:
        again = inputs["search_path"] != "(none)"
        if "call with literal" in inputs["action_format"]:
            return {"act_reasoning": "r", "next_action": "submit(answer=6)" if again else "half(of=12)"}
        if "the value of" in inputs["action_format"]:
            return {"act_reasoning": "r", "next_action": "6" if again else "5"}
        return {"act_reasoning": "r", "next_action": "3"}
    if "attempt_score" in kind:
        return {"judge_reasoning": "r", "attempt_score": "0.5"}
    if "sentence" in kind:
        return {"sentence": f"it is {inputs['answer']}"}
    return {"attempt_lesson": "try the next number instead"} if "attempt_lesson" in kind else {"answer": "0"}


def call(program: Any, engine: Engine | None, driver: str = "threads", **inputs: Any) -> Any:
    with dspy.context(lm=None if engine is None else lm(engine)):
        return asyncio.run(program.acall(**inputs)) if driver == "asyncio" else program(**inputs)


class Pipeline(dspy.Module):
    """Solves, and tells the answer."""

    def __init__(self, make: Callable[..., LATS], **knobs: Any) -> None:
        super().__init__()
        self.solve = make(**knobs)
        self.tell = dspy.Predict("answer -> sentence")

    def forward(self, goal: int) -> Any:
        return self.tell(answer=str(self.solve(goal=goal).answer))

    async def aforward(self, goal: int) -> Any:
        return await self.tell.acall(answer=str((await self.solve.acall(goal=goal)).answer))


@each
@drivers
def test_it_solves_and_is_a_plain_prediction_outside(make: Callable[..., LATS], driver: str) -> None:
    found = call(make(), Engine(plays), driver, goal=6)
    assert (found.answer, found.search.status) == (6, STATUS.get(make, SearchStatus.SOLVED))
    assert len(found.search.path) == 2
    assert set(found.keys()) == {"reasoning", "answer"} | ({"trajectory"} if make is over_tools else set())
    assert json.loads(json.dumps(found.toDict()))["answer"] == 6
    assert copy.deepcopy(found).search.path == found.search.path


KNOBS: dict[str, Any] = {
    "controller": MCTS(rollouts=7, branching=2, max_depth=5, exploration=0.4, at_once=2),
    "budget": Budget(calls=90),
    "blend": 0.3,
    "agreement": 0.1,
    "lessons": ["count the steps first"],
    "concurrency": 3,
    "step_concurrency": 2,
    "seed": 5,
    "retries": 1,
    "on_failure": "raise",
    "history": True,
}


@each
def test_every_knob_survives_saving_and_it_searches_alike(make: Callable[..., LATS], tmp_path: Path) -> None:
    program = make(**KNOBS)
    program.save(tmp_path / "lats.json")
    with pytest.raises(ValueError, match="give env=, tools= or reward_fn="):
        thoughtree.load(tmp_path / "lats.json")
    loaded = thoughtree.load(tmp_path / "lats.json", **GIVEN[make])
    assert (type(loaded), loaded.plan) == (LATS, program.plan)
    assert [name for name, _ in loaded.named_predictors()] == [name for name, _ in program.named_predictors()]
    assert call(loaded, Engine(plays), goal=6).answer == 6
    with pytest.raises(ValueError, match="saved from another program: its task"):
        LATS("goal: int -> answer: int", reward_fn=check, threshold=0.5).load(tmp_path / "lats.json")


@each
def test_a_pipeline_keeps_it_through_save_load_and_reset_copy(make: Callable[..., LATS], tmp_path: Path) -> None:
    Pipeline(make, controller=MCTS(rollouts=12, branching=3), blend=0.25).save(tmp_path / "pipeline.json")
    other = Pipeline(make)
    other.load(tmp_path / "pipeline.json")
    for found in (other, other.reset_copy(), other.deepcopy()):
        assert (found.solve.controller, found.solve.plan.blend) == (MCTS(rollouts=12, branching=3), 0.25)
        assert call(found, Engine(plays), goal=6).sentence == "it is 6"


@each
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda p: p.deepcopy(), lambda p: cloudpickle.loads(cloudpickle.dumps(p))]
)
def test_a_copy_searches_alike_and_shares_no_predictor(make: Callable[..., LATS], copied: Any) -> None:
    program = make()
    other = copied(program)
    assert other.plan == program.plan
    assert not {id(mine) for mine in program.predictors()} & {id(its) for its in other.predictors()}
    other.controller = Beam(width=2, branching=2)
    assert program.controller == MCTS(rollouts=8, branching=2, exploration=1.0)
    assert call(other, Engine(plays), goal=6).answer == 6


def test_predictors_have_signatures_of_their_own() -> None:
    named = over_tools().named_predictors()
    assert [name for name, _ in named] == ["propose.predict", "rate.predict", "reflect.predict", "answer.predict"]
    assert len({(p.signature.instructions, tuple(p.signature.output_fields)) for _, p in named}) == 4


@each
@drivers
def test_a_call_inside_another_module(make: Callable[..., LATS], driver: str) -> None:
    assert call(Pipeline(make), Engine(plays), driver, goal=6).sentence == "it is 6"


@each
def test_it_is_a_tool_with_the_signatures_schema(make: Callable[..., LATS]) -> None:
    tool = make().as_tool("adder", "Adds.")
    assert (tool.name, tool.desc, tool.args["goal"]["type"]) == ("adder", "Adds.", "integer")
    status = STATUS.get(make, SearchStatus.SOLVED).value
    with dspy.context(lm=lm(Engine(plays))):
        for given in (tool(goal=6), asyncio.run(tool.acall(goal=6))):
            assert given == {"answer": 6, "search_status": status}
        with pytest.raises(ValueError, match="Arg config is not in the tool's args"):
            tool(goal=6, config={"budget": 3})


def test_a_lats_is_a_tool_of_another_one() -> None:
    """Its calls are declared, counted and held to the outer budget."""
    inner = repeatable(over_env(budget=Budget(calls=9)).as_tool("adder", "Adds up to a goal."))
    inner.func.calls = 9

    def answer(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        if "next_action" in kind and "adder" in inputs["action_format"]:
            again = inputs["search_path"] != "(none)"
            return {"act_reasoning": "r", "next_action": "submit(reply='6')" if again else "adder(goal=6)"}
        return plays(kind, inputs, n)

    engine = Engine(answer)
    found = call(LATS("question -> reply", tools=[inner], controller=MCTS(rollouts=3)), engine, question="q")
    assert found.reply == "6"
    assert "solved" in found.trajectory["observation_0"]
    assert found.search.spent.calls == len(engine.calls)


@each
@pytest.mark.parametrize("asynchronous", [False, True])
def test_progress_is_streamed(make: Callable[..., LATS], asynchronous: bool) -> None:
    streamed = dspy.streamify(make(), is_async_program=asynchronous)

    async def chunks() -> list[Any]:
        return [chunk async for chunk in streamed(goal=6)]

    with dspy.context(lm=lm(Engine(plays, delay=0.01))):
        *messages, prediction = asyncio.run(chunks())
    assert prediction.answer == 6
    assert messages
    assert all(isinstance(message, SearchProgress) for message in messages)
    assert messages[-1].nodes == len(prediction.search.tree)


@drivers
def test_settings_of_one_call_are_of_that_call(driver: str) -> None:
    program, engine, seen = over_env(), Engine(plays), []
    config: dict[str, Any] = {"budget": 2, "on_event": seen.append}
    assert call(program, engine, driver, goal=6, config=config).search.spent.calls == len(engine.calls) == 2
    assert seen
    config = {"controller": Beam(width=2, branching=2), "blend": 1.0, "step_concurrency": 1, "lessons": ["mind it"]}
    assert call(program, Engine(plays), driver, goal=6, config=config).search.controller["kind"] == "Beam"
    assert program.plan == over_env().plan
    with pytest.raises(ValueError, match="step_concurrency=0: must be an integer of at least 1"):
        call(program, engine, driver, goal=6, config={"step_concurrency": 0})


@drivers
def test_each_role_calls_its_own_lm(driver: str) -> None:
    def wrong(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        return {"act_reasoning": "r", "next_action": "9"} if "next_action" in kind else plays(kind, inputs, n)

    propose, rate, reflect = Engine(wrong), Engine(plays), Engine(plays)
    program = over_env(propose_lm=lm(propose), rate_lm=lm(rate), reflect_lm=lm(reflect), controller=MCTS(rollouts=2))
    call(program, None, driver, goal=6)
    for engine, field in ((propose, "next_action"), (rate, "attempt_score"), (reflect, "attempt_lesson")):
        assert engine.calls
        assert all(field in one.kind for one in engine.calls)
    bound = Engine(plays)
    program.reflect.set_lm(lm(bound))
    call(program, None, driver, goal=6)
    assert bound.calls


@each
@drivers
def test_a_run_goes_on_from_its_journal_without_paying_twice(
    make: Callable[..., LATS], driver: str, tmp_path: Path
) -> None:
    program, engine = make(concurrency=1), Engine(plays)
    config = {"journal": tmp_path / "run.jsonl"}
    call(program, engine, driver, goal=6, config={**config, "budget": 3})
    assert len(engine.calls) == 3
    found = call(program, engine, driver, goal=6, config=config)
    whole = call(program, Engine(plays), driver, goal=6)
    assert (found.answer, found.search.path) == (whole.answer, whole.search.path)
    closing = make is over_tools  # of the first run, whose budget held it back for that
    assert found.search.spent.calls == whole.search.spent.calls + closing == len(engine.calls)
    again = call(program, engine, driver, goal=6, config=config)
    assert (again.answer, len(engine.calls)) == (6, whole.search.spent.calls + closing)


def test_evaluate_batch_and_usage() -> None:
    examples = [dspy.Example(goal=6, answer=6).with_inputs("goal") for _ in range(4)]

    def right(example: Any, prediction: Any, trace: Any = None) -> bool:
        return bool(example.answer == prediction.answer)

    engine = Engine(plays, tokens=(30, 12))
    with dspy.context(lm=lm(engine), track_usage=True):
        scored = dspy.Evaluate(devset=examples, metric=right, num_threads=4, display_progress=False)(over_env())
        found = over_env().batch(examples, num_threads=2, disable_progress_bar=True)
        one = over_env()(goal=6)
    assert scored.score == 100.0
    assert [prediction.answer for prediction in found] == [6] * 4
    (usage,) = one.get_lm_usage().values()
    assert usage["total_tokens"] == one.search.spent.tokens == 42 * one.search.spent.calls


@drivers
def test_the_trace_is_of_the_roles_on_the_solution_path(driver: str) -> None:
    program, turns = over_env(concurrency=1), iter(["3", "9", "8", "3"])

    def every_second(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        played = plays(kind, inputs, n)
        return {**played, "next_action": next(turns)} if "next_action" in kind else played

    with dspy.context(trace=[]):
        assert call(program, Engine(every_second), driver, goal=6).search.path == ["3", "3"]
        trace = list(dspy.settings.trace)
    assert trace
    assert {id(predictor) for predictor, _, _ in trace} <= {id(predictor) for predictor in program.predictors()}
    actions = [made.next_action for predictor, _, made in trace if predictor is program.propose.predict]
    assert actions == ["3", "3"]


@drivers
def test_a_failure_is_raised_where_that_is_asked_for(driver: str) -> None:
    def idle(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
        return {"act_reasoning": "r", "next_action": ""} if "next_action" in kind else plays(kind, inputs, n)

    with pytest.raises(SearchFailed) as caught:
        call(over_env(on_failure="raise"), Engine(idle), driver, goal=6)
    assert caught.value.result.status is SearchStatus.FAILED


@each
def test_an_estimate_bounds_what_a_run_takes(make: Callable[..., LATS]) -> None:
    for simulate in (False, True):
        program = make(controller=MCTS(rollouts=3, branching=2, max_depth=4, simulate=simulate))
        most = program.estimate()
        engine = Engine(plays)
        call(program, engine, goal=6)
        assert most.bounded
        assert 0 < len(engine.calls) <= most.total_calls
    assert make(controller=MCTS(rollouts=3, branching=2), budget=4).estimate().warning is not None


def test_nothing_of_a_call_stays_on_the_module() -> None:
    for make in GIVEN:
        program = make()
        before = json.dumps(program.dump_state(), default=str)
        state = {name: id(value) for name, value in vars(program).items()}
        call(program, Engine(plays), goal=6)
        assert json.dumps(program.dump_state(), default=str) == before
        assert {name: id(value) for name, value in vars(program).items()} == state
    assert isinstance(over_live().task.env, Rewound)


@pytest.mark.parametrize("world", ["reward", "tools"])
def test_a_prediction_is_copied_with_its_task_and_pickled_as_it_is_saved(world: str) -> None:
    """Neither a function of this test nor a tool can be pickled."""

    def reward(inputs: Any, prediction: Any) -> float:
        return 0.5

    @repeatable
    def look_up(country: str) -> str:
        return "Madrid"

    given: dict[str, Any] = {"reward_fn": reward} if world == "reward" else {"tools": [look_up]}
    model = RuleLM(act=lambda i: 'submit(answer="Madrid")', judge=lambda i: 0.5, reflect=lambda i: "Look it up.")
    with dspy.context(lm=model):
        found = LATS("question -> answer", controller=MCTS(rollouts=1), **given)(question="Spain?")
    back = pickle.loads(pickle.dumps(found))
    assert (back.toDict(), back.search.status, back.search.path) == (
        found.toDict(),
        found.search.status,
        found.search.path,
    )
    assert (back.search.summary(), back.search.explain()) == (found.search.summary(), found.search.explain())
    assert back.search.task is None
    copied = copy.deepcopy(found)
    assert copied.search.task is not None
    assert copied.search.path == found.search.path
