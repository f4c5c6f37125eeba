"""Samples and retries of modules of the user's own; settings on a role's predictor."""

from __future__ import annotations

import asyncio
import threading

import dspy
import pytest

from engines import Engine, lm
from puzzle24 import KINDS, call, drivers, engine
from thoughtree import Beam, TreeOfThoughts

ONE = Beam(branching=1, max_depth=1)


@drivers
def test_samples_of_a_users_rater_are_independent_on_a_caching_lm(cached, driver):
    def fn(kind, inputs, n):
        return {"next_thoughts": "1. a"} if kind == "propose" else {"score": str(n / 10)}

    model = Engine(fn, kinds={"propose": "next_thoughts"})
    program = TreeOfThoughts(
        "question -> answer",
        rate=dspy.Predict("question, search_path -> score: float"),
        scale="unit",
        samples=3,
        answer="path",
        controller=ONE,
        concurrency=1,
    )
    caching = lm(model, cache=True)
    found = call(program, caching, driver, question="q", config={"history": True})
    assert model.count() == len(caching.history) == 4
    assert found.search.best.value == pytest.approx(0.2 + 0.3 + 0.4)
    assert [c.request.config.temperature for c in model.calls] == [None, None, 1.0, 1.0]
    call(program, caching, driver, question="q")
    assert model.count() == 4


@drivers
def test_an_unread_reply_of_a_users_proposer_is_asked_again_past_the_cache(cached, driver):
    model = Engine(lambda kind, inputs, n: {"steps": "" if n == 1 else "1. a"})
    program = TreeOfThoughts(
        "question -> answer",
        propose=dspy.Predict("question -> steps"),
        value_fn=lambda inputs, path: 1.0,
        answer="path",
        controller=ONE,
    )
    found = call(program, lm(model, cache=True), driver, question="q")
    assert (found.answer, model.count()) == ("a", 2)


@drivers
def test_settings_of_a_roles_predictor_are_kept(driver):
    model = engine(lambda kind, inputs, n: {"next_thoughts": f"1. a{n}"})
    program = TreeOfThoughts(
        "question -> answer",
        propose="samples",
        value_fn=lambda inputs, path: 1.0,
        answer="path",
        controller=Beam(branching=2, max_depth=1),
    )
    program.propose.predict.config = {"temperature": 0.3, "max_tokens": 77}
    call(program, model, driver, question="q")
    assert [(c.request.config.temperature, c.request.config.max_tokens) for c in model.calls] == [(0.3, 77)] * 2


def test_a_slow_reward_leaves_the_loop_to_others():
    turn = threading.Event()

    def reward(inputs, prediction):
        assert turn.wait(60)  # set by another task of the same loop
        return 1.0

    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "1. a"}
        return {"answer": "42"}

    program = TreeOfThoughts(
        "question -> answer", value_fn=lambda inputs, path: 1.0, reward_fn=reward, threshold=1.0, controller=ONE
    )

    async def main():
        task = asyncio.create_task(program.acall(question="q"))
        while not task.done():
            await asyncio.sleep(0.001)
            turn.set()
        return await task

    with dspy.context(lm=lm(Engine(fn, kinds=KINDS))):
        assert asyncio.run(main()).search.solved


@pytest.mark.parametrize("role", ["propose", "rate"])
def test_an_lm_in_a_roles_place_is_refused(role):
    with pytest.raises(TypeError, match=f"an LM is given as {role}_lm="):
        TreeOfThoughts("question -> answer", **{role: lm(engine())})
    with pytest.raises(TypeError, match=f"{role}_lm='openai/gpt-4o-mini': must be a dspy.LM"):
        TreeOfThoughts("question -> answer", **{f"{role}_lm": "openai/gpt-4o-mini"})


def test_role_lms_are_not_saved(tmp_path):
    program = TreeOfThoughts("question -> answer", propose_lm=lm(engine(), model="secret/model"))
    program.save(tmp_path / "p.json")
    assert "secret/model" not in (tmp_path / "p.json").read_text()


@drivers
@pytest.mark.parametrize("adapter", [dspy.ChatAdapter(), dspy.JSONAdapter()])
def test_a_label_that_is_none_is_unread_with_any_adapter(driver, adapter):
    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "1. a"}
        return {"rating_reasoning": "r", "thought_rating": "sure"} if kind == "rate" else {"answer": "perhaps"}

    model = Engine(fn, kinds=KINDS)
    program = TreeOfThoughts("question -> answer: Literal['yes', 'no']", controller=ONE)
    with dspy.context(adapter=adapter):
        found = call(program, model, driver, question="q")
    assert found.search.unread == {"answer": 2}
    assert found.search.failed == 0
    assert found.answer is None
    assert found.search.spent.calls == model.count() == 4
