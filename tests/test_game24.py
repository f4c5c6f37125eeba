"""The Game of 24: worked-out values, the rules one by one, and properties of random play."""

from __future__ import annotations

import copy
import gzip
import json
import os
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thoughtree.search.protocol import Stepped
from thoughtree.tasks import Game24, Game24State, Illegal, Move
from thoughtree.tasks.arithmetic import DEEPEST, LONGEST, check_expression, value_of, written
from thoughtree.tasks.reachable import reachable, values
from thoughtree.tasks.stepping import parse, step

GAME = Game24()
STRICT = Game24(strict=True)
PUZZLE = {"numbers": "4 9 10 13"}

SHARED = Path(os.environ.get("THOUGHTREE_SHARED") or Path(__file__).parents[2] / "shared")


def state(*numbers: int | str) -> Game24State:
    return Game24State.of([Fraction(number) for number in numbers])


def play(game: Game24, inputs: dict[str, Any], *texts: str) -> Game24State:
    now = game.initial(inputs)
    for text in texts:
        action = parse(game, now, text)
        assert not isinstance(action, Illegal), (text, action)
        outcome = step(game, now, action)
        assert isinstance(outcome, Stepped), (text, outcome)
        now = outcome.state
    return now


# A game


def test_a_whole_game() -> None:
    end = play(GAME, PUZZLE, "10 - 4 = 6 (left: 6 9 13)", "13-9=4", "6*4=24")
    assert end.numbers == (24,)
    assert GAME.is_goal(end)
    assert GAME.answer(end) == {"answer": "(10 - 4) * (13 - 9)"}
    assert GAME.for_inputs(PUZZLE).check(GAME.answer(end)) is True


def test_the_last_move_solves() -> None:
    before = play(GAME, PUZZLE, "10-4", "13-9")
    assert before.numbers == (4, 6)
    solved = step(GAME, before, Move(4, "*", 6))
    assert isinstance(solved, Stepped)
    assert (solved.key, solved.solved, solved.terminal) == ((24,), True, True)
    other = step(GAME, before, Move(4, "+", 6))
    assert isinstance(other, Stepped)
    assert (other.key, other.solved, other.terminal) == ((10,), False, True)


def test_the_key_is_the_sorted_numbers_whatever_made_them() -> None:
    one, other = play(GAME, PUZZLE, "10-4"), play(GAME, {"numbers": [6, 13, 9]})
    assert GAME.key(one) == GAME.key(other) == (6, 9, 13)
    assert one != other  # their answers differ
    assert GAME.render(one) == "6 9 13"


def test_fractions_are_exact() -> None:
    end = play(GAME, {"numbers": "3 3 8 8"}, "8 / 3 = 2.67", "3 - 2.67 = 0.33", "8 / 0.33 = 24.24")
    assert GAME.is_goal(end)
    assert GAME.answer(end) == {"answer": "8 / (3 - 8 / 3)"}
    assert GAME.render(play(GAME, {"numbers": "9 6 5 5"}, "9/6")) == "3/2 5 5"


def test_a_move_leaves_its_state_as_it_was() -> None:
    before = GAME.initial(PUZZLE)
    GAME.apply(before, Move(10, "-", 4))
    assert before == state(4, 9, 10, 13)


# Moves


def test_a_move_is_shown_in_the_order_said_with_the_result_recomputed() -> None:
    assert str(Move(10, "-", 4)) == "10-4=6"
    assert str(Move(6, "*", 4)) == "6*4=24"
    assert str(Move(4, "+", 6)) == "4+6=10"
    assert str(Move(9, "/", 6)) == "9/6=3/2"
    assert str(Move(Fraction(3, 2), "*", 4)) == "3/2*4=6"
    assert str(Move(6, "/", Fraction(3, 2))) == "6/(3/2)=4"
    assert str(Move(Fraction(1, 2), "/", 3)) == "(1/2)/3=1/6"
    assert str(Move(13, "-", -2)) == "13-(-2)=15"
    assert str(Move(-1, "+", 25)) == "-1+25=24"
    assert str(Move(4, "/", 0)) == "4/0"


def test_moves_are_equal_whatever_the_order_where_it_does_not_matter() -> None:
    assert Move(4, "+", 6) == Move(6, "+", 4)
    assert Move(4, "*", 6) == Move(6, "*", 4)
    assert Move(4, "-", 6) != Move(6, "-", 4)
    assert Move(4, "/", 6) != Move(6, "/", 4)
    assert Move(4, "+", 6) != Move(4, "*", 6)
    assert Move(Fraction(4), "+", 6) == Move(4, "+", 6)
    assert len({Move(4, "+", 6), Move(6, "+", 4), Move(4, "-", 6), Move(6, "-", 4)}) == 3
    assert Move(4, "+", 6) != "4+6=10"


def test_an_unknown_operator_is_refused() -> None:
    with pytest.raises(ValueError, match=r"op='\^' is not one of \+ - \* /"):
        Move(2, "^", 3)


def test_moves_are_all_that_lead_to_different_numbers() -> None:
    assert [str(move) for move in GAME.moves(state(4, 6))] == [
        "4+6=10",
        "6-4=2",
        "4-6=-2",
        "4*6=24",
        "6/4=3/2",
        "4/6=2/3",
    ]
    assert [str(move) for move in GAME.moves(state(0, 5))] == ["0+5=5", "0-5=-5", "0*5=0"]
    assert [str(move) for move in GAME.moves(state(2, 2))] == ["2+2=4", "2-2=0", "2/2=1"]
    assert GAME.moves(state(7)) == []


def test_apply_refuses_what_is_not_there_and_a_division_by_zero() -> None:
    assert GAME.apply(state(4, 6), Move(4, "+", 7)) == Illegal("operand not available")
    assert GAME.apply(state(4, 6), Move(4, "+", 4)) == Illegal("operand not available")  # there is one 4 only
    assert GAME.apply(state(0, 6), Move(6, "/", 0)) == Illegal("division by zero")


# Reading moves


@pytest.mark.parametrize(
    ("text", "numbers", "move"),
    [
        ("10 - 4 = 6 (left: 6 9 13)", "4 9 10 13", "10-4=6"),
        ("10-4=6", "4 9 10 13", "10-4=6"),
        ("10-4", "4 9 10 13", "10-4=6"),
        ("**10 − 4 = 6**", "4 9 10 13", "10-4=6"),
        ("**10** - **4** = 6", "4 9 10 13", "10-4=6"),
        ("**10** * **4** = 40", "4 9 10 13", "10*4=40"),
        ("1. `10 – 4 = 6` (left: 6 9 13)", "4 9 10 13", "10-4=6"),
        ("First, 10 - 4 = 6, leaving 6, 9 and 13.", "4 9 10 13", "10-4=6"),
        ("With 9 and 13 kept: (10 - 4) = 6", "4 9 10 13", "10-4=6"),
        ("10 - 4 = 6 | remaining: [6, 9, 13]", "4 9 10 13", "10-4=6"),
        ("- 10 - 4 = 6", "4 9 10 13", "10-4=6"),
        ("4 × 9 = 36", "4 9 10 13", "4*9=36"),
        ("4 x 9 = 36", "4 9 10 13", "4*9=36"),
        ("4X9", "4 9 10 13", "4*9=36"),
        ("4·9", "4 9 10 13", "4*9=36"),
        (r"$4 \times 9 = 36$ (left: $10, 13, 36$)", "4 9 10 13", "4*9=36"),
        ("10 ÷ 4 ≈ 2.5", "4 9 10 13", "10/4=5/2"),
        ("１０ ＋ ４ ＝ １４", "4 9 10 13", "10+4=14"),
        ("1.33 * 6 = 8", "4/3 6", "4/3*6=8"),
        ("1.34 * 6", "4/3 6", "4/3*6=8"),
        ("0.67 + 1", "2/3 1", "2/3+1=5/3"),
        ("0.66 + 1", "2/3 1", "2/3+1=5/3"),
        (".67 + 1", "2/3 1", "2/3+1=5/3"),
        ("0.666... + 1", "2/3 1", "2/3+1=5/3"),
        ("~1.33 * 6", "4/3 6", "4/3*6=8"),
        ("2.5 * 4", "5/2 4", "5/2*4=10"),
        ("1.33 + 2", "1.32 4/3 2", "4/3+2=10/3"),  # both are within 0.01; 4/3 is nearer
        ("1.33 + 2", "1.33 4/3 2", "133/100+2=333/100"),  # the very number comes first
        ("2/3 * 6 = 4", "2/3 6", "2/3*6=4"),
        ("6 / (2/3) = 9", "2/3 6", "6/(2/3)=9"),
        ("1/2/3", "1/2 3", "(1/2)/3=1/6"),
        ("1/2/3", "1 2/3", "1/(2/3)=3/2"),
        ("2/3", "2 3", "2/3=2/3"),
        ("-1 + 25", "-1 25", "-1+25=24"),
        ("(-1) + 25", "-1 25", "-1+25=24"),
        ("13 - -2", "-2 13", "13-(-2)=15"),
        ("13 - (-2)", "-2 13", "13-(-2)=15"),
        ("13 − −2", "-2 13", "13-(-2)=15"),
        ("10 - 4 = 7 (left: 1 2 3)", "4 9 10 13", "10-4=6"),  # repaired
        ("10 - 4 = 6, then 6 * 4 = 24", "4 9 10 13", "10-4=6"),  # the first is the step
        ("4 -1 = 3 (left: 3 -5 2)", "4 1 -5 2", "4-1=3"),
    ],
)
def test_reads(text: str, numbers: str, move: str) -> None:
    action = GAME.parse(text, state(*numbers.split()))
    assert str(action) == move


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "no move"),
        ("I would look at the numbers first.", "no move"),
        ("10", "no move"),
        ("2 ^ 3 = 8", "no move"),
        ("4 ** 9 * 10 = 8", "no move"),
        ("9^2 = 81, 10 * 4 = 40", "no move"),
        ("1" * 60 + " - 4", "no move"),
        ("7 - 4 = 3", "operand not available"),
        ("10 - 10 = 0", "operand not available"),
        ("6 * 4 = 24", "operand not available"),
        ("4.4 - 10", "operand not available"),
        ("1+2+3", "more than one operation"),
        ("10 - 4 + 9 = 15", "more than one operation"),
        ("(10 - 4) * 9 = 54", "more than one operation"),
        ("10 - 4 = 6 + 9 = 15", "more than one operation"),
        ("4 / (0)", "operand not available"),
        ("10 / (1/0)", "division by zero"),
    ],
)
def test_refuses(text: str, rule: str) -> None:
    assert GAME.parse(text, GAME.initial(PUZZLE)) == Illegal(rule)


def test_dividing_by_a_zero_that_is_there_is_refused() -> None:
    assert GAME.parse("4 / 0", state(0, 4)) == Illegal("division by zero")


@pytest.mark.parametrize(
    ("text", "numbers", "verdict"),
    [
        ("10 - 4 = 6 (left: 6 9 13)", "4 9 10 13", "10-4=6"),
        ("10 - 4 = 6 (left: 13, 6, 9)", "4 9 10 13", "10-4=6"),
        ("10 - 4 = 6", "4 9 10 13", "10-4=6"),
        ("10 / 9 = 1.11 (left: 1.11 4 13)", "4 9 10 13", "10/9=10/9"),
        ("10 / 9 = approx. 1.111 (left: 4 approx. 1.111 13)", "4 9 10 13", "10/9=10/9"),
        ("10 / 9 = 10/9 (left: 4 10/9 13)", "4 9 10 13", "10/9=10/9"),
        ("4 / 13 = 0.30 (left: 9 10 0.30)", "4 9 10 13", "4/13=4/13"),  # cut off
        ("1.67 * 11 = 18.37 (left: 18.37)", "5/3 11", "5/3*11=55/3"),  # right for 1.67
        ("4 - 9 = -5 (left: 10 -5 13)", "4 9 10 13", "4-9=-5"),
        ("10 - 4", "4 9 10 13", Illegal("wrong result")),
        ("10 - 4 = 7", "4 9 10 13", Illegal("wrong result")),
        ("10 / 9 = 1", "4 9 10 13", Illegal("wrong result")),
        ("10 / 9 = 1.13", "4 9 10 13", Illegal("wrong result")),
        ("1.67 / 0.00 = 2", "5/3 1/300", Illegal("wrong result")),
        ("10 - 4 = 6 (left: 6 9 10)", "4 9 10 13", Illegal("wrong remaining numbers")),
        ("10 - 4 = 6 (left: 6 9)", "4 9 10 13", Illegal("wrong remaining numbers")),
        ("10 - 4 = 6 (left: 4 6 9 13)", "4 9 10 13", Illegal("wrong remaining numbers")),
        ("10 / 9 = 10/9 (left: 4 1.13 13)", "4 9 10 13", Illegal("wrong remaining numbers")),
        ("7 - 4 = 3", "4 9 10 13", Illegal("operand not available")),
    ],
)
def test_strict_wants_the_stated_numbers_right(text: str, numbers: str, verdict: str | Illegal) -> None:
    action = STRICT.parse(text, state(*numbers.split()))
    assert (action if isinstance(action, Illegal) else str(action)) == verdict


def test_an_answer_mark_is_read_as_a_move() -> None:
    assert str(parse(GAME, state(4, 6), "ANSWER: 6 * 4 = 24")) == "6*4=24"


@given(st.text(alphabet="0123456789./-+*x÷= ()[],left:remaining^~…%", max_size=60))
def test_no_text_crashes_the_reader_and_what_it_reads_applies(text: str) -> None:
    now = state("1/2", 0, 3, 4)
    for game in (GAME, STRICT):
        action = game.parse(text, now)
        if not isinstance(action, Illegal):
            assert isinstance(game.apply(now, action), Game24State)


def test_a_text_that_runs_on_is_read_quickly_and_as_no_move() -> None:
    for text in ("1+" * 5000, "(" * 10_000, "1" * 10_000, "1 - " + " " * 10_000, "left: " + "1 " * 5000):
        assert isinstance(GAME.parse(text, GAME.initial(PUZZLE)), Illegal)


# Input


@pytest.mark.parametrize(
    "given_numbers",
    [
        "4 9 10 13",
        "4,9,10,13",
        " 4, 9; 10  13 ",
        "[4, 9, 10, 13]",
        [4, 9, 10, 13],
        (4, "9", 10.0, Fraction(13)),
        "４ ９ １０ １３",
    ],
)
def test_numbers_are_read(given_numbers: Any) -> None:
    assert GAME.initial({"numbers": given_numbers}).numbers == (4, 9, 10, 13)


def test_one_number_is_a_puzzle_only_where_it_is_the_target() -> None:
    assert GAME.is_goal(GAME.initial({"numbers": 24}))
    with pytest.raises(ValueError, match=r"numbers='4': too few numbers \(1\) to make 24; give at least 2"):
        GAME.initial({"numbers": "4"})


def test_negative_numbers_are_puzzles_too() -> None:
    assert GAME.initial({"numbers": "-3 8"}).numbers == (-3, 8)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ("4 9 x", r"numbers='4 9 x': 'x' is not a whole number; give whole numbers, such as '4 9 10 13'"),
        ("", r"numbers='': no numbers; give some"),
        ([], r"numbers=\[\]: no numbers; give some"),
        (None, r"numbers=None: None is not a whole number"),
        ([4, True], r"True is not a whole number"),
        ([4, 2.5], r"2\.5 is not a whole number"),
        ("4 1/2", r"'1/2' is not a whole number"),
        ("4 1/0", r"'1/0' is not a whole number"),
        ([4, float("nan")], r"nan is not a whole number"),
        ([4, float("inf")], r"inf is not a whole number"),
        ("4 nan", r"'nan' is not a whole number"),
        ("4 1e9", r"'1e9' is not a whole number"),
        ("4 1000000000000", r"'1000000000000' has more than 12 digits"),
        ([1] * 21, r"too many numbers \(21\); give at most 20"),
    ],
)
def test_input_that_is_no_puzzle_is_an_error_that_says_so(numbers: Any, message: str) -> None:
    for ask in (GAME.initial, GAME.for_inputs):
        with pytest.raises(ValueError, match=message):
            ask({"numbers": numbers})


def test_a_missing_field_and_a_wrong_count_are_errors() -> None:
    with pytest.raises(ValueError, match="has no field `numbers`"):
        GAME.initial({"question": "4 9 10 13"})
    with pytest.raises(ValueError, match=r"numbers='4 9': too few numbers \(2\); give exactly 4"):
        Game24(count=4).initial({"numbers": "4 9"})
    with pytest.raises(ValueError, match=r"numbers='1 2 3 4 5': too many numbers \(5\); give exactly 4"):
        Game24(count=4).for_inputs({"numbers": "1 2 3 4 5"})


def test_targets_are_exact() -> None:
    assert Game24(target="3/2").goal == Fraction(3, 2)
    assert Game24(target=Fraction(48, 2)) == Game24(target="24") == Game24()
    assert Game24(target="3/2").is_goal(play(Game24(target="3/2"), {"numbers": "2 3"}, "3/2"))
    for bad in (0.1, "x", None, True, "1/0"):
        with pytest.raises(ValueError, match="is no exact number"):
            Game24(target=bad)  # type: ignore[arg-type]
    for count in (0, 21):
        with pytest.raises(ValueError, match=f"count={count} must be 1 to 20"):
            Game24(count=count)


def test_instructions_name_the_target_and_the_signature_is_the_game_s() -> None:
    assert "Make 36 from" in Game24(target=36).instructions()
    assert Game24.signature == "numbers -> answer"


def test_a_game_is_a_value_and_for_inputs_leaves_it_alone() -> None:
    bound = GAME.for_inputs(PUZZLE)
    assert bound.numbers == (4, 9, 10, 13)
    assert GAME.numbers is None
    assert copy.deepcopy(bound) == pickle.loads(pickle.dumps(bound)) == bound


@pytest.mark.parametrize("game", [GAME, Game24(target="3/2", count=4, strict=True), GAME.for_inputs(PUZZLE)])
def test_a_game_is_made_again_from_its_config(game: Game24) -> None:
    config = json.loads(json.dumps(game.config()))
    assert Game24(**config) == replace(game, numbers=None)


def test_a_state_comes_back_from_json_with_its_expressions() -> None:
    now = play(GAME, PUZZLE, "10 - 4", "9 / 6")
    value = json.loads(json.dumps(GAME.dump(now)))
    assert value == [[9, "/", [10, "-", 4]], 13]
    assert GAME.load(value) == now
    assert GAME.load(GAME.dump(state("5/3", 4))) == state("5/3", 4)


# The checker


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("(10 - 4) * (13 - 9)", True),
        ("(10-4)*(13-9) = 24", True),
        ("Answer: (10 − 4) × (13 − 9) = 24.", True),
        ("**(10 - 4) x [13 - 9]**", True),
        ("(4 - 10) * (9 - 13)", True),
        ("-(4 - 10) * (13 - 9)", True),
        ("(-4 + 10) * -(9 - 13)", True),
        ("4 + 9 + 10 + 13", False),
        ("(10 - 4) * (13 - 9) = 25", Illegal("wrong result")),
        ("4 * 9 - 12", Illegal("number not available")),
        ("4 * 6", Illegal("number not available")),
        ("(10 - 4) * (13 - 9) * 1", Illegal("number not available")),
        ("(10 - 4) * (13 - 4)", Illegal("number not available")),
        ("(10 - 4) * 13", Illegal("number not used")),
        ("24", Illegal("number not available")),
        ("4 / (10 - 10)", Illegal("number not available")),
        ("(10 - 4)(13 - 9)", Illegal("not an expression")),
        ("(10 - 4 * (13 - 9)", Illegal("not an expression")),
        ("10 - 4) * (13 - 9)", Illegal("not an expression")),
        ("10 -", Illegal("not an expression")),
        ("10 9", Illegal("not an expression")),
        ("4 ** 9", Illegal("not an expression")),
        ("4^9", Illegal("not an expression")),
        ("+4", Illegal("not an expression")),
        ("4 = 4 = 4", Illegal("not an expression")),
        ("(10 - 4) * (13 - 9) = x", Illegal("not an expression")),
        ("(10 - 4) * (13 - 9) = 1/0", Illegal("division by zero")),
        ("__import__('os')", Illegal("not an expression")),
        ("", Illegal("no answer")),
        ("(" * (DEEPEST + 1) + "4" + ")" * (DEEPEST + 1), Illegal("too deep")),
        ("-" * (DEEPEST + 1) + "4", Illegal("too deep")),
        ("4" + " " * LONGEST, Illegal("too long")),
    ],
)
def test_check(answer: str, verdict: bool | Illegal) -> None:
    assert GAME.for_inputs(PUZZLE).check({"answer": answer}) == verdict


def test_check_divides_exactly_and_not_by_zero() -> None:
    assert check_expression("8 / (3 - 8 / 3)", [3, 3, 8, 8], 24) is True
    assert check_expression("8 / (3 - 3) + 8", [3, 3, 8, 8], 24) == Illegal("division by zero")


def test_check_tells_a_puzzle_s_minus_three_from_minus_a_three() -> None:
    assert check_expression("-3 * -8", [-3, -8], 24) is True
    assert check_expression("3 * 8", [-3, -8], 24) == Illegal("number not available")
    assert check_expression("-3 * -8", [3, 8], 24) is True
    assert check_expression("5 - (-3) + -3", [5, 3, -3], 5) is True


def test_check_needs_the_puzzle_and_an_answer() -> None:
    with pytest.raises(ValueError, match=r"ask for_inputs\(inputs\)\.check\(fields\)"):
        GAME.check({"answer": "24"})
    assert GAME.for_inputs(PUZZLE).check({}) == Illegal("no answer")
    assert GAME.for_inputs(PUZZLE).check({"answer": 24}) == Illegal("no answer")


def test_expressions_have_no_bracket_too_many() -> None:
    assert written(((1, "+", 2), "-", (3, "-", 4))) == "1 + 2 - (3 - 4)"
    assert written(((1, "*", 2), "/", (3, "*", 4))) == "1 * 2 / (3 * 4)"
    assert written((1, "+", (2, "*", (3, "/", 4)))) == "1 + 2 * 3 / 4"
    assert written(((1, "-", 2), "*", 3)) == "(1 - 2) * 3"
    assert written((5, "-", -3)) == "5 - (-3)"
    assert written((-3, "*", 5)) == "-3 * 5"
    assert written((2, "/", Fraction(5, 3))) == "2 / (5/3)"


@given(st.data(), st.lists(st.integers(-13, 13), min_size=2, max_size=6), st.integers(-30, 30))
def test_random_play_gives_an_answer_that_the_checker_values_the_same(
    data: st.DataObject, numbers: list[int], target: int
) -> None:
    game = Game24(target=target).for_inputs({"numbers": numbers})
    now = game.initial({"numbers": numbers})
    while not game.is_terminal(now):
        moves = game.moves(now)
        move = moves[data.draw(st.integers(0, len(moves) - 1))]
        assert game.parse(game.show(move), now) == move
        assert Game24(strict=True).parse(game.show(move), now) == move
        now = game.apply(now, move)  # type: ignore[assignment]
        assert isinstance(now, Game24State)
        assert list(now.numbers) == sorted(value_of(expression) for expression in now.expressions)
        assert game.load(json.loads(json.dumps(game.dump(now)))) == now
    assert check_expression(game.answer(now)["answer"], numbers, now.numbers[0]) is True
    assert game.check(game.answer(now)) is game.is_goal(now)


def test_the_longest_answer_fits_into_the_checker() -> None:
    numbers = [10**12 - 1] * 20
    game = Game24(target=0).for_inputs({"numbers": numbers})
    now = game.initial({"numbers": numbers})
    for op in "-/" * 10:  # brackets as deep as they get
        if len(now.numbers) == 1:
            break
        new = game.apply(now, Move(now.numbers[-1], op, now.numbers[0] or now.numbers[-2]))
        now = new if isinstance(new, Game24State) else now
    while len(now.numbers) > 1:
        now = game.apply(now, Move(now.numbers[-1], "-", now.numbers[0]))  # type: ignore[assignment]
    assert isinstance(game.check(game.answer(now)), bool)


# What can still be solved


def brute_force(numbers: tuple[Any, ...], target: Any) -> bool:
    if len(numbers) == 1:
        return bool(numbers[0] == target)
    for a, b, *rest in permutations(numbers):
        results = [a + b, a - b, a * b] + ([Fraction(a) / b] if b else [])
        if any(brute_force((result, *rest), target) for result in results):
            return True
    return False


def test_solvable_states() -> None:
    assert GAME.solvable(state(4, 9, 10, 13)) is True
    assert GAME.solvable(state(3, 3, 8, 8)) is True
    assert GAME.solvable(state(1, 1, 1, 1)) is False
    assert GAME.solvable(state(24)) is True
    assert GAME.solvable(state(23)) is False
    assert GAME.solvable(state("3/2", 16)) is True
    assert Game24(target=952).solvable(state(3, 6, 25, 50, 75, 100)) is True
    assert Game24(target=0).solvable(state(0, 5, 7, 9, 11)) is True
    assert GAME.solvable(state(1, 1, 1, 1, 1, 1, 1)) is None  # seven: not known


def test_values_of_two_numbers() -> None:
    assert values((2, 3)) == {5, -1, 1, 6, Fraction(2, 3), Fraction(3, 2)}
    assert values((0, 3)) == {3, -3, 0}


@given(st.lists(st.integers(-4, 9), min_size=1, max_size=3), st.integers(-10, 30))
def test_solvable_agrees_with_trying_everything(numbers: list[int], target: int) -> None:
    assert reachable(tuple(sorted(numbers)), target) is brute_force(tuple(numbers), target)


@pytest.mark.parametrize(("numbers", "target"), [((1, 2, 3, 5, 7), 181), ((1, 1, 2, 2, 3), 97), ((0, 0, 1, 2, 4), 0)])
def test_solvable_from_the_two_ends_agrees_with_listing_all_values(numbers: tuple[int, ...], target: int) -> None:
    assert reachable(numbers, target) is (target in values(numbers))


# Recorded data


def recorded(name: str) -> Path:
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip(f"{name} is not here; set THOUGHTREE_SHARED to the folder that holds data/{name}")
    return path


def test_solvable_and_moves_agree_with_the_puzzle_file() -> None:
    rows = [json.loads(line) for line in recorded("sets/game24.jsonl").read_text().splitlines()]
    for row in rows[::25]:
        root = GAME.initial(row)
        children = [GAME.apply(root, move) for move in GAME.moves(root)]
        assert len(children) == row["distinct_states"][0]
        solvable = [child for child in children if isinstance(child, Game24State) and GAME.solvable(child)]
        assert len(solvable) == row["solvable_states"][0]
        assert GAME.solvable(root) is (row["n_solutions"] > 0)
        end = play(STRICT, row, *row["solution"])
        assert GAME.for_inputs(row).check(GAME.answer(end)) is True


def test_recorded_proposals_are_read_as_they_were_judged() -> None:
    """GPT-4's own lines: legal operands give the recorded exact child; strict tells right from wrong."""
    with gzip.open(recorded("game24_gpt4_replay.jsonl.gz"), "rt") as file:
        rows = [row for line in file if "steps" in (row := json.loads(line))]
    read = 0
    for row in rows[::7]:
        for expansion in (e for level in row["steps"] for e in level["expansions"] if e["kind"] == "propose"):
            now: Game24State = GAME.initial({"numbers": row["x"]})
            for line in expansion["y"].splitlines():
                action = GAME.parse(line, now)
                if isinstance(action, Illegal):
                    break
                now = GAME.apply(now, action)  # type: ignore[assignment]
            else:
                for text, *_, judged, _local, child in expansion["proposals"]:
                    read += 1
                    action = GAME.parse(text, now)
                    if child is None:
                        assert isinstance(action, Illegal), text
                        continue
                    assert not isinstance(action, Illegal), text
                    assert GAME.apply(now, action).numbers == state(*child.split()).numbers, text  # type: ignore[union-attr]
                    if judged in ("ok", "rounded"):
                        assert STRICT.parse(text, now) == action, text
                    elif judged in ("left", "result"):
                        assert isinstance(STRICT.parse(text, now), Illegal), text
    assert read > 500


@pytest.mark.parametrize(
    ("numbers", "move", "written"),
    [
        ("4 9 10 13", Move(10, "-", 4), "10 - 4 = 6 (left: 6 9 13)"),
        ("1 3", Move(1, "/", 3), "1 / 3 = 1/3 (left: 1/3)"),
        ("1 3 8", Move(1, "-", 3), "1 - 3 = -2 (left: -2 8)"),
    ],
)
def test_a_step_is_written_as_the_instructions_ask_for_it_and_read_again(numbers, move, written):
    task = Game24(count=None)
    state = task.initial({"numbers": numbers})
    assert task.write(move, state) == written
    assert task.parse(written, state) == move
