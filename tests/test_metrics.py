"""Metrics: solved and exact match, and how any DSPy metric is called and read."""

from __future__ import annotations

from fractions import Fraction

import dspy
import numpy
import pytest

from puzzle24 import PUZZLE, call, engine
from thoughtree import Beam, ExactMatch, FreeText, Game24, Solved, TreeOfThoughts, exact_match, solved
from thoughtree.optimize.metrics import normalized
from thoughtree.optimize.scoring import Score, Scorer

GOLD = dspy.Example(numbers=PUZZLE).with_inputs("numbers")


def answered(label, found):
    example = dspy.Example(question="?", answer=label).with_inputs("question")
    return exact_match(example, dspy.Prediction(answer=found))


# -- solved


def test_solved_is_what_code_verified():
    found = call(TreeOfThoughts(task=Game24(), controller=Beam(width=2)), engine(), numbers=PUZZLE)
    lost = call(TreeOfThoughts(task=Game24(), controller=Beam(width=2)), engine(lambda *_: "no idea"), numbers=PUZZLE)
    assert (solved(GOLD, found), solved(GOLD, lost)) == (True, False)


@pytest.mark.parametrize(
    ("answer", "is_right"), [("(10 - 4) * (13 - 9)", True), ("10 + 4 + 13 - 9", False), ("24", False), (None, False)]
)
def test_solved_by_a_task_checks_the_answer_of_any_program(answer, is_right):
    assert Solved(Game24())(GOLD, dspy.Prediction(answer=answer)) is is_right


def test_solved_without_a_search_or_a_task_says_what_is_missing():
    with pytest.raises(TypeError, match=r"carries no search; give the task: Solved\(Game24\(\)\)"):
        solved(GOLD, dspy.Prediction(answer="24"))
    with pytest.raises(ValueError, match="FreeText has no check"):
        Solved(FreeText())(GOLD, dspy.Prediction(answer="24"))
    with pytest.raises(TypeError, match="must be a task"):
        Solved(Game24)


# -- exact match


@pytest.mark.parametrize(
    ("label", "found", "same"),
    [
        ("Paris", " paris\n", True),
        ("New  York", "new york", True),
        ("STRASSE", "straße", True),  # case folding
        ("２４", "24", True),  # NFKC: full-width digits
        ("café", "cafe\u0301", True),  # NFKC: composed
        ("Paris", "Paris.", False),
        ("the end", "end", False),
        ("007", "7", False),
        (24, "24", True),
        (24, 24, True),
        ("24.0", 24, False),
        (True, True, True),
        (True, "True", False),
        (1, True, False),
        (["Paris", "Lutetia"], "lutetia", True),  # any of them will do
        (["Paris", "Lutetia"], "Rome", False),
        (["a", "B"], ["A", "b"], True),  # a list is the answer
        (["a", "b"], ["b", "a"], False),
        ({"city": "Paris"}, {"city": "PARIS"}, True),
        ("", None, False),
        (None, None, False),
    ],
)
def test_exact_match_after_normalisation(label, found, same):
    assert answered(label, found) is same


def test_normalisation_goes_inside():
    assert normalized({"a": [" X  y", 7, (True, None)]}) == {"a": ["x y", "7", [True, None]]}


def test_all_labels_that_the_prediction_has_must_match():
    example = dspy.Example(q="?", city="Paris", country="France", source="page 3").with_inputs("q")
    assert exact_match(example, dspy.Prediction(city="paris", country="france"))
    assert not exact_match(example, dspy.Prediction(city="paris", country="spain"))
    assert ExactMatch("city")(example, dspy.Prediction(city="paris", country="spain"))


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        (exact_match, "no field 'city' to compare: the example's labels are ['city'], the prediction has ['town']"),
        (ExactMatch("city"), "no field 'city' to compare"),
        (ExactMatch("town"), "no field 'town' to compare"),
    ],
)
def test_a_field_that_is_missing_is_an_error_and_no_mismatch(metric, told):
    example = dspy.Example(q="?", city="Paris").with_inputs("q")
    with pytest.raises(ValueError, match="exact_match") as error:
        metric(example, dspy.Prediction(town="Paris"))
    assert told in str(error.value)


# -- any DSPy metric


def score(metric, example=GOLD, prediction=None):
    scorer = Scorer(metric)
    return scorer.read(scorer.call(example, prediction))


def two(example, prediction):
    return 1


def three(example, prediction, trace):
    return trace is None


def five(gold, pred, trace, pred_name, pred_trace):
    return dspy.Prediction(score=0.5, feedback="half" if (trace, pred_name, pred_trace) == (None,) * 3 else "no")


def optional(gold, pred, trace=None, pred_name="default", pred_trace=None):
    return {"score": 1 if pred_name == "default" else 0}


def anything(*arguments):
    return len(arguments)


class Method:
    def judge(self, example, prediction, trace=None):
        return 0.25


class Judge(dspy.Module):
    def forward(self, example, prediction, trace):
        return dspy.Prediction(score=0.75)


class Feedback:
    score, feedback = 0.125, "an eighth"


@pytest.mark.parametrize(
    ("metric", "value", "feedback"),
    [
        (two, 1.0, None),
        (three, 1.0, None),
        (five, 0.5, "half"),
        (optional, 1.0, None),
        (anything, 2.0, None),
        (Method().judge, 0.25, None),
        (Judge(), 0.75, None),
        (lambda e, p: Feedback(), 0.125, "an eighth"),
        (lambda e, p: True, 1.0, None),
        (lambda e, p: Fraction(1, 4), 0.25, None),
        (lambda e, p: numpy.float32(0.5), 0.5, None),
        (lambda e, p: numpy.bool_(True), 1.0, None),
        (lambda e, p: -3, -3.0, None),
        (exact_match, 1.0, None),
    ],
)
def test_metrics_of_all_kinds(metric, value, feedback):
    example = dspy.Example(q="?", answer="yes").with_inputs("q")
    assert score(metric, example, dspy.Prediction(answer="yes")) == Score(value, feedback)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (None, "returned None: a score is a bool or a number"),
        ("1", "returned '1'"),
        (float("nan"), "returned nan: a score is finite"),
        (float("-inf"), "returned -inf"),
        ([1], r"returned \[1\]"),
        ({}, "returned None"),
        (dspy.Prediction(value=1), "returned Prediction"),
        (dspy.Prediction(score=None), "returned None"),
        (10**400, "a score is"),
    ],
)
def test_what_is_no_score_is_refused_by_name(said, error):
    def judge(example, prediction):
        return said

    with pytest.raises((TypeError, ValueError), match=rf"metric judge .*{error}|judge {error}"):
        score(judge)


@pytest.mark.parametrize("metric", ["exact_match", 3, ExactMatch, lambda: 1, lambda one: 1])
def test_what_is_no_metric_is_refused(metric):
    with pytest.raises(TypeError, match="metric="):
        Scorer(metric)


def test_a_metric_has_a_name():
    assert [Scorer(metric).name for metric in (two, solved, Judge())] == ["two", "Solved", "Judge"]
