"""What a finished search tells of its nodes, and what it does not."""

from __future__ import annotations

from typing import Any

import dspy
import pytest

from engines import Engine, lm
from puzzle24 import PUZZLE, call, engine
from stacking import GOAL, START, world
from thoughtree import DFS, RAP, Beam, Blocksworld, Game24, Illegal, Task, TreeOfThoughts
from thoughtree.optimize.hindsight import Label, Why, labels
from thoughtree.search import Budget
from thoughtree.search.tree import NodeStatus
from worlds import Letters


class Words(Task[str, str]):
    """Of the world below: what follows is listed, and nobody knows what can be solved."""

    def __init__(self, steps: dict[str, str]) -> None:
        self.steps = steps

    def key(self, state: str) -> str:
        return state

    def moves(self, state: str) -> str:
        return self.steps.get(state, "")

    def apply(self, state: str, action: str) -> str:
        return state + action


class Silent(Task[str, str]):
    """Lists nothing."""

    def key(self, state: str) -> str:
        return state


STEPS = {"": "ab", "a": "cd", "b": "ef"}
ENDS = ("ac", "ad", "be", "bf")


def searched(world: Letters, task: Any, controller: Any = None) -> Any:
    return world.run(controller or DFS(branching=None, threshold=None, max_depth=4)).replace(task=task)


def named(result: Any, **given: Any) -> dict[str, tuple[bool, Why]]:
    found = labels(result, **given)
    return {str(result.tree[id].state): (label.truth, label.why) for id, label in found.items()}


def test_the_path_to_a_solution_is_good_and_what_was_searched_out_is_bad():
    result = searched(Letters(STEPS, goals=("be",), ends=ENDS), Words(STEPS))
    assert named(result) == {
        "": (True, Why.SOLUTION),
        "b": (True, Why.SOLUTION),
        "be": (True, Why.SOLUTION),
        "a": (False, Why.EXHAUSTED),
        "ac": (False, Why.WRONG),
        "ad": (False, Why.WRONG),
    }


def test_a_move_that_nobody_tried_keeps_its_state_unlabelled():
    """The proposer names c alone, where the task knows of d as well."""
    result = searched(Letters({"": "ab", "a": "c", "b": "ef"}, goals=("be",), ends=ENDS), Words(STEPS))
    assert "a" not in named(result)
    assert named(result)["ac"] == (False, Why.WRONG)


def test_what_was_not_searched_out_is_unlabelled_never_negative():
    """Below a nothing was searched: the depth is used up there."""
    world = Letters({"": "ab", "a": "cd", "b": "ef", "ac": "g"}, ends=("ad", "be", "bf"))
    result = searched(world, Words(world.steps), DFS(branching=None, threshold=None, max_depth=2))
    found = named(result)
    assert "ac" not in found
    assert "a" not in found
    assert "" not in found
    assert found["b"] == (False, Why.EXHAUSTED)


def test_pruned_nodes_are_unlabelled():
    result = searched(
        Letters(STEPS, values={"a": 0.0}, goals=("be",), ends=ENDS), Words(STEPS), DFS(branching=None, threshold=0.5)
    )
    assert next(n for n in result.tree if n.state == "a").status is NodeStatus.PRUNED
    assert "a" not in named(result)


def test_a_budget_that_ends_early_leaves_no_negatives_above_it():
    """One call for the root, two ratings, one call for a: b is never expanded."""
    controller = DFS(branching=None, threshold=None, max_depth=4)
    result = Letters(STEPS, ends=ENDS).run(controller, budget=Budget(calls=4)).replace(task=Words(STEPS))
    assert named(result) == {"a": (False, Why.EXHAUSTED), "ac": (False, Why.WRONG), "ad": (False, Why.WRONG)}


@pytest.mark.parametrize("trusted", [False, True])
def test_where_moves_are_not_listed_the_proposer_must_be_trusted(trusted: bool):
    result = searched(Letters(STEPS, goals=("be",), ends=ENDS), Silent())
    found = named(result, proposals_are_all=trusted)
    assert ("a" in found) is trusted
    assert found["b"] == (True, Why.SOLUTION)


def test_an_illegal_step_is_no_way_on():
    steps = {"": "ab", "a": "cx", "b": "ef"}
    result = searched(Letters(steps, goals=("be",), ends=ENDS, illegal="x"), Silent())
    assert named(result, proposals_are_all=True)["a"] == (False, Why.EXHAUSTED)


def test_a_duplicate_has_the_label_of_the_state_that_it_is():
    steps = {"": "ab", "a": "b", "b": "a", "ab": "c"}
    world = Letters(steps, ends=("abc", "bac"), key=lambda state: "".join(sorted(state)))
    result = searched(world, Silent())
    duplicate = next(node for node in result.tree if node.status is NodeStatus.DUPLICATE)
    found = labels(result, proposals_are_all=True)
    assert found[duplicate.id] == Label(False, Why.EXHAUSTED) == found[duplicate.reason]


def test_code_knows_of_states_that_nobody_searched():
    result = call(TreeOfThoughts(task=Game24(), controller=DFS(), concurrency=1), engine(), numbers=PUZZLE).search
    found = {result.task.render(result.tree[id].state): label for id, label in labels(result).items()}
    assert {state: label.truth for state, label in found.items()} == {
        "4 9 10 13": True,
        "6 9 13": True,
        "4 6": True,
        "24": True,
        "10 13 13": False,
        "9 10 52": False,
        "13 15": False,
        **dict.fromkeys(("10", "28", "2", "195"), False),  # below 4 6 and 13 15
    }
    assert found["6 9 13"].why is Why.SOLUTION
    assert found["13 15"].why is Why.UNSOLVABLE


def test_a_yes_of_code_that_never_says_no_tells_nothing():
    class Reversible(Words):
        def solvable(self, state: str) -> bool:
            return True

    result = searched(Letters(STEPS, goals=("be",), ends=("ac", "be", "bf"), values={"a": 0.0}), Reversible(STEPS))
    found = named(result)
    assert found["b"] == (True, Why.SOLUTION)
    assert "ad" not in found  # code would call it solvable, as it calls everything


def test_what_the_metric_says():
    world = Letters({"": "ab", "a": "c"}, values={"a": 2.0, "ac": 3.0})
    result = searched(world, Silent(), Beam(width=1, max_depth=2, branching=None))
    assert named(result) == {}
    assert named(result, accepted=True) == dict.fromkeys(("", "a", "ac"), (True, Why.METRIC))
    refused = searched(Letters(STEPS, goals=("be",), ends=ENDS), Silent())
    assert "b" not in named(refused, accepted=False)


DREAM = "on(blue,green)\nontable(green)\nontable(red)\nclear(blue)\nclear(red)\nhandempty"


def test_a_dream_of_a_solution_is_none():
    """A world model says after one step that the goal holds; the task's own rules know better."""

    def dreaming(kind: Any, inputs: Any, n: int) -> Any:
        return {"next_state": DREAM} if "next_state" in kind else world(kind, inputs, n)

    def run(reply: Any) -> Any:
        program = RAP(task=Blocksworld(), controller=Beam(width=2, branching=None, max_depth=4), concurrency=1)
        with dspy.context(lm=lm(Engine(reply))):
            return program(initial=START, goal=GOAL).search

    dreamt = run(dreaming)
    assert dreamt.solved  # as far as it was predicted
    assert labels(dreamt) == {}
    assert labels(dreamt, accepted=True) == {}
    real = run(world)
    assert [labels(real)[node.id].why for node in real.tree.path(real.best)] == [Why.SOLUTION] * 5


class Forbidding(Letters):
    """Says of d that it is illegal, which code would take."""

    def step(self, state: str, action: str) -> Any:
        return Illegal("no d") if action == "d" else super().step(state, action)


def test_what_is_wrongly_forbidden_is_not_exhausted():
    assert named(searched(Letters(STEPS, goals=("be",), ends=ENDS), Words(STEPS)))["a"] == (False, Why.EXHAUSTED)
    lied_to = named(searched(Forbidding(STEPS, goals=("be",), ends=ENDS), Words(STEPS)))
    assert lied_to["ac"] == (False, Why.WRONG)
    assert "a" not in lied_to
