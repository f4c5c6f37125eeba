"""The stand-in that copies its demonstrations, and what the benchmark of them counts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import dspy

from benchmarked import benchmark
from thoughtree import Beam, Game24, Illegal, TreeOfThoughts
from thoughtree.tasks import Game24State

copying, demos, data, stub_policy = map(benchmark, ("copying", "demos", "data", "stub_policy"))


def state(*numbers: int) -> Game24State:
    return Game24State(numbers, numbers)


def test_kinds_of_numbers():
    kinds = {n: copying.kind(n) for n in (24, Fraction(3, 2), 0, -4, 6, 10, 48)}
    assert list(kinds.values()) == [
        "the target",
        "a fraction",
        "zero or less",
        "zero or less",
        "a divisor of the target",
        "below the target",
        "above the target",
    ]


def test_shapes_of_steps():
    assert copying.shape("4 * 6 = 24", state(4, 6)) == ("*", "the target")
    assert copying.shape("6 - 4 = 2", state(4, 6)) == ("-", "a divisor of the target")
    assert copying.shape("2 + 2 = 4", state(2, 2, 4)) == ("+", "a divisor of the target")  # there was a 4 already
    assert copying.shape(copying.ILLEGAL_STEP, state(4, 6)) is None


def test_what_demonstrations_show_is_said_first():
    engine = copying.Copying(0)
    policy = stub_policy.StubPolicy(stub_policy.CONFIGS["perfect"], "4 6", 0)
    products, sums = [("*", "the target")], [("+", "below the target")]
    assert engine.steps(policy, state(4, 6), {2: [products]})[0] == "4*6=24"
    assert engine.steps(policy, state(4, 6), {2: [sums, sums, products]})[:2] == ["4+6=10", "4*6=24"]
    assert engine.steps(policy, state(4, 6), {2: [[None, *products]]})[:2] == [copying.ILLEGAL_STEP, "4*6=24"]
    assert len(engine.steps(policy, state(4, 6), {3: [products]})) == copying.STEPS  # of other states: no model


def test_demonstrations_are_read_from_the_prompt():
    program = TreeOfThoughts(task=Game24(), controller=Beam(width=1, max_depth=1), concurrency=1)
    program.propose.predict.demos = [
        dspy.Example(numbers="4 6", search_path="", search_state="4 6", num_thoughts="1", next_thoughts="1. 4 * 6 = 24")
    ]
    with dspy.context(lm=copying.copying_lm(0)):
        assert program(numbers="3 8").search.path == ["3*8=24"]


def good(step: str, demo: Any) -> bool:
    task, here = Game24(), copying.shown_state(demo)
    move = task.parse(step, here)
    return not isinstance(move, Illegal) and task.solvable(task.apply(here, move)) is True


def test_the_same_searches_give_both_kinds_of_demonstrations():
    numbers = [(1, 1, 4, 6), (1, 1, 3, 8), (1, 1, 2, 12), (1, 2, 3, 4), (2, 3, 4, 6), (1, 4, 5, 6)]
    found = demos.programs([data.Puzzle(one, "dev") for one in numbers], 0)
    shown = {name: solve.propose.predict.demos for name, solve in found.items()}
    assert {name: len(given) for name, given in shown.items()} == {
        "curated": 6,  # two of the puzzles are solved, in three steps each
        "whole": 6,
        "whole, of solved ones": 6,
        "none": 0,
    }
    kinds = {
        name: {good(step, demo) for demo in given for step in copying.items(demo["next_thoughts"])}
        for name, given in shown.items()
    }
    assert kinds == {"curated": {True}, "whole": {True, False}, "whole, of solved ones": {True, False}, "none": set()}
