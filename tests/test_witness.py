"""LM calls that pass the gate by, of LMs that a user's own code names itself: counted all the same."""

from __future__ import annotations

import dspy
import pytest

import thoughtree
from engines import lm
from puzzle24 import call, drivers, engine
from thoughtree import Beam, Budget, TreeOfThoughts

STEPS = {"next_thoughts": "1. a\n2. b"}


def judged(judge, calls, **knobs):
    """A search whose proposer asks an LM of its own: within a context, and by itself."""
    ask = dspy.Predict("question -> next_thoughts")

    def propose(inputs, node, n):
        with dspy.context(lm=judge):
            return ask(question="which?").next_thoughts

    if calls is not None:
        propose.calls = calls
    return TreeOfThoughts(
        "question -> answer",
        propose=propose,
        value_fn=lambda inputs, path: 1.0,
        answer="path",
        **{"controller": Beam(width=2, max_depth=3), "concurrency": 1, **knobs},
    )


@drivers
def test_a_declared_call_of_an_lm_of_ones_own_counts_and_ends_with_the_budget(driver):
    model = engine(lambda kind, inputs, n: STEPS)
    found = call(judged(lm(model), 1, budget=3), None, driver, question="q")
    assert model.count() == 3
    assert (found.search.spent.calls, found.search.ended) == (3, "calls")


@drivers
@pytest.mark.parametrize("way", ["function", "module"])
def test_what_was_not_declared_is_a_failure_that_says_so(driver, way):
    model = engine(lambda kind, inputs, n: STEPS)
    judge = lm(model)

    class Twice(dspy.Module):
        def __init__(self):
            super().__init__()
            self.ask = dspy.Predict("question -> next_thoughts")

        def forward(self, question):
            with dspy.context(lm=judge):
                self.ask(question=question)
                return self.ask(question=question)

    program = judged(judge, None)
    if way == "module":
        program = TreeOfThoughts("question -> answer", propose=Twice(), rate=lambda i, n: [1.0], answer="path")
    found = call(program, engine(), driver, question="q")
    assert model.count() == found.search.spent.calls == (2 if way == "module" else 1)
    assert found.search.ended == "error"
    assert "declare `calls=k`" in found.search.first_error


@drivers
def test_a_limit_counts_it_too(driver):
    model = engine(lambda kind, inputs, n: STEPS)
    with thoughtree.limit(calls=50) as purse:
        found = call(judged(lm(model), 1), None, driver, question="q")
    assert purse.spent.calls == found.search.spent.calls == model.count() == 5  # 1 + 2 + 2 expansions


@drivers
def test_under_a_dollar_ceiling_its_price_is_asked_for(driver):
    model = engine(lambda kind, inputs, n: STEPS)
    found = call(judged(lm(model, "stub/judge"), 1, budget=Budget(cost=1.0)), None, driver, question="q")
    assert model.count() == 1
    assert "the price of stub/judge is unknown" in found.search.first_error


@pytest.mark.filterwarnings("ignore:Passing OpenAI-style message:DeprecationWarning")
@drivers
def test_an_lm_that_calls_another_is_one_call(driver):
    model = engine(lambda kind, inputs, n: STEPS)
    inner = lm(model)

    class Router(dspy.BaseLM):
        def __call__(self, prompt=None, messages=None, **kwargs):
            return inner(prompt, messages=messages)

        async def acall(self, prompt=None, messages=None, **kwargs):
            return await inner.acall(prompt, messages=messages)

    program = TreeOfThoughts(
        "question -> answer",
        value_fn=lambda inputs, path: 1.0,
        answer="path",
        controller=Beam(width=2, max_depth=2),
    )
    found = call(program, Router("router"), driver, question="q")
    assert found.search.spent.calls == model.count() == 3
    assert not found.search.errors


@drivers
def test_dspys_callbacks_stay_as_they_are(driver):
    seen = []

    class Mine(dspy.utils.callback.BaseCallback):
        def on_lm_start(self, call_id, instance, inputs):
            seen.append(instance.model)

    with dspy.context(callbacks=[Mine()]):
        call(judged(lm(engine(lambda kind, inputs, n: STEPS), "stub/judge"), 1, budget=2), None, driver, question="q")
        assert len(dspy.settings.callbacks) == 1
    assert seen == ["stub/judge"] * 2
