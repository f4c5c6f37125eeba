"""Answers that code or a reward function verifies, or refuses; a direct answer first; failure."""

from __future__ import annotations

import dspy
import pytest

from engines import Engine
from freetext import ONE, answering, closings, thinks
from puzzle24 import KINDS, PATH, PUZZLE, call, drivers, engine, script
from thoughtree import DFS, Beam, Budget, Game24, SearchFailed, SearchStatus, Task, TreeOfThoughts

# Verified by code


class Riddle(Task):
    """The answer is known to code, and the way is free."""

    signature = "question -> answer"

    def check(self, fields):
        return fields["answer"].strip() == "42"


@drivers
def test_a_checked_answer_is_solved_and_a_refused_one_is_not(driver):
    right = call(TreeOfThoughts(task=Riddle(), controller=ONE), thinks({"answer": "42"}), driver, question="q")
    assert (right.answer, right.search.status) == ("42", SearchStatus.SOLVED)
    wrong = call(TreeOfThoughts(task=Riddle(), controller=ONE), thinks({"answer": "41"}), driver, question="q")
    assert (wrong.answer, wrong.search.status) == ("41", SearchStatus.UNVERIFIED)


@drivers
def test_a_marked_answer_is_checked_like_any_thought_where_there_is_a_goal(driver):
    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": "1. ANSWER: 10 - 4 = 6\n2. ANSWER: 24"}
        return script(kind, inputs, n)

    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2, max_depth=1))
    found = call(program, engine(fn), driver, numbers=PUZZLE)
    assert found.search.status is SearchStatus.UNVERIFIED
    assert found.answer is None  # 24 was claimed, and is no move
    assert found.search.path == ["10-4=6"]


@drivers
def test_a_model_may_not_spoil_what_code_has_verified(driver):
    """answer="lm" closes a solved search in the model's words; if code refuses them, its own stand."""

    def fn(kind, inputs, n):
        return {"answer": "4 * 6"} if kind not in KINDS else script(kind, inputs, n)

    found = call(TreeOfThoughts(task=Game24(), controller=DFS(), answer="lm"), engine(fn), driver, numbers=PUZZLE)
    assert found.search.path == PATH
    assert found.answer == "(10 - 4) * (13 - 9)"
    assert found.search.status is SearchStatus.SOLVED


class Goal(Task):
    """A path can be a solution, and the words made of it may still be wrong."""

    signature = "question -> answer"

    def is_goal(self, state):
        return state[-1:] == ("b",)

    def check(self, fields):
        return fields["answer"] == "42"


@drivers
def test_refused_words_are_no_solution_though_the_path_is_one(driver):
    found = call(TreeOfThoughts(task=Goal(), controller=DFS()), thinks({"answer": "41"}), driver, question="q")
    assert found.search.path == ["b"]
    assert (found.answer, found.search.status) == ("41", SearchStatus.UNVERIFIED)
    found = call(TreeOfThoughts(task=Goal(), controller=DFS()), thinks({"answer": "42"}), driver, question="q")
    assert (found.answer, found.search.status) == ("42", SearchStatus.SOLVED)


# Verified by a reward


def short(inputs, prediction):
    return dspy.Prediction(score=1.0 / len(prediction.answer), feedback=f"{inputs['question']}: shorter")


@drivers
def test_a_reward_verifies_what_reaches_its_threshold(driver):
    good = answering(reward_fn=short, threshold=0.5)
    found = call(good, thinks({"answer": "42"}), driver, question="q")
    assert (found.search.status, found.search.reward, found.search.feedback) == (
        SearchStatus.SOLVED,
        0.5,
        "q: shorter",
    )
    found = call(good, thinks({"answer": "forty-two"}), driver, question="q")
    assert found.search.status is SearchStatus.UNVERIFIED
    assert found.search.reward == pytest.approx(1 / 9)
    assert found.answer == "forty-two"


@drivers
def test_a_rewarded_thought_that_falls_short_does_not_end_the_search(driver):
    model = thinks({"answer": "never asked"}, "1. ANSWER: forty-two\n2. ANSWER: 42")
    found = call(answering(reward_fn=lambda i, p: float(p.answer == "42"), threshold=1.0), model, driver, question="q")
    assert (found.answer, found.search.status) == ("42", SearchStatus.SOLVED)
    assert [n.value for n in found.search.tree if n.depth] == [0.0, 1.0]
    assert closings(model) == []


class Graded:
    """A reward that asks a model, and says so."""

    calls = 1

    def __init__(self):
        self.grade = dspy.Predict("answer -> grade: float")

    def __call__(self, inputs, prediction):
        return self.grade(answer=prediction.answer).grade


@drivers
@pytest.mark.parametrize("budget", [None, 6])
def test_a_reward_that_calls_a_model_is_counted(driver, budget):
    def fn(kind, inputs, n):
        if kind == ("grade",):
            return {"grade": "1.0" if inputs["answer"] == "42" else "0.1"}
        return thinks({"answer": "42"}, "1. ANSWER: 41\n2. think").fn(kind, inputs, n)

    model = Engine(fn, kinds=KINDS)
    found = call(answering(reward_fn=Graded(), threshold=0.9, budget=budget), model, driver, question="q")
    assert model.count(("grade",)) == 2  # the thought that stated an answer, and the closing answer
    assert found.search.spent.calls == model.count() == 5  # those, one proposal, one rating, the closing call
    assert (found.answer, found.search.status) == ("42", SearchStatus.SOLVED)


def test_a_reward_without_a_threshold_is_refused():
    with pytest.raises(ValueError, match=r"reward_fn=.*: give threshold= too"):
        answering(reward_fn=short)
    with pytest.raises(ValueError, match=r"threshold=0.5: .*; give reward_fn= too, which no file keeps"):
        answering(threshold=0.5)

    async def later(inputs, prediction):
        return 1.0

    with pytest.raises(TypeError, match="must be an ordinary function"):
        answering(reward_fn=later, threshold=1.0)


@drivers
@pytest.mark.parametrize("score", ["high", None, float("nan")])
def test_a_reward_that_is_no_number_is_an_error_and_no_score(driver, score):
    found = call(answering(reward_fn=lambda i, p: score, threshold=0.5), thinks({"answer": "42"}), driver, question="q")
    assert found.search.reward is None
    assert found.search.status is SearchStatus.UNVERIFIED
    assert "must be a finite number" in found.search.first_error


# Cheap first


@drivers
def test_a_direct_answer_that_code_accepts_ends_the_search_at_one_call(driver):
    model = thinks({"answer": "42"})
    first = TreeOfThoughts(task=Riddle(), controller=ONE, first="answer")
    found = call(first, model, driver, question="q")
    assert (found.answer, found.search.status, model.count()) == ("42", SearchStatus.SOLVED, 1)
    assert closings(model)[0].inputs["search_path"] == "(none yet)"


@drivers
def test_a_direct_answer_that_code_refuses_starts_the_search(driver):
    def fn(kind, inputs, n):
        return {"answer": "4 * 6"} if kind not in KINDS else script(kind, inputs, n)

    model = engine(fn)
    found = call(TreeOfThoughts(task=Game24(), controller=DFS(), first="answer"), model, driver, numbers=PUZZLE)
    assert found.search.path == PATH
    assert found.search.status is SearchStatus.SOLVED
    assert len(closings(model)) == 1
    direct = found.search.tree[1]
    assert direct.answer == {"answer": "4 * 6"}
    assert direct.status == "terminal"


def test_first_must_be_built_in():
    with pytest.raises(ValueError, match="first='answer': this program was built without that role"):
        call(TreeOfThoughts(task=Game24()), engine(), numbers=PUZZLE, config={"first": "answer"})
    model = thinks({"answer": "42"})
    call(TreeOfThoughts(task=Riddle(), controller=ONE), model, question="q", config={"first": "answer"})
    assert model.count() == 1  # it has the closing call's role


# Failure


@drivers
def test_a_failed_search_raises_where_that_is_asked_for(driver):
    hopeless = engine(lambda kind, inputs, n: {"next_thoughts": "1. 99 - 1 = 98"} if kind == "propose" else {})
    with pytest.raises(SearchFailed, match="failed") as caught:
        call(
            TreeOfThoughts(task=Game24(), controller=DFS(), on_failure="raise"),
            hopeless,
            driver,
            numbers=PUZZLE,
        )
    assert caught.value.result.status is SearchStatus.FAILED
    assert caught.value.result.rules_broken()
    found = call(TreeOfThoughts(task=Game24(), controller=DFS()), hopeless, driver, numbers=PUZZLE)
    assert found.answer is None
    assert found.search.status is SearchStatus.FAILED


def test_what_is_raised_names_the_first_error():
    def propose(inputs, node, n):
        raise LookupError("no such table")

    program = TreeOfThoughts(task=Game24(), propose=propose, rate=lambda inputs, node: 1.0, retries=0)
    with pytest.raises(SearchFailed, match=r"\(no step\) \[.*\]; first error: LookupError: no such table"):
        program(numbers=PUZZLE, config={"on_failure": "raise"})


def test_an_unverified_answer_raises_nothing():
    found = call(answering(on_failure="raise"), thinks({"answer": "42"}), question="q")
    assert found.answer == "42"


def test_the_closing_call_is_reserved_from_the_start():
    model = thinks({"answer": "42"})
    found = call(answering(budget=Budget(calls=3), controller=DFS(branching=2), concurrency=1), model, question="q")
    assert [c.kind if c.kind in KINDS else "answer" for c in model.calls] == ["propose", "rate", "answer"]
    assert found.answer == "42"
    with pytest.raises(ValueError, match="the closing call takes 1 of them"):
        call(answering(), model, question="q", config={"budget": 1})
