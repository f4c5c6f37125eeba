"""Which of the listed steps a reply chooses."""

from __future__ import annotations

import pytest

from thoughtree.modules import reader

STEPS = ["10 - 4 = 6", "13 - 9 = 4", "4 * 9 = 36", "4 + 9 = 13", "13 / 9 = 13/9"]


def places(text, steps=STEPS):
    return [choice.place for choice in reader.choices(text, steps)]


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("3", [2]),
        ("3, 1", [2, 0]),
        ("3, 1, and 5.", [2, 0, 4]),
        ("3 1 5", [2, 0, 4]),
        ("3; 1", [2, 0]),
        ("3 > 1 > 2", [2, 0, 1]),
        ("#3, #1", [2, 0]),
        ("**3**, **1**", [2, 0]),
        ("(3), (1)", [2, 0]),
        ("[3, 1]", [2, 0]),
        ("<3>", [2]),
        ("３、１", [2, 0]),
        ("Step 3, step 1", [2, 0]),
        ("Options 2 and 4", [1, 3]),
        ("3\n1", [2, 0]),
        ("- 3\n- 1", [2, 0]),
        ("1. 3\n2. 1", [2, 0]),
        ("3, 3, 1", [2, 0]),
        ('{"chosen_steps": [3, 1]}', [2, 0]),
        ('```json\n{"chosen_steps": [3, 1]}\n```', [2, 0]),
        ('{"chosen_steps": "3, 1"}', [2, 0]),
        ('{"chosen_steps": ["13 - 9 = 4", 1]}', [1, 0]),
        ('["3", "1"]', [2, 0]),
        ('{"choices": [{"number": 3}, {"number": 1}]}', [2, 0]),
        ('{"chosen_steps": [3, 1', [2, 0]),
        ("<think>4? No, 5.</think>\n2", [1]),
        ("[[ ## chosen_steps ## ]]\n2, 4\n\n[[ ## completed ## ]]", [1, 3]),
        ("10 - 4 = 6", [0]),
        ("`10 - 4 = 6`\n`4 × 9 = 36`", [0, 2]),
        ("2. 13 - 9 = 4\n1. 10 - 4 = 6", [1, 0]),
        # Numbered anew: the words count.
        ("1. 4 + 9 = 13\n2. 10 - 4 = 6", [3, 0]),
        ("1. 13 - 9 = 4", [1]),
        ("3, because it makes 36.", [2]),
        ("3 (keeps both)", [2]),
        ("The best ones are 3 and 1.", [2, 0]),
        ("I choose step 4.", [3]),
        ("I would pick 2, then 5, since they leave whole numbers.", [1, 4]),
        ("My choice: 2", [1]),
        ("The answer is 5.", [4]),
    ],
)
def test_a_choice_is_read(said, read):
    assert places(said) == read


@pytest.mark.parametrize(
    "said",
    [
        "",
        None,
        "none of them",
        "I cannot tell.",
        "[[ ## chosen_steps ## ]]\n\n[[ ## completed ## ]]",
        "[]",
        "{}",
        '{"chosen_steps": null}',
        '{"chosen_steps": [true]}',
        # Steps of its own, with a list's markers: those are no choices.
        "1. 9 - 4 = 5\n2. 10 + 9 = 19",
        "We need 24, so 24 / 4 = 6 must be reached in 2 steps.",
        "The answer is 4 * 6 = 24.",
        "3.5",
        "<think>3",
        # The state of the prompt, said again beside what was left of its fields.
        "[[## completed ## ]]\n[## numbers ##]\n[### [****]\n9 13 40\n\n#[****]\n4 9",
    ],
)
def test_what_chooses_nothing_is_not_guessed_at(said):
    assert places(said) == []


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("9", [("9", None)]),
        ("0", [("0", None)]),
        ("2, 17, 1", [("2", 1), ("17", None), ("1", 0)]),
        ('{"chosen_steps": [17, -1, 1.5, 2]}', [("17", None), ("-1", None), ("1.5", None), ("2", 1)]),
        ("17, 17", [("17", None)]),
        ("4, 3, 3", [("4", 3), ("3", 2)]),
        ('{"chosen_steps": [Infinity, NaN, 1e300, 1]}', [("1e+300", None), ("1", 0)]),
        ("99999", []),
    ],
)
def test_a_number_that_no_step_has_is_known_as_such(said, read):
    assert [(choice.said, choice.place) for choice in reader.choices(said, STEPS)] == read


def test_a_number_without_a_step_hides_none_that_has_one():
    """`22` names the step with index 21, and `21`, of another list, nothing."""
    many = [f"step {letter}" for letter in "abcdefghijklmnopqrstuv"]
    assert [choice.place for choice in reader.choices("23, 22, 24, 1", many)] == [None, 21, None, 0]
    assert [choice.place for choice in reader.choices("[24, 25]", [*many, "w", "x"])] == [23, None]


def test_steps_are_compared_in_the_spelling_that_replies_are_read_in():
    assert places("4 * 9 = 36", ["4 × 9 = 36"]) == [0]
    assert places("１. 4×9=36", ["4×9=36"]) == [0]


def test_numbers_as_steps_are_words_first():
    """Where the steps themselves are numbers, a bare one that is a step's words names that step."""
    assert places("24", ["6", "24"]) == [1]
    assert places("2", ["6", "24"]) == [1]


def test_the_longest_reply_takes_no_longer_than_its_length():
    for piece in ("1, ", "1 ", "choose ", "[", "{", "step ", "1. 1. ", "(1", "and "):
        assert len(places(piece * 20_000)) <= len(STEPS) + 1
