"""One step in code, in the one order that holds everywhere. Pure functions: the search core calls them.

Parse; (the same action among siblings: the core's job); apply; rules; key; goal; terminal. So an illegal
move never reaches a model, and a state that code verified is never rated.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any, TypeVar

from ..search.protocol import Illegal, Stepped
from .task import Task

S = TypeVar("S")
A = TypeVar("A")

MARK = re.compile(r"[\s>#]*+(?P<open>[*_`~]*+)\s*+answer\s*+(?P<shut>[*_`~]*+)\s*+[:：]", re.IGNORECASE)
CLAIMED_VALUE = 1.0  # of an answer that nothing in code can check


def marked_answer(text: str) -> str | None:
    """What follows `ANSWER:` at the start of `text`, without the emphasis around it; None if unmarked."""
    start, end, marked = 0, len(text), False
    while mark := MARK.match(text, start, end):  # by place: a model that repeats the mark for ever costs no copies
        marked = True
        start, end = _stripped(text, mark.end(), end)
        emphasis = mark["open"] if not mark["shut"] else ""
        if emphasis and text.startswith(emphasis, start, end):  # **ANSWER:** 42
            start += len(emphasis)
        elif text.endswith(emphasis, start, end):  # **ANSWER: 42**
            end -= len(emphasis)
        start, end = _stripped(text, start, end)
    return text[start:end] if marked else None


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of `text` between these places, without the white space at its ends."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def checks_goal(task: Task[Any, Any]) -> bool:
    """Can this task tell a solution from a claim?"""
    return task.has("is_goal") or task.has("check")


def parse(task: Task[S, A], state: S, text: Any) -> A | Illegal:
    """The action that one proposal means. What is not text is an action already; None is no proposal."""
    if text is None:
        return Illegal("empty thought")
    if not isinstance(text, str):
        action: A = text
        return action
    answer = marked_answer(text)
    if answer == "":
        return Illegal("empty answer")
    if answer is not None and checks_goal(task):
        text = answer
    try:
        parsed: A | Illegal = given(task, "parse", task.parse(text, state))
    except Illegal as verdict:
        return verdict
    return parsed


def step(task: Task[S, A], state: S, action: A) -> Stepped | Illegal:
    """Where `action` leads from `state`, or the rule that forbids it."""
    try:
        new: S | Illegal = given(task, "apply", task.apply(state, action))
    except Illegal as verdict:
        return verdict
    if isinstance(new, Illegal):
        return new
    if task.has("rules"):
        broken = given(task, "rules", task.rules(new))
        if isinstance(broken, str):
            raise TypeError(f"{task.__class__.__name__}.rules returned the text {broken!r}; return a list")
        for rule in broken:
            return Illegal(rule)
    key = hashable(task, task.key(new))
    if checks_goal(task):
        if solves(task, new):
            return Stepped(new, key, solved=True, terminal=True)
    elif marked_answer(task.show(action)) is not None:
        return Stepped(new, key, claimed=True, terminal=True, value=CLAIMED_VALUE)
    terminal = bool(given(task, "is_terminal", task.is_terminal(new)))
    return Stepped(new, key, terminal=terminal, unjudged=terminal and not checks_goal(task))


def rests(task: Task[Any, Any]) -> bool:
    """Whether there is anything to be left as it was found."""
    return callable(getattr(getattr(task, "env", task), "rest", None))


def rest(task: Task[Any, Any]) -> None:
    """The search is over: whatever the task steps is left as it was found. Most tasks step nothing."""
    end = getattr(task, "rest", None)
    if end is not None:
        end()


def solves(task: Task[S, Any], state: S) -> bool:
    """Does code prove this state a solution? By `is_goal`, or else by `check` of the answer it holds."""
    if task.has("is_goal"):
        return bool(given(task, "is_goal", task.is_goal(state)))
    if not task.has("check"):
        return False
    fields = given(task, "answer", task.answer(state))
    return bool(fields) and accepts(task, fields)


def accepts(task: Task[Any, Any], fields: dict[str, Any]) -> bool:
    """Does the task's `check` accept these output fields? An `Illegal`, returned or raised, is a no."""
    try:
        verdict = given(task, "check", task.check(fields))
    except Illegal:
        return False
    return not isinstance(verdict, Illegal) and bool(verdict)


def given(task: Task[Any, Any], hook: str, result: Any) -> Any:
    """`result`, unless the hook forgot to return one: that is a bug in the task, and no verdict."""
    if result is None:
        raise TypeError(f"{task.__class__.__name__}.{hook} returned None; return a result on every path")
    return result


def hashable(task: Task[Any, Any], key: Hashable | None) -> Hashable | None:
    try:
        hash(key)
    except TypeError as error:
        raise TypeError(
            f"{task.__class__.__name__}.key returned a {type(key).__name__} that cannot be hashed ({error});"
            " return a tuple, a frozenset or a string"
        ) from error
    return key
