"""The task of a problem about which code knows nothing: thoughts in plain words."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..search.protocol import Illegal
from .stepping import accepts, marked_answer
from .task import Task


def normal_form(text: str) -> str:
    """`text` without what makes no other thought of it: case, spacing, the final stop."""
    return _remembered(text) if len(text) <= LONGEST else _normal_form(text)


def _normal_form(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .。．")


# A path's thoughts are compared at each of its steps. Long ones are worked out again: they would stay for ever.
_remembered = lru_cache(maxsize=1024)(_normal_form)
LONGEST = 2000  # characters


@dataclass(frozen=True, slots=True)
class Thought:
    """One thought as it was written. Two are equal when their normal forms are."""

    text: str = field(compare=False)
    same: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "same", normal_form(self.text))

    def __str__(self) -> str:
        return self.text


class FreeText(Task[tuple[str, ...], Thought]):
    """Thoughts in plain words; the state is the tuple of them. Nothing is checked.

    A thought marked `ANSWER:` gives the field `output`. A subclass with `is_goal` or `check` makes every
    thought a candidate: the last thought of a state is its answer if the subclass accepts it.
    """

    def __init__(self, output: str = "answer") -> None:
        self.output = output

    def has(self, hook: str) -> bool:
        """As for any task, but ours of `answer` does not count: it waits for a thought to say one."""
        return super().has(hook) and not (hook == "answer" and type(self).answer is FreeText.answer)

    def config(self) -> dict[str, Any]:
        return {} if self.output == "answer" else {"output": self.output}

    def initial(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        return ()

    def parse(self, text: str, state: tuple[str, ...]) -> Thought | Illegal:
        thought = Thought(text.strip())
        return thought if thought.same else Illegal("empty thought")

    def apply(self, state: tuple[str, ...], action: Thought) -> tuple[str, ...] | Illegal:
        return (*state, str(action))

    def key(self, state: tuple[str, ...]) -> Hashable | None:
        return tuple(map(normal_form, state))

    def answer(self, state: tuple[str, ...]) -> dict[str, Any]:
        if not state:
            return {}
        marked = marked_answer(state[-1])
        fields = {self.output: state[-1] if marked is None else marked}
        return fields if marked is not None or self._accepts(state, fields) else {}

    def _accepts(self, state: tuple[str, ...], fields: dict[str, Any]) -> bool:
        if self.has("is_goal"):
            return bool(self.is_goal(state))
        return self.has("check") and accepts(self, fields)
