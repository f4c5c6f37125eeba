"""Attempts and samples differ, on a caching LM too; a temperature is sent only where it is taken."""

from __future__ import annotations

import json
import warnings

import dspy
import pytest

from engines import AsyncEngine, Engine, lm
from puzzle24 import KINDS, PUZZLE, call, drivers, engine, script
from thoughtree import Beam, Game24, TreeOfThoughts


def numbered(kind, inputs, n):
    """No two replies are alike."""
    if kind == "propose":
        return {"next_thoughts": f"1. thought {n}"}
    return {"rating_reasoning": "", "thought_rating": "maybe"} if kind == "rate" else {"answer": f"answer {n}"}


def program(**knobs):
    return TreeOfThoughts(
        "question -> answer",
        value_fn=lambda inputs, path: 1.0,
        controller=Beam(width=1, branching=1, max_depth=1),
        **knobs,
    )


@drivers
def test_five_samples_are_five_calls_and_none_the_second_time(cached, driver):
    model = engine(numbered)
    caching = lm(model, cache=True)
    many = TreeOfThoughts(
        "question -> answer",
        propose="samples",
        value_fn=lambda inputs, path: 1.0,
        answer="path",
        controller=Beam(width=1, branching=5, max_depth=1),
    )
    first = call(many, caching, driver, question="q")
    assert model.count("propose") == 5
    assert len({str(n.action) for n in first.search.tree if n.depth == 1}) == 5
    again = call(many, caching, driver, question="q")
    assert model.count("propose") == 5
    assert [str(n.action) for n in again.search.tree] == [str(n.action) for n in first.search.tree]
    assert again.search.spent.calls == 5  # asked for, and found in the cache
    assert again.search.spent.tokens == 0


@drivers
def test_samples_of_a_rating_differ_too(cached, driver):
    verdicts = iter(["sure", "maybe", "impossible"] * 9)

    def fn(kind, inputs, n):
        return {"rating_reasoning": "", "thought_rating": next(verdicts)} if kind == "rate" else script(kind, inputs, n)

    model = engine(fn)
    rated = TreeOfThoughts(task=Game24(), samples=3, controller=Beam(width=1, branching=1, max_depth=1), concurrency=1)
    found = call(rated, lm(model, cache=True), driver, numbers=PUZZLE)
    assert model.count("rate") == 3
    assert found.search.best.value == pytest.approx(21.001)


def test_equal_prompts_of_one_search_share_the_cache(cached):
    """A rollout id comes from sample and attempt and from no node: two nodes with one prompt are one call."""

    def fn(kind, inputs, n):
        return (
            {"next_thoughts": "1. a\n2. b"} if kind == "propose" else {"rating_reasoning": "", "thought_rating": "sure"}
        )

    model = engine(fn)
    alike = TreeOfThoughts(
        "question -> answer",
        answer="path",
        controller=Beam(dedupe=False, branching=2, max_depth=2),
        concurrency=1,
    )
    one = call(alike, lm(model, cache=True), question="q")
    asked = model.count()
    two = call(alike, lm(model, cache=True), question="q", config={"seed": 5})
    assert one.search.spent.calls == two.search.spent.calls == asked
    assert model.count() == asked


# Temperatures


def sent(model):
    return [call.request.config.temperature for call in model.calls]


@drivers
def test_independent_samples_are_sent_at_temperature_one(driver):
    model = engine(numbered)
    many = program(propose="samples", answer="path")
    call(many, model, driver, question="q", config={"controller": Beam(branching=3, max_depth=1)})
    assert sent(model) == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("temperature", [0.4, 1.3])
def test_a_temperature_of_the_users_own_is_kept(temperature):
    model = engine(numbered)
    call(
        program(propose="samples", answer="path"),
        lm(model, temperature=temperature),
        question="q",
        config={"controller": Beam(branching=2, max_depth=1)},
    )
    assert sent(model) == [temperature] * 2


def test_one_call_for_all_sends_none():
    model = engine(numbered)
    call(program(), model, question="q")
    assert sent(model) == [None, None]


@pytest.mark.parametrize("name", ["openai/o3", "openai/gpt-5", "openai/o4-mini", "azure/gpt-5.1"])
def test_a_reasoning_model_is_never_sent_one(name):
    model = engine(numbered)
    reasoning = dspy.LM(name, engine=model, async_engine=AsyncEngine(model), cache=False)
    many = program(propose="samples", answer="path")
    call(many, reasoning, question="q", config={"controller": Beam(branching=3, max_depth=1)})
    assert sent(model) == [None, None, None]


@drivers
@pytest.mark.parametrize("retries", [0, 2])
def test_a_model_that_refuses_a_temperature_is_asked_again_without(driver, retries):
    def refuse(request):
        if request.config.temperature is not None:
            raise dspy.LMInvalidRequestError("Unsupported value: 'temperature' does not support 1.0", model="m")

    class Strict(Engine):
        def _reply(self, call, n):
            refuse(call.request)
            return super()._reply(call, n)

    model = Strict(numbered, kinds=KINDS)
    many = program(propose="samples", answer="path", retries=retries, concurrency=2)
    found = call(many, model, driver, question="q", config={"controller": Beam(branching=4, max_depth=1)})
    assert len({str(n.action) for n in found.search.tree if n.depth == 1}) == 4
    refused = sum(t is not None for t in sent(model))
    assert 1 <= refused <= 2  # those in flight when the first was refused; none after
    assert model.count() == 4 + refused
    assert found.search.spent.calls == model.count()


@pytest.mark.filterwarnings("ignore:rollout_id has no effect")
def test_temperature_zero_is_warned_of():
    with pytest.warns(UserWarning, match="temperature=0, so its samples will be equal"):
        call(
            program(propose="samples", answer="path"),
            lm(engine(numbered), temperature=0.0),
            question="q",
            config={"controller": Beam(branching=2, max_depth=1)},
        )


def test_temperature_zero_of_a_single_call_is_nobodys_business():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(program(), lm(engine(numbered), temperature=0.0), question="q")


# Attempts around a program


def never(inputs, prediction):
    return 0.0


@pytest.mark.parametrize("own", [False, True])
def test_best_of_n_makes_four_different_attempts_on_a_cached_lm(cached, own):
    model = engine(numbered)
    roles = {"propose_lm": lm(model, cache=True, temperature=0.5), "answer_lm": lm(model, cache=True)} if own else {}
    inner = program(**roles)
    answers = []

    def reward(inputs, prediction):
        answers.append((prediction.search.path[0], prediction.answer))
        return 0.0

    best = dspy.BestOfN(module=inner, N=4, reward_fn=reward, threshold=1.0)
    call(best, lm(model, cache=True), question="q")
    assert len(set(answers)) == 4
    assert model.count("propose") == 4
    assert model.count() == 8
    assert sorted(c.request.config.temperature for c in model.calls if c.kind == "propose") == [0.5 if own else 1.0] * 4
    call(best, lm(model, cache=True), question="q")
    assert model.count() == 8  # the same four attempts again


def test_best_of_n_tells_samples_of_attempts_apart(cached):
    model = engine(numbered)
    inner = program(propose="samples", answer="path")
    best = dspy.BestOfN(module=inner, N=3, reward_fn=never, threshold=1.0)
    call(best, lm(model, cache=True), question="q", config={"controller": Beam(branching=2, max_depth=1)})
    assert model.count("propose") == 6


def test_best_of_n_keeps_a_role_lm_for_its_role(cached):
    """Copies made for the attempts are told apart: no role ever calls another's LM."""
    proposer, rater, closer = engine(numbered), engine(numbered), engine(numbered)
    inner = TreeOfThoughts(
        "question -> answer",
        controller=Beam(branching=1, max_depth=3),
        propose_lm=lm(proposer, cache=True),
        rate_lm=lm(rater, cache=True),
        answer_lm=lm(closer, cache=True),
    )
    best = dspy.BestOfN(module=inner, N=4, reward_fn=never, threshold=1.0)
    call(best, lm(engine(numbered), cache=True), question="q")
    assert proposer.count() == proposer.count("propose") == 12
    assert rater.count() == rater.count("rate") == 12
    assert closer.count() == 4


def test_an_lm_with_a_rollout_id_of_its_own_is_another_attempt(cached):
    model = engine(numbered)
    one = call(program(), lm(model, cache=True, rollout_id=1, temperature=1.0), question="q")
    two = call(program(), lm(model, cache=True, rollout_id=2, temperature=1.0), question="q")
    assert one.answer != two.answer
    assert call(program(), lm(model, cache=True, rollout_id=1, temperature=1.0), question="q").answer == one.answer


def test_refine_brings_its_hint_to_every_later_attempt(cached):
    def fn(kind, inputs, n):
        if kind == "advice":
            advice = {"propose.predict": "think of rivers", "answer.predict": "be short"}
            return {"discussion": "-", "advice": json.dumps(advice)}
        return numbered(kind, inputs, n)

    model = Engine(fn, kinds={**KINDS, "advice": "advice"})
    refine = dspy.Refine(module=program(), N=4, reward_fn=never, threshold=1.0)
    call(refine, lm(model, cache=True), question="q")
    hints = [(c.kind, c.inputs.get("hint_")) for c in model.calls if c.kind != "advice"]
    first, *later = [h for kind, h in hints if kind == "propose"]
    assert first is None
    assert later == ["think of rivers"] * 3
    assert [h for kind, h in hints if kind == ("answer",)] == [None] + ["be short"] * 3
    assert len({c.inputs["search_path"] for c in model.calls if c.kind == ("answer",)}) == 4  # four attempts
