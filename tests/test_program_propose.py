"""Who proposes: a model at once or in samples, the task's moves, functions, coroutine functions, modules."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from itertools import count

import dspy
import pytest

from engines import Engine, lm
from one_level import children, flat, says
from puzzle24 import KINDS, PATH, PUZZLE, STEPS, call, drivers, engine, script
from thoughtree import DFS, MCTS, Beam, FreeText, Game24, SearchStatus, TreeOfThoughts
from thoughtree.search import Proposed


@drivers
def test_one_call_gives_n_proposals(driver):
    model = says("1. a\n2. b\n3. c")
    found = call(flat(), model, driver, question="q")
    assert (children(found), model.count()) == (["a", "b", "c"], 1)
    assert model.calls[0].inputs["num_thoughts"] == "3"
    assert model.calls[0].inputs["search_path"] == "(none yet)"


def test_never_more_than_n():
    assert children(call(flat(), says("1. a\n2. b\n3. c\n4. d\n5. e"), question="q")) == ["a", "b", "c"]


def test_all_that_there_are():
    model = says("\n".join(f"{i}. thought {i}" for i in range(1, 8)))
    found = call(flat(controller=Beam(branching=None, max_depth=1)), model, question="q")
    assert len(children(found)) == 7
    assert not model.calls[0].inputs["num_thoughts"].isdigit()


@drivers
def test_samples_are_as_many_calls_of_one_each(driver):
    model = engine(lambda kind, inputs, n: {"next_thoughts": f"1. s{n}\n2. and another"})
    found = call(flat(propose="samples"), model, driver, question="q")
    assert (sorted(children(found)), model.count()) == (["s1", "s2", "s3"], 3)
    assert {c.inputs["num_thoughts"] for c in model.calls} == {"1"}
    assert found.search.spent_by["propose"].calls == 3


def test_samples_need_a_number():
    with pytest.raises(ValueError, match="propose='samples' needs a number of samples: give the controller"):
        flat(propose="samples", controller=Beam(branching=None))
    program = flat(propose="samples")
    with pytest.raises(ValueError, match="propose='samples' needs a number of samples"):
        call(program, says("a"), question="q", config={"controller": DFS(branching=None)})


@drivers
def test_legal_moves_need_no_model(driver):
    program = TreeOfThoughts(
        task=Game24(),
        propose="moves",
        controller=Beam(width=None, branching=None),
        value_fn=lambda inputs, path: 1.0,
    )
    found = call(program, None, driver, numbers=PUZZLE)
    assert found.search.status is SearchStatus.SOLVED
    assert found.search.spent.calls == 0
    assert Game24().for_inputs({"numbers": PUZZLE}).check({"answer": found.answer}) is True


def test_moves_of_a_task_without_them_are_refused():
    with pytest.raises(ValueError, match="propose='moves': FreeText does not list its moves"):
        flat(propose="moves")


@drivers
def test_a_function_proposes(driver):
    asked = []

    def propose(inputs, node, n):
        asked.append((inputs["numbers"], node.depth, node.path, node.text, n))
        return STEPS.get(node.text, [])

    model = engine()
    program = TreeOfThoughts(task=Game24(), controller=DFS(), propose=propose)
    found = call(program, model, driver, numbers=PUZZLE)
    assert found.search.path == PATH
    assert model.count() == model.count("rate")
    assert asked[0] == (PUZZLE, 0, (), "4 9 10 13", 3)
    assert asked[1] == (PUZZLE, 1, ("10-4=6",), "6 9 13", 3)
    assert "propose" not in found.search.spent_by or found.search.spent_by["propose"].calls == 0


def test_a_coroutine_function_is_awaited():
    async def propose(inputs, node, n):
        await asyncio.sleep(0)
        return STEPS.get(node.text, [])

    class Proposer:
        async def __call__(self, inputs, node, n):
            return await propose(inputs, node, n)

    for given in (propose, Proposer()):
        program = TreeOfThoughts(task=Game24(), controller=DFS(), propose=given)
        assert call(program, engine(), "asyncio", numbers=PUZZLE).search.path == PATH
        with pytest.raises(TypeError, match=r"is a coroutine function: await program\.acall"):
            call(program, engine(), numbers=PUZZLE)


@drivers
def test_a_blocking_function_leaves_the_loop_free(driver):
    """Under asyncio a function runs in a thread of its own: two that wait for each other get there."""
    from threading import Barrier

    barrier = Barrier(2, timeout=60)

    def propose(inputs, node, n):
        if node.depth == 1:
            barrier.wait()
        return [f"a{node.id}", f"b{node.id}"]

    found = call(flat(propose=propose, controller=Beam(width=2, branching=2, max_depth=2)), None, driver, question="q")
    assert not found.search.errors


class Steps(dspy.Module):
    """A proposer of a user's own, with a predictor."""

    def __init__(self):
        super().__init__()
        self.ask = dspy.Predict("numbers, search_state -> steps")

    def forward(self, numbers, search_state):
        return self.ask(numbers=numbers, search_state=search_state)

    async def aforward(self, numbers, search_state):
        return await self.ask.acall(numbers=numbers, search_state=search_state)


class SyncSteps(dspy.Module):
    def __init__(self):
        super().__init__()
        self.ask = dspy.Predict("numbers, search_state -> steps")

    def forward(self, **inputs):
        return self.ask(numbers=inputs["numbers"], search_state=inputs["search_state"])


def stepping(kind, inputs, n):
    return {"steps": script("propose", inputs, n)["next_thoughts"]} if kind == "steps" else script(kind, inputs, n)


@drivers
@pytest.mark.parametrize(
    "module",
    [
        Steps,
        SyncSteps,
        lambda: dspy.Predict("numbers, search_state -> steps"),
        lambda: dspy.ChainOfThought("numbers, search_state -> steps"),
    ],
)
def test_any_module_proposes(driver, module):
    model = Engine(stepping, kinds={**KINDS, "steps": "steps"})

    def fn(kind, inputs, n):
        made = stepping(kind, inputs, n)
        return {"reasoning": "r", **made} if kind == "steps" else made

    model.fn = fn
    proposer = module()
    program = TreeOfThoughts(task=Game24(), controller=DFS(), propose=proposer)
    found = call(program, model, driver, numbers=PUZZLE)
    assert found.search.path == PATH
    assert found.search.spent.calls == model.count()
    assert model.count("steps") == 4
    assert program.propose is proposer


@drivers
def test_a_module_of_the_users_own_is_called_as_dspy_wants_it(driver):
    """DSPy warns of whoever reads a module's `forward`, which nobody can act on who gave us the module."""
    said, dspys = [], logging.getLogger("dspy.primitives.module")
    dspys.addFilter(said.append)  # a filter that gives None drops the record
    model = Engine(stepping, kinds={**KINDS, "steps": "steps"})
    try:
        found = call(TreeOfThoughts(task=Game24(), controller=DFS(), propose=Steps()), model, driver, numbers=PUZZLE)
    finally:
        dspys.removeFilter(said.append)
    assert (found.search.path, said) == (PATH, [])


@drivers
def test_an_lm_bound_inside_a_module_passes_the_gate(driver):
    proposer, model = Steps(), engine()
    inner = Engine(stepping, kinds={"steps": "steps"})
    bound = lm(inner)
    proposer.set_lm(bound)
    program = TreeOfThoughts(task=Game24(), controller=DFS(), propose=proposer, budget=4, concurrency=1)
    found = call(program, model, driver, numbers=PUZZLE)
    assert inner.count() + model.count() == found.search.spent.calls == 4
    assert bound.history == []
    assert proposer.ask.lm is bound


def test_a_module_may_call_as_often_as_it_declares():
    class Twice(dspy.Module):
        def __init__(self):
            super().__init__()
            self.ask = dspy.Predict("question -> thought")

        def forward(self, question):
            return dspy.Prediction(thoughts=[self.ask(question=question).thought for _ in range(2)])

    model = engine(lambda kind, inputs, n: {"thought": f"t{n}"})
    found = call(flat(propose=Twice()), model, question="q")
    assert model.count() == 1  # one predictor, one call; the second was not reserved
    assert "declare `calls=k`" in found.search.first_error
    Twice.calls = 2
    found = call(flat(propose=Twice()), model, question="q")
    assert children(found) == ["t2", "t3"]
    assert found.search.spent.calls == 2


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["a", "b"], ["a", "b"]),
        (("a",), ["a"]),
        ("1. a\n2. b", ["a", "b"]),
        ([None, "a", "  ", ""], ["a"]),
        (dspy.Prediction(reasoning="r", steps="- a\n- b"), ["a", "b"]),
        (dspy.Prediction(steps=["a", "b", "c", "d"]), ["a", "b", "c"]),
        ([], []),
        (None, []),
        ((word for word in "ab"), ["a", "b"]),
        ({"a": 1, "b": 2}.keys(), ["a", "b"]),
        (deque("ab"), ["a", "b"]),
        ((f"step {i}" for i in count(1)), ["step 1", "step 2", "step 3"]),  # as many as were asked for
    ],
)
def test_whatever_a_proposer_gives_is_read(given, read):
    assert children(call(flat(propose=lambda inputs, node, n: given), None, question="q")) == read


@drivers
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"a", "b"}, "the proposer gave a set: must be a list"),
        (b"a", "the proposer gave a bytes: must be a list"),
        (asyncio.Future, "the proposer gave a Future that nobody awaits"),
    ],
)
def test_what_has_no_order_or_was_not_awaited_is_no_proposal(driver, given, says):
    def propose(inputs, node, n):
        return given(loop=asyncio.new_event_loop()) if given is asyncio.Future else given

    found = call(flat(propose=propose), None, driver, question="q")
    assert says in found.search.first_error
    assert children(found) == []


def test_moves_may_have_no_end():
    class Counting(FreeText):
        def moves(self, state):
            return (f"number {i}" for i in count())

        def value(self, state):
            return 1.0

    program = TreeOfThoughts(
        "question -> answer",
        task=Counting(),
        propose="moves",
        answer="path",
        controller=Beam(branching=3, max_depth=1),
    )
    assert children(call(program, None, question="q")) == ["number 0", "number 1", "number 2"]


def test_a_wrong_proposer_is_the_visible_cause():
    def propose(inputs, node, n):
        return inputs["nothing"]

    found = call(flat(propose=propose), None, question="q")
    assert found.search.status is SearchStatus.FAILED
    assert found.search.ended == "error"
    assert "KeyError: 'nothing'" in found.search.first_error
    assert "in propose" in found.search.first_error  # where


@pytest.mark.parametrize("wrong", ["steps", "own", 3, Steps])
def test_what_is_no_proposer_is_refused(wrong):
    with pytest.raises(ValueError, match="propose="):
        flat(propose=wrong)


@pytest.mark.parametrize("heavy", ["a", "b"])
def test_weights_that_a_function_gives_its_proposals_steer_puct(heavy):
    def propose(inputs, node, n):
        return Proposed(("a", "b", "c"), tuple(8.0 if action == heavy else 1.0 for action in "abc"))

    controller = MCTS(rollouts=41, branching=2, max_depth=9, selection="puct")
    found = call(flat(controller=controller, propose=propose), says(""), question="q")
    first = {node.action.text: node for node in found.search.tree if node.depth == 1}
    assert {text: node.prior for text, node in first.items()} == {text: 8.0 if text == heavy else 1.0 for text in "ab"}
    light = "b" if heavy == "a" else "a"
    assert 5 <= first[heavy].visits / first[light].visits <= 10  # N + 1 as P: every path is worth the same
