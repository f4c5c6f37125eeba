"""A search keeps its tree, and none of the prompts and replies that made it."""

from __future__ import annotations

import gc
import pickle
import tracemalloc

import dspy

from thoughtree import Beam, TreeOfThoughts
from thoughtree.testing import RuleLM

QUESTION = "a long question, " * 100


def rules() -> RuleLM:
    return RuleLM(
        propose=lambda inputs, n: [f"{inputs['search_path'][-20:]} {i}" for i in range(n)],
        rate=lambda inputs: "maybe",
    )


def test_memory_is_flat_over_thousands_of_calls():
    program = TreeOfThoughts("question -> answer", controller=Beam(width=20, branching=10), answer="path")

    def spent() -> int:
        calls = program(question=QUESTION).search.spent.calls
        gc.collect()
        return calls

    with dspy.context(lm=rules()):
        spent()  # what is kept once for all: patterns, shapes of signatures
        tracemalloc.start()
        try:
            spent()
            before, _ = tracemalloc.get_traced_memory()
            calls = sum(spent() for _ in range(3))
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert calls == 3 * (1 + 10 + 20 + 10 + 100 + 200)
    assert after - before < len(QUESTION) * calls / 10  # a tenth of the bytes that keeping the prompts would take


def test_a_result_holds_no_prompt():
    program = TreeOfThoughts("question -> answer", controller=Beam(width=3, branching=3), answer="path")
    with dspy.context(lm=rules()):
        found = program(question=QUESTION)
    assert b"a long question" not in pickle.dumps(found)
    assert found.search.spent.calls == 1 + 3 + 3 + 9 + 3 + 9
