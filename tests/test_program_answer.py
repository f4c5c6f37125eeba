"""Output fields: by code, by a closing call, from the raw path; typed; verified or not, and saying so."""

from __future__ import annotations

from typing import Literal

import dspy
import pydantic
import pytest

from engines import Engine, lm, response
from puzzle24 import KINDS, PATH, PUZZLE, call, drivers, engine, script
from thoughtree import DFS, Beam, Budget, Game24, SearchFailed, SearchStatus, Task, TreeOfThoughts

ONE = Beam(width=5, branching=2, max_depth=1)


class Point(pydantic.BaseModel):
    x: int
    y: int


def thinks(answer=None, thoughts="1. a\n2. b"):
    """Proposes, finds everything good, and answers with these fields (or by a function of the inputs)."""

    def fn(kind, inputs, n):
        if kind == "propose":
            return {"next_thoughts": thoughts}
        if kind == "rate":
            return {"rating_reasoning": "r", "thought_rating": "sure"}
        return answer(inputs, n) if callable(answer) else answer

    return Engine(fn, kinds=KINDS)


def program(signature="question -> answer", **knobs):
    return TreeOfThoughts(signature, **{"controller": ONE, **knobs})


def closings(model):
    return [c for c in model.calls if c.kind not in KINDS]


@drivers
def test_free_text_ends_with_one_closing_call(driver):
    model = thinks({"answer": "42"})
    found = call(program(), model, driver, question="q")
    assert found.answer == "42"
    assert found.search.status is SearchStatus.UNVERIFIED
    assert found.search.answer == {"answer": "42"}
    (closing,) = closings(model)
    assert closing.inputs == {"question": "q", "search_path": "1. a"}
    assert found.search.spent_by["answer"].calls == 1


@drivers
def test_code_answers_where_it_can(driver):
    model = engine()
    found = call(TreeOfThoughts(task=Game24(), controller=DFS()), model, driver, numbers=PUZZLE)
    assert found.answer == "(10 - 4) * (13 - 9)"
    assert closings(model) == []
    assert TreeOfThoughts(task=Game24()).answer is None


@drivers
def test_the_raw_path_is_an_answer(driver):
    found = call(program(answer="path"), thinks(), driver, question="q")
    assert found.answer == "a"
    deep = call(
        program(answer="path", controller=Beam(branching=1, max_depth=2)),
        thinks(thoughts="1. a"),
        driver,
        question="q",
    )
    assert deep.answer == "a\na"
    listed = call(
        program("question -> steps: list[str]", answer="path", controller=Beam(branching=1, max_depth=2)),
        thinks(thoughts="1. a"),
        driver,
        question="q",
    )
    assert listed.steps == ["a", "a"]


@drivers
@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        ("int", "42", 42),
        ("list[str]", '["a", "b"]', ["a", "b"]),
        ("Literal['yes', 'no']", "no", "no"),
        ("bool", "true", True),
        ("float | None", "2.5", 2.5),
        ("Point", '{"x": 1, "y": 2}', Point(x=1, y=2)),
    ],
)
@pytest.mark.parametrize("marked", [False, True])
def test_answers_have_the_type_that_was_asked_for(driver, kind, said, value, marked):
    signature = dspy.Signature(f"question -> answer: {kind}", custom_types={"Point": Point, "Literal": Literal})
    model = thinks({"answer": said})
    propose = (lambda inputs, node, n: [f"ANSWER: {said}"]) if marked else "lm"
    found = call(program(signature, propose=propose), model, driver, question="q")
    assert found.answer == value
    assert type(found.answer) is type(value)
    assert len(closings(model)) == (0 if marked else 1)


@drivers
def test_several_outputs_come_from_the_closing_call(driver):
    model = thinks({"title": "T", "pages": "3"}, "1. ANSWER: T")
    found = call(program("question, tone -> title, pages: int"), model, driver, question="q", tone="dry")
    assert (found.title, found.pages) == ("T", 3)
    assert closings(model)[0].inputs["tone"] == "dry"
    assert list(found.keys()) == ["reasoning", "title", "pages"]


def test_a_reasoning_field_of_the_users_own_is_kept():
    found = call(program("question -> reasoning, answer"), thinks({"reasoning": "why", "answer": "42"}), question="q")
    assert (found.reasoning, found.answer) == ("why", "42")


@drivers
def test_a_stated_answer_of_the_wrong_type_is_asked_for(driver):
    model = thinks({"answer": "7"}, "1. ANSWER: seven")
    found = call(program("question -> answer: int"), model, driver, question="q")
    assert found.answer == 7
    assert len(closings(model)) == 1


# Where the closing call fails


@drivers
def test_a_lost_closing_call_leaves_the_candidate_by_its_type(driver):
    def broken(inputs, n):
        raise ValueError("no")

    text = call(program(), thinks(broken), driver, question="q")
    assert text.answer == "a"
    number = call(program("question -> answer: int"), thinks(broken), driver, question="q")
    assert number.answer is None
    assert number.search.status is SearchStatus.UNVERIFIED
    assert number.search.failed == 1


@drivers
def test_an_unreadable_closing_reply_is_asked_for_once_more(driver):
    model = thinks(lambda inputs, n: {"answer": "not yet" if n == 4 else "5"})
    found = call(program("question -> answer: int", concurrency=1), model, driver, question="q")
    assert found.answer == 5
    assert len(closings(model)) == 2
    assert found.search.unread == {"answer": 1}


@drivers
def test_an_empty_or_cut_closing_reply_is_no_answer(driver):
    def fn(inputs, n):
        if n == 4:
            return response("", finish="length")
        return response("[[ ## answer ## ]]\nIt is forty", finish="length")

    found = call(program(concurrency=1), lm(thinks(fn), max_tokens=50), driver, question="q")
    assert found.search.unread == {"answer": 2}
    assert found.answer == "a"  # the candidate's own words, and not half an answer


def test_an_output_that_may_be_missing_may_be():
    found = call(
        program("question -> answer: str, note: int | None"),
        thinks({"answer": "42", "note": "null"}),
        question="q",
    )
    assert (found.answer, found.note) == ("42", None)


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
    good = program(reward_fn=short, threshold=0.5)
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
    found = call(program(reward_fn=lambda i, p: float(p.answer == "42"), threshold=1.0), model, driver, question="q")
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
    found = call(program(reward_fn=Graded(), threshold=0.9, budget=budget), model, driver, question="q")
    assert model.count(("grade",)) == 2  # the thought that stated an answer, and the closing answer
    assert found.search.spent.calls == model.count() == 5  # those, one proposal, one rating, the closing call
    assert (found.answer, found.search.status) == ("42", SearchStatus.SOLVED)


def test_a_reward_without_a_threshold_is_refused():
    for knobs in ({"reward_fn": short}, {"threshold": 0.5}):
        with pytest.raises(ValueError, match="a reward needs the score at which an answer counts as verified"):
            program(**knobs)

    async def later(inputs, prediction):
        return 1.0

    with pytest.raises(TypeError, match="must be an ordinary function"):
        program(reward_fn=later, threshold=1.0)


@drivers
@pytest.mark.parametrize("score", ["high", None, float("nan")])
def test_a_reward_that_is_no_number_is_an_error_and_no_score(driver, score):
    found = call(program(reward_fn=lambda i, p: score, threshold=0.5), thinks({"answer": "42"}), driver, question="q")
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


def test_an_unverified_answer_raises_nothing():
    found = call(program(on_failure="raise"), thinks({"answer": "42"}), question="q")
    assert found.answer == "42"


def test_the_closing_call_is_reserved_from_the_start():
    model = thinks({"answer": "42"})
    found = call(program(budget=Budget(calls=3), controller=DFS(branching=2), concurrency=1), model, question="q")
    assert [c.kind if c.kind in KINDS else "answer" for c in model.calls] == ["propose", "rate", "answer"]
    assert found.answer == "42"
    with pytest.raises(ValueError, match="the closing call takes 1 of them"):
        call(program(), model, question="q", config={"budget": 1})


# Fields that code leaves open, and problems that are solved as they are


@drivers
def test_what_code_leaves_open_is_asked_for_and_what_it_knows_stands(driver):
    def fn(kind, inputs, n):
        return {"answer": "wrong", "why": "because"} if kind not in KINDS else script(kind, inputs, n)

    model = engine(fn)
    both = TreeOfThoughts("numbers -> answer, why", task=Game24(), controller=DFS())
    found = call(both, model, driver, numbers=PUZZLE)
    assert (found.answer, found.why) == ("(10 - 4) * (13 - 9)", "because")
    assert found.search.status is SearchStatus.SOLVED
    assert len(closings(model)) == 1
    assert both.estimate().calls["answer"] == 1


@drivers
def test_a_root_that_is_a_goal_needs_no_call(driver):
    found = call(TreeOfThoughts(task=Game24(), controller=DFS()), engine(), driver, numbers="24")
    assert (found.answer, found.search.status, found.search.ended) == ("24", SearchStatus.SOLVED, "goal")
    assert found.search.spent.calls == 0
    assert found.search.path == []
    words = TreeOfThoughts("numbers -> answer, why", task=Game24())
    model = thinks({"answer": "x", "why": "it is"})
    found = call(words, model, driver, numbers="24")
    assert (found.answer, found.why, model.count()) == ("24", "it is", 1)
