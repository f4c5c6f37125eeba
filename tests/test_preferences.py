"""Preference pairs: which sibling is chosen, which is rejected, why, and in which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dspy
import pytest

from engines import Engine, lm
from puzzle24 import PUZZLE, call, engine, script
from test_lats import Runner, actor
from thoughtree import (
    DFS,
    LATS,
    MCTS,
    Beam,
    Game24,
    SearchResult,
    TreeOfThoughts,
    preference_pairs,
)

EXAMPLE = dspy.Example(numbers=PUZZLE).with_inputs("numbers")
# Of 4 9 10 13: from the root, the first step; from 6 9 13, the second; from 4 6, the last.
KNOWN = {
    ("10 - 4 = 6", "4 + 9 = 13"),
    ("10 - 4 = 6", "13 * 4 = 52"),
    ("13 - 9 = 4", "6 + 9 = 15"),
    ("6 * 4 = 24", "4 + 6 = 10"),
}


def solver(**knobs: Any) -> TreeOfThoughts:
    return TreeOfThoughts(task=Game24(), **{"controller": Beam(width=3, branching=3), "concurrency": 1, **knobs})


def found(program: Any, fn: Any = script, **given: Any) -> Any:
    return call(program, engine(fn), numbers=PUZZLE, **given)


def steps(row: dict[str, Any]) -> tuple[str, str]:
    """What is chosen and what is rejected, as the proposer would reply."""

    def said(messages: list[dict[str, str]]) -> str:
        (message,) = messages
        assert message["role"] == "assistant"
        text = message["content"].removeprefix("[[ ## next_thoughts ## ]]\n1. ")
        return text.partition("\n")[0].partition(" (left")[0]

    return said(row["chosen"]), said(row["rejected"])


def test_steps_that_a_solution_follows_against_siblings_that_code_refutes():
    program = solver()
    pairs = preference_pairs(found(program), program)
    assert {steps(row) for row in pairs} == KNOWN
    assert {row["chosen_why"] for row in pairs} == {"a solution follows"}
    whys = {steps(row)[1]: row["rejected_why"] for row in pairs}
    assert whys["13 * 4 = 52"] == "code says that it cannot be solved"
    assert len(pairs) == len(KNOWN)  # none twice


def test_the_nodes_are_siblings_of_one_tree():
    program = solver()
    prediction = found(program)
    tree = prediction.search.tree
    for row in preference_pairs(prediction, program):
        good, bad = tree[row["chosen_node"]], tree[row["rejected_node"]]
        assert good.parent == bad.parent == row["node"]
        assert (good.value, bad.value) == (row["chosen_value"], row["rejected_value"])


def test_the_prompt_is_the_proposers_own_for_one_step():
    program = solver()
    row = next(row for row in preference_pairs(found(program), program) if row["node"] == 0)
    system, user = row["prompt"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert "Make 24 from the given numbers" in system["content"]
    assert f"[[ ## numbers ## ]]\n{PUZZLE}" in user["content"]
    assert "[[ ## num_thoughts ## ]]\n1\n" in user["content"]
    assert row["chosen"][0]["content"].endswith("[[ ## completed ## ]]\n")


def test_an_illegal_step_is_rejected_by_its_rule():
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        told = script(kind, inputs, n)
        return {"next_thoughts": told["next_thoughts"] + "\n4. 7 + 9 = 16"} if kind == "propose" else told

    program = solver(controller=DFS(branching=4))
    pairs = preference_pairs(found(program, fn), program)
    (row,) = [row for row in pairs if row["node"] == 0 and steps(row)[1].startswith("7")]
    assert row["rejected_why"].startswith("illegal: ")
    assert steps(row)[0] == "10 - 4 = 6"


class Blind(Game24):
    """It knows a solution when it sees one, and nothing of what can be solved."""

    def solvable(self, state: Any) -> None:
        return None


def test_a_step_that_was_merely_left_alone_is_not_rejected():
    program = TreeOfThoughts(task=Blind(), controller=DFS(), concurrency=1)
    prediction = found(program)
    assert prediction.search.solved
    pairs = preference_pairs(prediction, program)
    assert {steps(row)[1] for row in pairs} & {"4 + 9 = 13", "13 * 4 = 52"} == set()


def test_of_those_that_nobody_knows_the_higher_rated_one_where_it_was_asked_for():
    program = TreeOfThoughts(task=Blind(), controller=Beam(width=3, branching=3, max_depth=1), concurrency=1)
    prediction = found(program)
    assert preference_pairs(prediction, program) == []
    pairs = preference_pairs(prediction, program, margin=10.0)
    assert {(*steps(row), row["chosen_why"]) for row in pairs} == {
        ("10 - 4 = 6", "4 + 9 = 13", "rated 20"),
        ("10 - 4 = 6", "13 * 4 = 52", "rated 20"),
    }
    assert preference_pairs(prediction, program, margin=20.0) == []  # 20 against 0.001


def test_what_is_known_is_not_reversed_by_ratings():
    """A rater that takes the dead end for the way."""

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        told = script(kind, inputs, n)
        if kind == "rate":
            told["thought_rating"] = "sure" if inputs["search_state"] == "10 13 13" else "maybe"
        return told

    program = solver()
    pairs = preference_pairs(found(program, fn), program, margin=1.0)
    assert ("10 - 4 = 6", "4 + 9 = 13") in {steps(row) for row in pairs}
    assert "4 + 9 = 13" not in {steps(row)[0] for row in pairs}


@pytest.mark.parametrize("margin", [0, -1.0, float("nan"), float("inf"), True])
def test_a_margin_is_a_number_above_zero(margin: Any):
    with pytest.raises(ValueError, match="margin="):
        preference_pairs([], margin=margin)


def test_the_same_from_a_saved_result_and_from_a_journal(tmp_path: Path):
    program = solver()
    prediction = found(program, config={"journal": tmp_path / "run.jsonl"})
    prediction.search.save(tmp_path / "result.json")
    loaded = SearchResult.load(tmp_path / "result.json", prediction.search.task)
    wanted = preference_pairs(prediction, program)
    assert preference_pairs([(EXAMPLE, loaded)], program) == wanted
    with dspy.context(lm=lm(engine())):
        assert preference_pairs(tmp_path / "run.jsonl", program, examples=[EXAMPLE]) == wanted


def test_equal_rows_are_given_once():
    program = solver()
    assert len(preference_pairs([found(program), found(program)], program)) == len(KNOWN)


def test_without_the_program_the_prompt_is_plain_words(tmp_path: Path):
    """And only what the search itself found out is known: here, what was finished and wrong."""
    prediction = found(solver(), config={"journal": tmp_path / "run.jsonl"})
    prediction.search.save(tmp_path / "result.json")
    told = "Steps so far:\n1. 10-4=6\n2. 13-9=4\n\nState:\n4 6\n\nWhat is the next step?"
    with_task = (f"numbers: {PUZZLE}\n\n{told}", "6 * 4 = 24 (left: 24)", "4 + 6 = 10 (left: 10)")  # as it is asked for
    for source, (prompt, good, bad) in (
        (prediction, with_task),
        (tmp_path / "run.jsonl", (told, "6*4=24", "4+6=10")),
    ):
        (row,) = [row for row in preference_pairs(source) if row["chosen_node"] == prediction.search.best.id]
        assert row["prompt"] == [{"role": "user", "content": prompt}]
        assert row["chosen"] == [{"role": "assistant", "content": good}]
        assert row["rejected"] == [{"role": "assistant", "content": bad}]
        assert row["rejected_why"] == "it is finished, and no solution"
    (row,) = [r for r in preference_pairs(tmp_path / "result.json") if r["chosen_node"] == prediction.search.best.id]
    assert row["rejected"] == [{"role": "assistant", "content": "4+6=10"}]


def test_attempts_that_failed_are_rejected_for_an_actor():
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if "next_action" in kind:
            return {"act_reasoning": "r", "next_action": "good" if n == 2 else "bad"}
        return actor(kind, inputs, n)

    program = LATS(env=Runner(), controller=MCTS(rollouts=4, branching=2), concurrency=1)
    prediction = call(program, Engine(fn), task="t")
    assert prediction.search.solved
    (row,) = preference_pairs(prediction, program)
    assert row["chosen"][0]["content"] == "[[ ## next_action ## ]]\ngood\n\n[[ ## completed ## ]]\n"
    assert row["rejected"][0]["content"] == "[[ ## next_action ## ]]\nbad\n\n[[ ## completed ## ]]\n"
    assert row["rejected_why"] == "it was tried, and judged wrong"
    assert "act_reasoning" not in row["prompt"][0]["content"]  # nobody's to invent


def test_a_metric_needs_the_program():
    with pytest.raises(ValueError, match="metric="):
        preference_pairs([], metric=lambda *_: 1.0)


def test_what_is_no_search_is_refused():
    with pytest.raises(TypeError, match="int is no search"):
        preference_pairs([3])
