"""Which LM each role calls; and a call leaves the module as it was."""

from __future__ import annotations

import copy

import dspy
import pytest

from engines import Engine, lm
from puzzle24 import KINDS, PUZZLE, call, drivers, engine
from thoughtree import DFS, Beam, Game24, TreeOfThoughts


def solver(**knobs):
    return TreeOfThoughts(task=Game24(), controller=Beam(width=2), **knobs)


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
