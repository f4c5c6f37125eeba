"""A search keeps its tree, and none of the prompts and replies that made it."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import pickle
import subprocess
import sys
import tracemalloc
from typing import Any

import dspy
import pytest
from dspy.clients.base_lm import GLOBAL_HISTORY

from engines import lm
from faultworlds import CONTROLLERS, WORLDS
from thoughtree import Beam, TreeOfThoughts
from thoughtree.testing import RuleLM

QUESTION = "a long question, " * 100


@pytest.fixture(autouse=True)
def unlogged():
    """pytest keeps what is logged until a test's end, and a library that other tests import may have turned it on."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


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


def once(program: Any, model: Any, driver: str, **inputs: Any) -> int:
    """The LM calls of one search, of which nothing is kept."""
    with dspy.context(lm=model):
        if driver == "asyncio":
            return asyncio.run(program.acall(**inputs)).search.spent.calls
        return program(**inputs).search.spent.calls


def held() -> tuple[int, int]:
    """Python's blocks of memory, and the objects that may hold others."""
    gc.collect()
    return sys.getallocatedblocks(), len(gc.get_objects())


def grown() -> dict[str, Any]:
    """What over 20,000 calls leave behind."""
    program = TreeOfThoughts("question -> answer", controller=Beam(width=20, branching=10), answer="path")
    model = rules()
    for driver in ("threads", "asyncio"):
        once(program, model, driver, question="q")
    (blocks, objects), kept = held(), histories(program, model)
    calls = sum(once(program, model, "asyncio" if i % 10 == 9 else "threads", question="q") for i in range(59))
    after_blocks, after_objects = held()
    return {
        "calls": calls,
        "blocks": after_blocks - blocks,
        "objects": after_objects - objects,
        "histories": [kept, histories(program, model)],
    }


def test_memory_is_flat_over_20_000_calls():
    """A call that left one object of a few behind would leave 20,000 blocks; DSPy's history takes 24 a call."""
    # In a process of its own: in this one, threads that other tests left behind come and go.
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=100, check=True)
    found = json.loads(done.stdout)
    assert found["calls"] == 59 * (1 + 10 + 20 + 10 + 100 + 200) > 20_000
    assert found["blocks"] < 1_000
    assert found["objects"] < 1_000
    before, after = found["histories"]
    assert after == before
    assert before[1:3] == [0, 0]


def histories(program: Any, model: Any) -> tuple[int, ...]:
    """The lengths of what DSPy keeps: for all, of the LM, of the module, and of the trace."""
    return len(GLOBAL_HISTORY), len(model.history), len(program.history), len(dspy.settings.trace or [])


@pytest.mark.parametrize("driver", ["threads", "asyncio"])
@pytest.mark.parametrize("name", WORLDS)
def test_no_program_keeps_anything_of_its_calls(name: str, driver: str):
    world, engine = WORLDS[name], WORLDS[name].engine()
    program, model = world.build(CONTROLLERS["mcts"]), lm(engine)

    def several() -> tuple[int, int]:
        for _ in range(20):
            once(program, model, driver, **world.inputs)
            engine.calls.clear()
        return held()

    several()  # what is kept once for all
    (blocks, objects), (after_blocks, after_objects) = several(), several()
    assert after_blocks - blocks < 600  # of some 200 calls; what Python caches of its own goes up and down by less
    assert after_objects - objects < 300


def test_a_result_holds_no_prompt():
    program = TreeOfThoughts("question -> answer", controller=Beam(width=3, branching=3), answer="path")
    with dspy.context(lm=rules()):
        found = program(question=QUESTION)
    assert b"a long question" not in pickle.dumps(found.search)
    assert pickle.dumps(found).count(b"a long question") == 100  # the input itself, once
    assert found.search.spent.calls == 1 + 3 + 3 + 9 + 3 + 9


if __name__ == "__main__":
    print(json.dumps(grown()))
