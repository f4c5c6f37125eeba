"""A program inside other modules, as an agent's tool, and a search inside a search."""

from __future__ import annotations

import asyncio
import json

import dspy
import pytest

from engines import Engine, lm
from puzzle24 import KINDS, PATH, PUZZLE, call, drivers, engine, script
from thoughtree import Beam, Game24, TreeOfThoughts


def solver(**knobs):
    return TreeOfThoughts(task=Game24(), controller=Beam(width=2), **knobs)


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


@drivers
@pytest.mark.parametrize("given", [{"config": {"journal": "of the model's choice"}}, {"config": {"budget": 10**6}}])
def test_an_agent_chooses_inputs_and_no_settings(driver, given):
    tool = TreeOfThoughts("question -> answer").as_tool()
    asked = {"question": "q", **given}
    with pytest.raises(ValueError, match="Arg config is not in the tool's args: it takes question"):
        tool(**asked) if driver == "threads" else asyncio.run(tool.acall(**asked))


# A search inside a search


class Deep(dspy.Module):
    """A proposer that searches."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls
        controller = Beam(width=1, branching=2, max_depth=1)
        # One call at a time: which of two ratings meets the end of the budget is then no race.
        self.inner = TreeOfThoughts("question -> answer", controller=controller, concurrency=1)

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
