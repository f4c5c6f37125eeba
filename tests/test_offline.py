"""The stand-in plays the Game of 24 from the prompt alone, and says that it is no language model."""

from fractions import Fraction

import dspy
import pytest

from thoughtree import DFS, Beam, BestFirst, Game24, TreeOfThoughts
from thoughtree.mental_arithmetic import feeling, moves_to_try
from thoughtree.offline import MODEL, PRICES, offline_lm, plays
from thoughtree.tasks import Game24State


def solved(numbers="4 9 10 13", target=24, **knobs):
    program = TreeOfThoughts(task=Game24(target=target), **knobs)
    with dspy.context(lm=offline_lm()):
        return program(numbers=numbers)


def verified(found, numbers, target=24):
    task = Game24(target=target).for_inputs({"numbers": numbers})
    return found.search.solved and task.check({"answer": found.answer}) is True


# ---- what comes to mind


@pytest.mark.parametrize(
    ("numbers", "word"),
    [
        ((24,), "sure"),
        ((23,), "impossible"),
        ((4, 6), "sure"),  # 4 * 6
        ((5, 7), "impossible"),  # 12, 2, 35, 5/7
        ((3, 4, 9), "sure"),  # 9 - 3 = 6, 4 * 6
        ((1, 2, 3), "impossible"),  # at most (1 + 2) * 3, and generously (1 + 1 + 2) * 3
        ((3, 8, 8), "maybe"),  # 24 is out of reach, which it does not see
    ],
)
def test_feelings(numbers, word):
    assert feeling(numbers, 24)[0] == word


def test_it_overlooks_a_way_through_a_fraction():
    """After 8/3, the puzzle 3 3 8 8 goes on with 3 - 8/3 = 1/3 and 8 / (1/3) = 24: a fraction on the way."""
    left = (Fraction(8, 3), 3, 8)
    assert Game24().solvable(Game24State.of(left)) is True
    assert feeling(left, 24)[0] == "maybe"


def test_a_move_that_reaches_the_target_comes_first():
    move, left = moves_to_try((4, 6), 24)[0]
    assert (str(move), left) == ("4*6=24", (24,))


def test_every_legal_move_comes_to_mind_in_the_end():
    moves = [move for move, _ in moves_to_try((2, 3), 24)]
    assert sorted(map(str, moves)) == ["2*3=6", "2+3=5", "2-3=-1", "2/3=2/3", "3-2=1", "3/2=3/2"]


# ---- behind a dspy.LM


@pytest.mark.parametrize("controller", [Beam(), BestFirst(), DFS()])
def test_it_solves_the_papers_puzzle_with_every_controller(controller):
    found = solved(controller=controller)
    assert verified(found, "4 9 10 13")
    assert found.search.unread == {}
    assert found.search.errors == {}


@pytest.mark.parametrize(
    "knobs",
    [
        {"scale": "unit"},
        {"scale": "anchored"},
        {"rate": "siblings"},
        {"rate": "siblings", "scale": "unit"},
        {"rate": "siblings", "scale": "anchored"},
        {"rate": "vote"},
        {"rate": "pairs"},
        {"answer": "lm"},
        {"first": "answer"},
    ],
)
def test_it_answers_every_role_in_the_words_that_are_asked_for(knobs):
    found = solved(**knobs)
    assert verified(found, "4 9 10 13")
    assert found.search.unread == {}
    assert found.search.errors == {}


@pytest.mark.parametrize("adapter", [dspy.ChatAdapter(), dspy.JSONAdapter(), dspy.XMLAdapter()])
def test_it_answers_in_the_adapters_format(adapter):
    with dspy.context(adapter=adapter):
        found = solved()
    assert verified(found, "4 9 10 13")
    assert found.search.unread == {}


@pytest.mark.parametrize(("numbers", "target"), [("3 3 2 3", "3/2"), ("1 2 3 4", 10), ("2 2 10", 6), ("-3 8 1 1", -24)])
def test_it_reads_the_target_in_the_prompt(numbers, target):
    assert verified(solved(numbers, target), numbers, target)


def test_scales_of_words_are_told_apart():
    """The scale is read from the prompt: the same position is 18 of 20, 0.9 of 1 and 9 of 10."""
    values = {}
    for scale in ("verdict", "unit", "anchored"):
        found = solved(scale=scale, controller=Beam(width=1, branching=5, max_depth=1))
        values[scale] = next(node.value for node in found.search.tree if node.state.numbers == (3, 4, 9))
    assert values == {"verdict": 20.0, "unit": 0.9, "anchored": 9.0}


def test_it_is_no_solver():
    """All three can be solved, and the default beam misses them; with more breadth, one is found."""
    for numbers in ("3 3 8 8", "1 3 4 6", "1 5 5 5"):
        found = solved(numbers)
        assert not found.search.solved
        assert found.search.refuted
    assert verified(solved("3 3 8 8", controller=Beam(width=None, branching=None)), "3 3 8 8")


def test_a_prompt_about_something_else_is_an_error_and_no_answer():
    with dspy.context(lm=offline_lm()):
        found = TreeOfThoughts("question -> answer")(question="Why?")
    assert found.search.status == "failed"
    assert "plays the Game of 24 and Blocksworld, and nothing else" in found.search.first_error


def test_it_costs_nothing_where_its_price_is_told():
    found = solved(budget={"cost": 0.01}, prices=PRICES)
    assert (found.search.solved, found.search.spent.cost) == (True, 0.0)


def test_what_it_plays():
    assert plays(Game24(target=10))
    assert not plays(TreeOfThoughts("question -> answer").task)
    assert offline_lm().model == MODEL


def test_numbers_may_come_as_a_list():
    assert verified(solved([4, 9, 10, 13]), [4, 9, 10, 13])
