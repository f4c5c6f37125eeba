"""A program inside DSPy: evaluation, parallel runs, callbacks, usage, LMs per role, tools, other modules."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle

import dspy
import pytest
from dspy.utils.callback import BaseCallback

from engines import Engine, lm
from puzzle24 import KINDS, PATH, PUZZLE, call, drivers, engine, script
from thoughtree import DFS, Beam, Game24, SearchPrediction, SearchStatus, TreeOfThoughts

SOLVABLE = [dspy.Example(numbers=PUZZLE, answer="").with_inputs("numbers") for _ in range(6)]


def solver(**knobs):
    return TreeOfThoughts(task=Game24(), controller=Beam(width=2), **knobs)


def solved(example, prediction, trace=None):
    return prediction.search.solved


def test_evaluate_runs_it_and_saves_the_results(tmp_path):
    path = tmp_path / "results.json"
    with dspy.context(lm=lm(engine())):
        evaluate = dspy.Evaluate(devset=SOLVABLE, metric=solved, num_threads=4, save_as_json=str(path))
        result = evaluate(solver())
    assert result.score == 100.0
    assert len(result.results) == 6
    assert all(prediction.search.path == PATH for _, prediction, _ in result.results)
    assert json.loads(path.read_text())[0]["reasoning"] == "\n".join(PATH)


def test_parallel_and_batch_run_it():
    program = solver()
    model = engine()
    with dspy.context(lm=lm(model)):
        pairs = [(program, example) for example in SOLVABLE]
        found = dspy.Parallel(num_threads=3, disable_progress_bar=True)(pairs)
        batched = program.batch(SOLVABLE, num_threads=3, disable_progress_bar=True)
    assert [p.search.path for p in [*found, *batched]] == [PATH] * 12
    assert model.count("propose") == 12 * 5
    assert sum(p.search.spent.calls for p in [*found, *batched]) == model.count()


@drivers
def test_the_prediction_is_a_plain_one_outside(driver):
    found = call(solver(), engine(), driver, numbers=PUZZLE)
    assert isinstance(found, dspy.Prediction)
    assert isinstance(found, SearchPrediction)
    assert list(found.keys()) == ["reasoning", "answer"]
    assert dict(**found) == {"reasoning": "\n".join(PATH), "answer": found.answer}
    assert json.loads(json.dumps(found.toDict()))["answer"] == found.answer
    assert "search" not in str(found)
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found)), found.copy()):
        assert other.answer == found.answer
        assert other.search.path == PATH
        assert other.search.status is SearchStatus.SOLVED
    assert found.copy(answer="x").answer == "x"
    assert dspy.Prediction(**found).answer == found.answer
    with pytest.raises(AttributeError, match="carries no search"):
        _ = SearchPrediction(answer="x").search


class Spans(BaseCallback):
    """Each start and end, by the kind of thing and its class."""

    def __init__(self):
        self.open, self.closed, self.failed = {}, [], []

    def on_module_start(self, call_id, instance, inputs):
        self.open[call_id] = type(instance).__name__

    def on_module_end(self, call_id, outputs, exception=None):
        (self.failed if exception else self.closed).append(self.open.pop(call_id))

    def on_lm_start(self, call_id, instance, inputs):
        self.open[call_id] = "LM"

    def on_lm_end(self, call_id, outputs, exception=None):
        (self.failed if exception else self.closed).append(self.open.pop(call_id))


@drivers
def test_callbacks_see_each_call_start_and_end(driver):
    spans = Spans()
    with dspy.context(callbacks=[spans]):
        found = call(solver(), engine(), driver, numbers=PUZZLE)
    calls = found.search.spent.calls
    assert spans.open == {}
    assert spans.failed == []
    assert sorted(spans.closed) == ["LM"] * calls + ["Predict"] * calls + ["TreeOfThoughts"]


@drivers
@pytest.mark.parametrize("disable_history", [False, True])
def test_usage_is_what_the_engine_counted(driver, disable_history):
    model = engine(tokens=(30, 12))
    with dspy.context(track_usage=True, disable_history=disable_history):
        found = call(solver(), model, driver, numbers=PUZZLE)
    (usage,) = found.get_lm_usage().values()
    assert usage["prompt_tokens"] == 30 * model.count()
    assert usage["completion_tokens"] == 12 * model.count()
    assert found.search.spent.tokens == 42 * model.count()
    assert found.search.spent.calls == model.count()


@drivers
def test_usage_is_counted_where_branches_fail(driver):
    def fn(kind, inputs, n):
        if kind == "rate" and inputs["search_state"] == "13 15":
            raise ValueError("no such luck")
        return script(kind, inputs, n)

    model = engine(fn, tokens=(30, 12))
    with dspy.context(track_usage=True):
        found = call(solver(retries=0), model, driver, numbers=PUZZLE)
    replies = model.count() - 1
    assert found.search.spent.tokens == 42 * replies
    assert found.search.spent.calls == model.count()
    (usage,) = found.get_lm_usage().values()
    assert usage["total_tokens"] == 42 * replies


@drivers
def test_history_is_untouched_unless_asked_for(driver):
    program = solver()
    quiet, loud = lm(engine()), lm(engine())
    call(program, quiet, driver, numbers=PUZZLE)
    assert (quiet.history, program.history, program.rate.predict.history) == ([], [], [])
    found = call(program, loud, driver, numbers=PUZZLE, config={"history": True})
    assert len(loud.history) == found.search.spent.calls
    assert len(program.history) == found.search.spent.calls


# LMs per role


@drivers
def test_each_role_calls_its_own_lm(driver):
    cheap, dear, closing = engine(), engine(), Engine(lambda kind, inputs, n: {"answer": "42"})

    def fn(kind, inputs, n):
        return (
            {"next_thoughts": "1. a\n2. b"} if kind == "propose" else {"rating_reasoning": "", "thought_rating": "sure"}
        )

    cheap.fn = dear.fn = fn
    program = TreeOfThoughts(
        "question -> answer",
        controller=Beam(max_depth=1),
        propose_lm=lm(cheap),
        rate_lm=lm(dear),
        answer_lm=lm(closing),
    )
    call(program, None, driver, question="q")  # no LM is configured, and none is needed
    assert (cheap.count("propose"), cheap.count()) == (1, 1)
    assert (dear.count("rate"), dear.count()) == (2, 2)
    assert closing.count() == 1


@drivers
def test_set_lm_is_honoured_before_the_programs_own(driver):
    bound, own, configured = engine(), engine(), engine()
    program = solver(rate_lm=lm(own))
    program.rate.set_lm(lm(bound))
    call(program, configured, driver, numbers=PUZZLE)
    assert bound.count() == bound.count("rate") > 0
    assert own.count() == 0
    assert configured.count() == configured.count("propose") == 5


def test_a_bound_lm_is_neither_copied_nor_changed():
    bound = lm(engine())
    program = solver()
    program.rate.set_lm(bound)
    call(program, engine(), numbers=PUZZLE)
    assert program.rate.predict.lm is bound
    assert bound.history == []
    assert bound.num_retries == dspy.LM("stub/model").num_retries


def test_without_an_lm_it_says_so_at_once():
    with dspy.context(lm=None), pytest.raises(ValueError, match=r"no LM for propose: call dspy\.configure"):
        solver()(numbers=PUZZLE)
    with dspy.context(lm="openai/gpt-4o-mini"), pytest.raises(TypeError, match=r"dspy\.LM\('openai"):
        solver()(numbers=PUZZLE)


# The module is unchanged by a call


def state(program):
    """All that a program holds, deeply."""
    seen = {}
    for name, module in program.named_sub_modules():
        for key, value in vars(module).items():
            if not isinstance(value, dspy.Module):
                seen[name, key] = copy.deepcopy(value) if isinstance(value, list | dict) else value
    return seen


class Planted(BaseException):
    pass


@drivers
def test_a_call_leaves_the_module_as_it_was(driver):
    program = TreeOfThoughts("question -> answer", propose="samples", samples=2, first="answer")
    before = state(program)

    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": f"1. a{n}"}
        return {"rating_reasoning": "", "thought_rating": "sure"} if kind == "rate" else {"answer": "x"}

    call(
        program,
        Engine(fn, kinds=KINDS),
        driver,
        question="q",
        config={"budget": 9, "controller": DFS(), "seed": 3},
    )
    assert state(program) == before

    def crash(kind, inputs, n):
        if n == 4:
            raise Planted
        return fn(kind, inputs, n)

    with pytest.raises(Planted):
        call(program, Engine(crash, kinds=KINDS), driver, question="q")
    with pytest.raises(ValueError, match="nonsense"):
        call(program, Engine(fn), driver, question="q", config={"nonsense": 1})
    assert state(program) == before
    assert program.rate.predict.lm is None


# In other modules


class Outer(dspy.Module):
    def __init__(self):
        super().__init__()
        self.solve = solver()
        self.tell = dspy.Predict("expression -> sentence")

    def forward(self, numbers):
        return self.tell(expression=self.solve(numbers=numbers).answer)

    async def aforward(self, numbers):
        found = await self.solve.acall(numbers=numbers)
        return await self.tell.acall(expression=found.answer)


@drivers
def test_a_call_inside_another_modules_forward(driver):
    def fn(kind, inputs, n):
        return {"sentence": f"It is {inputs['expression']}."} if kind == ("sentence",) else script(kind, inputs, n)

    found = call(Outer(), engine(fn), driver, numbers=PUZZLE)
    assert found.sentence == "It is (10 - 4) * (13 - 9)."


def test_a_sync_call_inside_a_running_loop():
    async def main():
        return solver()(numbers=PUZZLE)

    with dspy.context(lm=lm(engine())):
        assert asyncio.run(main()).search.path == PATH


def test_react_uses_it_as_a_tool():
    tool = solver().as_tool("twenty_four", "Makes 24.")
    assert tool.name == "twenty_four"
    assert tool.desc == "Makes 24."
    assert tool.args == {"numbers": {"type": "string"}}
    said = []

    def fn(kind, inputs, n):
        if "next_tool_name" in kind:
            said.append(inputs.get("observation_0", ""))
            done = len(said) > 1
            return {
                "next_thought": "solve it",
                "next_tool_name": "finish" if done else "twenty_four",
                "next_tool_args": json.dumps({} if done else {"numbers": PUZZLE}),
            }
        if kind in ("propose", "rate"):
            return script(kind, inputs, n)
        return dict.fromkeys(kind, "done")

    agent = dspy.ReAct("question -> reply", tools=[tool])
    found = call(agent, Engine(fn, kinds={k: v for k, v in KINDS.items() if k in ("propose", "rate")}), question="24?")
    assert found.reply == "done"
    assert "solved" in said[1]  # the observation holds the answer and what it is worth
    assert "(10 - 4) * (13 - 9)" in said[1]
    assert found.trajectory["observation_0"]["search_status"] == "solved"


def test_an_awaited_tool_leaves_the_loop_to_others():
    async def main():
        ticks, tool = 0, solver().as_tool()
        task = asyncio.create_task(tool.acall(numbers=PUZZLE))
        while not task.done():
            ticks += 1
            await asyncio.sleep(0.001)
        return ticks, await task

    with dspy.context(lm=lm(engine(delay=0.01))):
        ticks, found = asyncio.run(main())
    assert found["search_status"] == "solved"
    assert ticks > 2  # a search that blocks is over at the first


@drivers
def test_a_tool_checks_and_types_its_arguments(driver):
    program = TreeOfThoughts("question, limit: int -> answer: int", controller=Beam(max_depth=1))

    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "1. ANSWER: " + inputs["limit"]}
        raise AssertionError(kind)

    tool = program.as_tool()
    assert tool.name == "tree_of_thoughts"
    assert {name: schema["type"] for name, schema in tool.args.items()} == {
        "question": "string",
        "limit": "integer",
    }
    with dspy.context(lm=lm(engine(fn))):
        found = tool(question="q", limit=7) if driver == "threads" else asyncio.run(tool.acall(question="q", limit=7))
        with pytest.raises(ValueError, match="limit"):
            tool(question="q", limit="many")
    assert found == {"answer": 7, "search_status": "unverified"}


# A search inside a search


class Deep(dspy.Module):
    """A proposer that searches."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls
        self.inner = TreeOfThoughts("question -> answer", controller=Beam(width=1, branching=2, max_depth=1))

    def forward(self, question, search_path):
        return dspy.Prediction(steps=[self.inner(question=question).answer])

    async def aforward(self, question, search_path):
        return dspy.Prediction(steps=[(await self.inner.acall(question=question)).answer])


@drivers
@pytest.mark.parametrize(("calls", "inner_calls"), [(4, 4), (2, 2)])
def test_a_search_inside_a_role_counts_in_the_outer_budget(driver, calls, inner_calls):
    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "1. a\n2. b"}
        if kind == "rate":
            return {"rating_reasoning": "", "thought_rating": "sure"}
        return {"answer": "inner"}

    model = engine(fn)
    program = TreeOfThoughts(
        "question -> answer",
        propose=Deep(calls),
        value_fn=lambda inputs, path: 1.0,
        answer="path",
        controller=Beam(max_depth=1),
    )
    found = call(program, model, driver, question="q")
    # The inner search proposes once, rates two, and closes: 4 calls, if that many were reserved for it.
    assert model.count() == inner_calls
    assert found.search.spent.calls == inner_calls
    assert found.answer == ("inner" if calls == 4 else "a")
