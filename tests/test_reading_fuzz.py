"""No text breaks a reader, whatever it holds and however long it is."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoughtree.modules import reading

WORDS = ["sure", "likely", "impossible"]
MOVES = ["lift the cup", "drop the cup"]
READERS = {
    "clean": reading.clean,
    "items": reading.items,
    "verdict": lambda text: reading.verdict(text, WORDS),
    "number": lambda text: reading.number(text, 0, 1),
    "vote": lambda text: reading.vote(text, 5),
    "scores": lambda text: reading.scores(text, 5, 0, 1),
    "verdicts": lambda text: reading.verdicts(text, 5, WORDS),
    "comparison": reading.comparison,
    "choices": lambda text: reading.choices(text, MOVES),
    "code": reading.code,
    "actions": reading.actions,
    "match_move": lambda text: reading.match_move(text, MOVES),
    "answer_text": reading.answer_text,
    "clues": reading.clues,
}
PIECES = [
    "1. ", "2) ", "A. ", "- ", "* ", "Step 1: ", "Action: ", "Thought 2: ", "Observation: ", "ANSWER: ",
    "Score: ", "Final score ",
    "0.7", "8/10", "80%", "12", "NaN", "inf", "1e999", "9" * 40, "½", "８", "-", "+", "=", "9 - 3 = 6",
    " (left: 2 6 6)", "(left: ",
    "sure", "likely", "impossible", "/", "|", ", ", "; ", " or ", " not ", "The best choice is ", "Choice 2",
    " is better", "tie",
    "{", "}", "[", "]", '"score": ', '{"score": 0.4}', "['a b', 'c d']", '"', "'", "`", "```", "```json\n",
    "**", "__", "_", "$", "\\",
    "\\times ", "\\boxed{", "<think>", "</think>", "<step>", "</step>", "[[ ## score ## ]]",
    "[[ ## completed ## ]]", "[[ ##", "\n", "\n\n",
    " ", "\t", "> ", "# ", "| a | b |", "h1. stone (certain)", "h1. ", "Across\n", "Search[", "x", "\x00",
    "\ud800", "\udc00", "\u2028", "é",
]  # fmt: skip
replies = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=200),
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
)


@settings(max_examples=200, deadline=None)
@given(replies, st.floats(-100, 99), st.floats(1e-3, 100))
def test_a_number_is_finite_and_on_its_scale(text, low, span):
    high = low + span
    for found in [reading.number(text, low, high), *reading.scores(text, 3, low, high)]:
        if found is not None:
            assert low <= found.value <= high
            assert math.isfinite(found.value)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=("Nd", "Nl", "No")), max_size=200))
def test_a_text_without_digits_holds_no_number(text):
    assert reading.number(text, 0, 1) is None
    assert reading.scores(text, 2, 0, 1) == [None, None]


@settings(max_examples=200, deadline=None)
@given(replies, st.integers(0, 6))
def test_lists_hold_distinct_texts_only(text, n):
    found = reading.items(text, n)
    assert len(found) <= n
    assert len(found) == len(set(found))
    for item in [*found, *reading.actions(text), *reading.clues(text)]:
        assert isinstance(item, str)
        assert item.strip()


@settings(max_examples=200, deadline=None)
@given(replies)
def test_labels_and_places_are_among_those_given(text):
    assert reading.verdict(text, WORDS) in (None, *WORDS)
    assert set(reading.verdicts(text, 4, WORDS)) <= {None, *WORDS}
    assert len(reading.verdicts(text, 4, WORDS)) == 4
    assert reading.vote(text, 3) in (None, 0, 1, 2)
    assert {choice.place for choice in reading.choices(text, MOVES)} <= {None, 0, 1}
    assert reading.comparison(text) in (None, 0.0, 0.5, 1.0)
    assert reading.match_move(text, MOVES) in (None, *MOVES)
    assert reading.answer_text(text) != ""
    reading.clean(text).encode()
    reading.code(text).encode()


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("abcdefg uvwxyz"), min_size=3, max_size=30).map(str.strip).filter(lambda t: len(t) > 2))
def test_words_in_a_list_come_back_as_they_were(words):
    other = "quite another thing"
    for shape in (
        "1. {}\n2. {}",
        "- {}\n- {}",
        '["{}", "{}"]',
        "Option A: {}\nOption B: {}",
        "<think>1. no</think>\n{}\n{}",
    ):
        if len(words.split()[0]) > 1:  # `a b` could be a label
            assert reading.items(shape.format(words, other)) == [words, other]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 10)), min_size=1, max_size=6))
def test_scores_are_never_shifted(wanted):
    said = "\n".join(f"{place}: {score}" for place, score in enumerate(wanted, 1) if score is not None)
    found = reading.scores(said, len(wanted), 0, 10)
    assert [None if one is None else one.value for one in found] == wanted


ADVERSARIES = [
    "(", "[", "{", '["', "['", '{"a":', '{"a":[', "1. ", "1.", "1; ", "- ", "-\n", "* ", "A. ", "A: ",
    "Step 1: ", "| ", "|a|b|\n", "# a\n",
    "<think>", "</think>", "<a>", "[[", "[[ ##", "[[ ## a ## ]] ", "```", "```\n", "**", " **a", "_", "`",
    '"', "'", "$", "\\", "\\(", "\\frac{",
    "8 \\times ", "9 - 3 = 6 (left: ", "3 ", "3, ", "3+", "3/", "9", "Score: ", "Score ", "final score ",
    "the step gets ", "sure ",
    "sure, ", "is sure ", "judgement ", ": ", "the best choice is ", "1 is better ", "A > B ", "not ",
    "1: 0.5, ", "Candidate 1: ",
    "Action: ", "Search[", "h1. ", "certain ", "Across\n1. stone\n", "A P ", "a\nb\n", "\n", " ", "\t", "a",
    "\ud800", "８", "１．", "\\n1. ",
]  # fmt: skip


LONG = ("((((", "[", "1. ", "<think>", '["')


@pytest.mark.parametrize("name", READERS)
def test_time_is_proportional_to_length(name):
    """A reader that goes over what it has read again and again would not end in the suite's time limit."""
    for piece in ADVERSARIES:
        READERS[name]("1. " + piece * (5_000 // len(piece)) + " x\n2. y")
    for piece in LONG:
        READERS[name](piece * (200_000 // len(piece)))


def test_depth_is_no_limit():
    deep = "[" * 100_000 + "]" * 100_000
    assert reading.items(deep) == []
    assert reading.number('{"a":' * 50_000 + "1" + "}" * 50_000, 0, 1) is None
    assert reading.items("[" * 10 + '"measure the base"' + "]" * 10) == ["measure the base"]
