"""The contract of a task, one step in code, free text, and states on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import pytest
from pydantic import BaseModel

from thoughtree.search.protocol import Stepped
from thoughtree.tasks import Blocksworld, Crosswords, FreeText, Game24, Illegal, Programming, Task, Thought
from thoughtree.tasks.codec import state_type
from thoughtree.tasks.stepping import checks_goal, marked_answer, parse, step


class Countdown(Task[int, int]):
    """Subtract 1 to 3 from a number, to reach 0 exactly; 13 is bad luck, and nothing goes below -1."""

    def initial(self, inputs: Mapping[str, Any]) -> int:
        return int(inputs["start"])

    def parse(self, text: str, state: int) -> int | Illegal:
        return int(text) if text.isdigit() else Illegal("no number")

    def apply(self, state: int, action: int) -> int | Illegal:
        if action > 3:
            raise Illegal("more than 3")
        return state - action if action else Illegal("nothing taken")

    def rules(self, state: int) -> list[str]:
        return (["bad luck"] if state == 13 else []) + (["below -1"] if state < -1 else [])

    def moves(self, state: int) -> list[int]:
        return [n for n in (1, 2, 3) if state >= n]

    def key(self, state: int) -> int:
        return state

    def is_goal(self, state: int) -> bool:
        return state == 0


# One step


def test_step_gives_state_key_and_verdicts() -> None:
    task = Countdown()
    assert step(task, 5, 2) == Stepped(3, key=3)
    assert step(task, 3, 3) == Stepped(0, key=0, solved=True, terminal=True)
    assert step(task, 1, 2) == Stepped(-1, key=-1, terminal=True)  # no moves left, and no goal


@pytest.mark.parametrize(
    ("state", "action", "rule"),
    [
        (9, 4, "more than 3"),  # raised by apply
        (9, 0, "nothing taken"),  # returned by apply
        (15, 2, "bad luck"),  # the first broken rule
        (0, 3, "below -1"),
    ],
)
def test_a_forbidden_step_names_its_rule(state: int, action: int, rule: str) -> None:
    assert step(Countdown(), state, action) == Illegal(rule)


def test_parse_takes_text_and_lets_actions_through() -> None:
    task = Countdown()
    assert parse(task, 9, "2") == 2
    assert parse(task, 9, "two") == Illegal("no number")
    assert parse(task, 9, 3) == 3
    assert parse(task, 9, None) == Illegal("empty thought")


def test_parse_may_raise_illegal() -> None:
    class Strict(Task[str, str]):
        def parse(self, text: str, state: str) -> str:
            raise Illegal("never")

    assert parse(Strict(), "", "x") == Illegal("never")


def test_order_rules_before_key_before_goal_before_terminal() -> None:
    asked: list[str] = []

    class Watched(Task[str, str]):
        broken = False

        def apply(self, state: str, action: str) -> str:
            asked.append("apply")
            return state + action

        def rules(self, state: str) -> list[str]:
            asked.append("rules")
            return ["broken"] if self.broken else []

        def key(self, state: str) -> str:
            asked.append("key")
            return state

        def is_goal(self, state: str) -> bool:
            asked.append("is_goal")
            return state == "goal"

        def is_terminal(self, state: str) -> bool:
            asked.append("is_terminal")
            return False

    task = Watched()
    step(task, "", "a")
    assert asked == ["apply", "rules", "key", "is_goal", "is_terminal"]
    asked.clear()
    step(task, "", "goal")
    assert asked == ["apply", "rules", "key", "is_goal"]
    asked.clear()
    task.broken = True
    assert step(task, "", "goal") == Illegal("broken")
    assert asked == ["apply", "rules"]


@pytest.mark.parametrize("hook", ["parse", "apply", "rules", "is_goal", "is_terminal"])
def test_a_hook_that_forgets_its_result_is_an_error_not_a_verdict(hook: str) -> None:
    forgetful = type("Forgetful", (FreeText,), {hook: lambda *_: None})()
    with pytest.raises(TypeError, match=rf"Forgetful\.{hook} returned None"):
        step(forgetful, (), Thought("a")) if hook != "parse" else parse(forgetful, (), "a")


def test_check_that_returns_none_is_an_error() -> None:
    class Forgetful(FreeText):
        def check(self, fields: Mapping[str, Any]) -> bool:
            return None  # type: ignore[return-value]

    with pytest.raises(TypeError, match=r"Forgetful\.check returned None"):
        step(Forgetful(), (), Thought("a"))


def test_a_key_that_cannot_be_hashed_and_a_rule_that_is_a_text_are_errors() -> None:
    class Unhashable(Task[Any, Any]):
        def key(self, state: Any) -> Any:
            return [1]

    class OneText(Task[Any, Any]):
        def rules(self, state: Any) -> Any:
            return "too long"

    with pytest.raises(TypeError, match=r"Unhashable\.key returned a list that cannot be hashed"):
        step(Unhashable(), (), "a")
    with pytest.raises(TypeError, match=r"OneText\.rules returned the text 'too long'; return a list"):
        step(OneText(), (), "a")


def test_an_error_in_a_hook_is_not_swallowed() -> None:
    class Broken(FreeText):
        def is_goal(self, state: tuple[str, ...]) -> bool:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        step(Broken(), (), Thought("a"))


# ANSWER:


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("ANSWER: 42", "42"),
        ("answer:42", "42"),
        ("  **Answer:** 42", "42"),
        ("**Answer**: **42**", "**42**"),
        ("**ANSWER: 42**", "42"),
        ("### Answer: 42", "42"),
        ("`ANSWER: 42`", "42"),
        ("Answer： 42", "42"),
        ("ANSWER: ANSWER: 42", "42"),
        ("**Answer:** " * 3000 + "42", "42"),
        ("ANSWER: " * 500_000 + "42", "42"),  # in one pass, or this takes minutes
        ("ANSWER: `x = 1`\nprint(x)", "`x = 1`\nprint(x)"),
        ("ANSWER:", ""),
        ("The answer: 42", None),
        ("Answering: 42", None),
        ("so the ANSWER: 42", None),
        ("ANSWER 42", None),
    ],
)
def test_marked_answer(text: str, answer: str | None) -> None:
    assert marked_answer(text) == answer


def test_an_answer_that_nothing_can_check_is_claimed() -> None:
    for task in (FreeText(), Task[Any, Any]()):
        action = parse(task, ("think",), "**Answer:** 42")
        assert str(action) == "**Answer:** 42"
        outcome = step(task, ("think",), action)
        assert isinstance(outcome, Stepped)
        assert (outcome.solved, outcome.claimed, outcome.terminal, outcome.value) == (False, True, True, 1.0)
        assert FreeText().answer(outcome.state) == {"answer": "42"}


def test_an_answer_is_checked_like_any_thought_where_code_can() -> None:
    class Goal(FreeText):
        def is_goal(self, state: tuple[str, ...]) -> bool:
            return state[-1] == "42"

    class Check(FreeText):
        def check(self, fields: Mapping[str, Any]) -> bool | Illegal:
            return fields["answer"] == "42" or Illegal("not 42")

    for task in (Goal(), Check()):
        right: Any = parse(task, (), "ANSWER: 42")
        wrong: Any = parse(task, (), "ANSWER: 41")
        assert (str(right), str(wrong)) == ("42", "41")
        assert step(task, (), right) == Stepped(("42",), key=("42",), solved=True, terminal=True)
        assert step(task, (), wrong) == Stepped(("41",), key=("41",))
        assert task.answer(("think", "42")) == {"answer": "42"}
        assert task.answer(("42", "think")) == {}


def test_an_answer_of_nothing_is_illegal() -> None:
    assert parse(FreeText(), (), "ANSWER: ") == Illegal("empty answer")
    assert parse(Countdown(), 1, "**ANSWER:**") == Illegal("empty answer")


# Hooks and defaults


def test_has_tells_the_hooks_that_are_given() -> None:
    task = Countdown()
    assert {hook for hook in ("is_goal", "check", "moves", "rules", "value") if task.has(hook)} == {
        "is_goal",
        "moves",
        "rules",
    }
    assert not Task().has("parse")
    assert checks_goal(task)
    assert not checks_goal(FreeText())
    with pytest.raises(ValueError, match="hook='goal' is not one of answer, apply, check"):
        task.has("goal")


def test_has_sees_a_hook_set_on_the_instance() -> None:
    task = FreeText()
    task.is_goal = lambda state: state == ("x",)  # type: ignore[method-assign]
    assert task.has("is_goal")
    assert step(task, (), Thought("x")) == Stepped(("x",), key=("x",), solved=True, terminal=True)


def test_a_task_without_hooks_is_a_list_of_thoughts() -> None:
    task = Task[Any, Any]()
    assert task.for_inputs({"q": 1}) is task
    assert task.initial({"q": 1}) == ()
    assert task.parse("  go ", ()) == "go"
    assert task.parse("  ", ()) == Illegal("empty thought")
    assert step(task, ("go",), "on") == Stepped(("go", "on"))
    assert task.render(()) == "(nothing yet)"
    assert task.render(("go", "on")) == "1. go\n2. on"
    assert task.load(task.dump(("go", "on"))) == ("go", "on")
    assert (task.is_goal(()), task.is_terminal(()), task.solvable(()), task.key(())) == (
        False,
        False,
        None,
        None,
    )


def test_what_a_task_does_not_give_is_an_error_when_it_is_needed() -> None:
    task = Task[Any, Any]()
    for call in (
        lambda: task.moves(()),
        lambda: task.value(()),
        lambda: task.check({}),
        lambda: task.apply(3, 1),
    ):
        with pytest.raises(NotImplementedError, match="Task"):
            call()


# Free text


def test_thoughts_are_equal_up_to_case_spacing_and_the_final_stop() -> None:
    a, b = Thought("Add  the two."), Thought("add the two")
    assert a == b
    assert len({a, b, Thought("add the three")}) == 2
    assert str(a) == "Add  the two."


def test_free_text_keeps_the_words_and_keys_their_normal_form() -> None:
    task = FreeText()
    action: Any = parse(task, (), "  Try X.\n")
    assert step(task, ("Start",), action) == Stepped(("Start", "Try X."), key=("start", "try x"))
    assert task.render(("Start", "Try X.")) == "1. Start\n2. Try X."


@pytest.mark.parametrize("text", ["", "  \n", ".", " . "])
def test_free_text_refuses_blank_thoughts(text: str) -> None:
    assert parse(FreeText(), (), text) == Illegal("empty thought")


def test_free_text_answers_in_its_own_field() -> None:
    assert FreeText(output="total").answer(("a", "Answer: 7")) == {"total": "7"}
    assert FreeText().answer(("Answer: 7", "a")) == {}
    assert FreeText().answer(()) == {}


def test_free_text_has_an_answer_of_its_own_only_in_a_subclass_that_gives_one() -> None:
    class Last(FreeText):
        def answer(self, state: tuple[str, ...]) -> dict[str, Any]:
            return {"answer": state[-1]}

    assert not FreeText().has("answer")
    assert Last().has("answer")
    assert FreeText().has("key")


def test_a_task_is_made_again_from_its_config() -> None:
    assert FreeText().config() == Task[Any, Any]().config() == {}
    assert FreeText(**FreeText(output="total").config()).output == "total"


# States on disk


@dataclass(frozen=True)
class Place:
    at: tuple[int, int]
    seen: frozenset[int]
    share: Fraction


class Board(BaseModel):
    cells: dict[int, str]


class Plain:
    pass


S = TypeVar("S")
A = TypeVar("A")


class Base(Task[S, A], Generic[A, S]):
    pass


class PlaceTask(Base[str, Place]):
    pass


class Deeper(PlaceTask):
    pass


class BoardTask(Task[Board, str]):
    pass


class PlainTask(Task[Plain, str]):
    pass


class NamedTask(Task["Place", str]):
    pass


class Open(Task):  # type: ignore[type-arg]
    def initial(self, inputs: Mapping[str, Any]) -> Any:
        return 0


def test_the_state_type_is_found_through_generic_bases() -> None:
    assert state_type(PlaceTask) is Place
    assert state_type(Deeper) is Place
    assert state_type(NamedTask) is Place
    assert state_type(Base) is None
    assert state_type(Open) is None
    assert state_type(Task[Any, Any].__origin__) is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("task", "state"),
    [
        (Deeper(), Place((1, 2), frozenset({3, 4}), Fraction(1, 3))),
        (BoardTask(), Board(cells={1: "a"})),
        (FreeText(), ("a", "b")),
        (Open(), {"a": [1, None, 2.5]}),
    ],
)
def test_a_state_comes_back_from_json(task: Task[Any, Any], state: Any) -> None:
    assert task.load(json.loads(json.dumps(task.dump(state)))) == state


@pytest.mark.parametrize(
    ("task", "state"),
    [
        (Open(), (1, 2)),  # would come back as a list
        (Open(), {1: "a"}),
        (Open(), Plain()),
        (PlainTask(), Plain()),
        (PlaceTask(), "not a place"),
    ],
)
def test_a_state_that_cannot_be_written_names_task_type_and_mend(task: Task[Any, Any], state: Any) -> None:
    with pytest.raises(TypeError) as raised:
        task.dump(state)
    message = str(raised.value)
    assert message.startswith(f"{type(task).__name__}: a state of type {type(state).__name__} cannot be written")
    assert message.endswith("or override dump and load")


def test_loading_what_dump_never_wrote_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="BoardTask: not a state that dump wrote: 7"):
        BoardTask().load(7)


# Errors


@pytest.mark.parametrize(
    ("task", "inputs"),
    [
        (Game24(), {"numbers": "x" * 10_000}),
        (Game24(), {"numbers": [1] * 10_000}),
        (Game24(), {"question": "x" * 10_000}),
        (Blocksworld(), {"initial": "x " * 10_000, "goal": "on(a,b)"}),
        (Blocksworld(), {"initial": "on(a,b), ontable(b)", "goal": "on(a" * 5_000}),
        (Blocksworld(), {"question": "x" * 10_000}),
        (Crosswords(), {"clues": "x" * 10_000}),
        (Crosswords(), {"question": "x" * 10_000}),
        (Programming(), {"tests": "x" * 10_000}),
    ],
)
def test_an_error_of_a_huge_input_is_read_at_a_glance(task: Any, inputs: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"[;:] ") as raised:
        task.initial(inputs)
    assert len(str(raised.value)) < 1_000
