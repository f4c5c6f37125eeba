"""The benchmark of local models counts what it says: choosers whose choices are known stand in for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarked import benchmark
from thoughtree import Beam
from thoughtree.testing import RuleLM

local = benchmark("local")
FIRST = RuleLM(choose=lambda inputs, n, steps: steps[:n])


def test_the_puzzles_are_twenty_and_can_be_solved():
    game = local.game24(20)
    assert len({puzzle["numbers"] for puzzle in game.puzzles}) == 20
    assert all(game.task.solvable(game.task.initial(puzzle)) for puzzle in game.puzzles)
    blocks = local.blocksworld(20)
    lengths = [local.steps_to_goal(blocks.task.initial(p)) for p in blocks.puzzles]
    assert len(lengths) == 20
    assert set(lengths) == {2, 4}  # from one arrangement to another every block that is taken is put somewhere


@pytest.mark.parametrize(
    ("initial", "goal", "steps"),
    [
        ("ontable(red), on(blue,red)", "ontable(red), on(blue,red)", 0),
        ("ontable(red), on(blue,red)", "ontable(blue), ontable(red)", 2),
        ("ontable(red), on(blue,red)", "ontable(blue), on(red,blue)", 4),
    ],
)
def test_the_shortest_plan_is_counted(initial: str, goal: str, steps: int):
    task = local.blocksworld(1).task.for_inputs({"initial": initial, "goal": goal})
    assert local.steps_to_goal(task.start) == steps


def test_right_choices_are_counted_beside_those_of_chance():
    """2 3 4: of 24 and 12 and 6 and the like, code knows what can be made of the rest."""
    game: Any = replace(
        local.game24(1), puzzles=[{"numbers": "2 3 4"}], controller=Beam(width=1, branching=1, max_depth=2)
    )
    task = game.task
    root = task.initial({"numbers": "2 3 4"})
    moves = {str(move): task.solvable(task.apply(root, move)) for move in task.moves(root)}
    good = [name for name, right in moves.items() if right]
    assert set(good) == {"2*3=6", "2*4=8", "3*4=12"}  # each times what is left is 24
    right = local.played(game, RuleLM(choose=lambda inputs, n, steps: [next(s for s in steps if s in (*good, *ENDS))]))
    assert (right.solved, right.right, right.choices, right.calls) == (1, 2, 2, 2)
    assert right.by_chance == pytest.approx(3 / len(moves) + 1 / 6)  # of 4 and 6, six results, one of them 24
    wrong = local.played(game, FIRST)  # 2+3=5, from which nothing follows that would count
    assert (wrong.solved, wrong.right, wrong.choices) == (0, 0, 1)
    assert wrong.by_chance == pytest.approx(3 / len(moves))


ENDS = ("4*6=24", "3*8=24", "2*12=24")


def test_chance_is_the_same_for_the_same_seed_and_none_is_a_model():
    game = local.blocksworld(4)
    one, same, other = (local.played(game, local.chance(seed)) for seed in (1, 1, 2))
    assert (one.per_puzzle, one.right, one.choices) == (same.per_puzzle, same.right, same.choices)
    assert (one.right, one.choices) != (other.right, other.choices)


def test_a_row_sets_a_model_beside_chance():
    found = local.Tally(
        solved=2, expansions=30, calls=20, unread=3, tokens=2000, seconds=10.0, right=6, choices=12, by_chance=3.0
    )
    found.per_puzzle = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    rows = {row.figure: row for row in local.of_model("Game", "tiny", found, [0, 1, 2, 3])}
    assert rows["Game: tiny solves, of 10"].measured == 2
    assert rows["Game: tiny: random runs that solve as many"].measured == 50.0
    assert rows["Game: tiny: right choices, of 12"].measured == 50.0
    assert rows["Game: tiny: right choices, of 12"].at == "right: 25 to 75 %, by chance 25 %"
    assert rows["Game: tiny: replies that chose nothing, of 20"].measured == 3
    assert rows["Game: tiny: time a call"].measured == 0.5
