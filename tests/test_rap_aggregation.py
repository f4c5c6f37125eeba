"""Many paths, one answer: what the most reward stands behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dspy
import pytest

from engines import Engine, lm
from thoughtree import MCTS, RAP, SearchStatus, Task

# Of each path of two turns: where it ends, and whether its last turn is called good.
ENDS = {"left left": "cave", "left right": "hill", "right left": "hill", "right right": "hill"}
SAID_GOOD = {"left left": True, "left right": False, "right left": True, "right right": True}


@dataclass(frozen=True)
class Place:
    facts: frozenset[str]
    turns: tuple[str, ...] = ()


class Paths(Task[Place, str]):
    """Two turns lead somewhere, and nothing can tell whether that is right."""

    signature = "question -> place"

    def initial(self, inputs: Any) -> Place:
        return Place(frozenset())

    def moves(self, state: Place) -> list[str]:
        return [] if len(state.turns) == 2 else ["left", "right"]

    def apply(self, state: Place, action: str) -> Place:
        return Place(frozenset({f"at({action})"}), (*state.turns, action))

    def predicted(self, state: Place, action: str, facts: Any) -> Place:
        return Place(frozenset(facts), (*state.turns, action))

    def answer(self, state: Place) -> dict[str, Any]:
        return {"place": ENDS[" ".join(state.turns)]} if len(state.turns) == 2 else {}


def judge(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    turns = " ".join(line.split(". ", 1)[1] for line in inputs["search_path"].splitlines())
    if "step_verdict" in kind:
        good = SAID_GOOD.get(turns, turns == "left")
        return {"step_reasoning": "r", "step_verdict": "yes" if good else "no"}
    return {"place": "closing"}


def solve(aggregate: bool) -> Any:
    controller = MCTS(rollouts=6, branching=2, max_depth=2)
    program = RAP(
        task=Paths(), propose="moves", transition="replace", aggregate=aggregate, controller=controller, concurrency=1
    )
    with dspy.context(lm=lm(Engine(judge))):
        return program(question="q")


@pytest.mark.parametrize(("aggregate", "place"), [(False, "cave"), (True, "hill")])
def test_the_answer_is_the_one_with_the_most_reward_behind_it(aggregate: bool, place: str) -> None:
    # The cave: (1 + 1) / 2 = 1. The hill: (1 + 0) / 2, (0 + 1) / 2 and (0 + 1) / 2, 1.5 in all.
    found = solve(aggregate)
    assert found.place == place
    assert found.search.status is SearchStatus.UNVERIFIED
    assert ENDS[" ".join(found.search.path)] == place
