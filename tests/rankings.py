"""A problem whose best settings are known: a beam solves it if, and only if, it is as wide as the example's `need`.

The right first step is the `need`-th best by its value, and only the step after it shows that. Code rates, so that a
search makes one call for the root and one for each state that it keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dspy

from thoughtree import Beam, Illegal, Task, TreeOfThoughts
from thoughtree.testing import RuleLM

State = tuple[int, ...]
BRANCHING = 8


class Ranking(Task[tuple[int, State], int]):
    signature = "need -> place"

    def initial(self, inputs: Mapping[str, Any]) -> tuple[int, State]:
        return int(inputs["need"].partition("#")[0]), ()

    def parse(self, text: str, state: tuple[int, State]) -> int | Illegal:
        return int(text) if text.isdigit() else Illegal("no place")

    def apply(self, state: tuple[int, State], action: int) -> tuple[int, State]:
        return state[0], (*state[1], action)

    def render(self, state: tuple[int, State]) -> str:
        return " ".join(map(str, state[1])) or "nothing"

    def is_goal(self, state: tuple[int, State]) -> bool:
        return state[1] == (state[0], 1)

    def value(self, state: tuple[int, State]) -> float:
        return 1 - state[1][0] / 10 - (state[1][1] / 100 if len(state[1]) > 1 else 0)

    def answer(self, state: tuple[int, State]) -> dict[str, Any]:
        return {"place": str(state[1][0]) if state[1] else ""}


def program(width: int = 1, **given: Any) -> TreeOfThoughts:
    return TreeOfThoughts(
        task=Ranking(), controller=Beam(width=width, branching=BRANCHING, max_depth=2), concurrency=1, **given
    )


def model() -> dspy.LM:
    return RuleLM(propose=lambda inputs, n: [str(place) for place in range(1, (n or BRANCHING) + 1)])


def examples(needs: list[int]) -> list[dspy.Example]:
    """All different, so that none shares its calls with another."""
    return [dspy.Example(need=f"{need}#{i}").with_inputs("need") for i, need in enumerate(needs)]
