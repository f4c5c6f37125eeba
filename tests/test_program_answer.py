"""Output fields: by code, by a closing call, from the raw path; typed; verified or not, and saying so."""

from __future__ import annotations

from typing import Literal

import dspy
import pydantic
import pytest

from engines import lm, response
from freetext import answering, closings, thinks
from puzzle24 import KINDS, PUZZLE, call, drivers, engine, script
from thoughtree import DFS, Beam, Game24, SearchStatus, TreeOfThoughts


class Point(pydantic.BaseModel):
    x: int
    y: int


@drivers
def test_free_text_ends_with_one_closing_call(driver):
    model = thinks({"answer": "42"})
    found = call(answering(), model, driver, question="q")
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
    found = call(answering(answer="path"), thinks(), driver, question="q")
    assert found.answer == "a"
    deep = call(
        answering(answer="path", controller=Beam(branching=1, max_depth=2)),
        thinks(thoughts="1. a"),
        driver,
        question="q",
    )
    assert deep.answer == "a\na"
    listed = call(
        answering("question -> steps: list[str]", answer="path", controller=Beam(branching=1, max_depth=2)),
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
    found = call(answering(signature, propose=propose), model, driver, question="q")
    assert found.answer == value
    assert type(found.answer) is type(value)
    assert len(closings(model)) == (0 if marked else 1)


@drivers
def test_several_outputs_come_from_the_closing_call(driver):
    model = thinks({"title": "T", "pages": "3"}, "1. ANSWER: T")
    found = call(answering("question, tone -> title, pages: int"), model, driver, question="q", tone="dry")
    assert (found.title, found.pages) == ("T", 3)
    assert closings(model)[0].inputs["tone"] == "dry"
    assert list(found.keys()) == ["reasoning", "title", "pages"]


def test_a_reasoning_field_of_the_users_own_is_kept():
    found = call(answering("question -> reasoning, answer"), thinks({"reasoning": "why", "answer": "42"}), question="q")
    assert (found.reasoning, found.answer) == ("why", "42")


@drivers
def test_a_stated_answer_of_the_wrong_type_is_asked_for(driver):
    model = thinks({"answer": "7"}, "1. ANSWER: seven")
    found = call(answering("question -> answer: int"), model, driver, question="q")
    assert found.answer == 7
    assert len(closings(model)) == 1


# Where the closing call fails


@drivers
def test_a_lost_closing_call_leaves_the_candidate_by_its_type(driver):
    def broken(inputs, n):
        raise ValueError("no")

    text = call(answering(), thinks(broken), driver, question="q")
    assert text.answer == "a"
    number = call(answering("question -> answer: int"), thinks(broken), driver, question="q")
    assert number.answer is None
    assert number.search.status is SearchStatus.UNVERIFIED
    assert number.search.failed == 1


@drivers
def test_an_unreadable_closing_reply_is_asked_for_once_more(driver):
    model = thinks(lambda inputs, n: {"answer": "not yet" if n == 4 else "5"})
    found = call(answering("question -> answer: int", concurrency=1), model, driver, question="q")
    assert found.answer == 5
    assert len(closings(model)) == 2
    assert found.search.unread == {"answer": 1}


@drivers
def test_an_empty_or_cut_closing_reply_is_no_answer(driver):
    def fn(inputs, n):
        if n == 4:
            return response("", finish="length")
        return response("[[ ## answer ## ]]\nIt is forty", finish="length")

    found = call(answering(concurrency=1), lm(thinks(fn), max_tokens=50), driver, question="q")
    assert found.search.unread == {"answer": 2}
    assert found.answer == "a"  # the candidate's own words, and not half an answer


def test_an_output_that_may_be_missing_may_be():
    found = call(
        answering("question -> answer: str, note: int | None"),
        thinks({"answer": "42", "note": "null"}),
        question="q",
    )
    assert (found.answer, found.note) == ("42", None)


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
