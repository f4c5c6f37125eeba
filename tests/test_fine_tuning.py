"""Supervised rows: which calls are learned from, in the chat format that fine-tuning takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from engines import Engine, lm
from puzzle24 import PUZZLE, call, engine, script
from test_lats import Runner, actor
from test_rap import GOAL, START, world
from thoughtree import DFS, LATS, MCTS, RAP, Blocksworld, Game24, TreeOfThoughts, supervised_rows
from thoughtree.search.story import Story

EXAMPLE = dspy.Example(numbers=PUZZLE).with_inputs("numbers")


def solver(**knobs: Any) -> TreeOfThoughts:
    return TreeOfThoughts(task=Game24(), controller=DFS(), concurrency=1, **knobs)


def journaled(program: Any, model: Any, folder: Path, **inputs: Any) -> Path:
    call(program, model, **inputs, config={"journal": folder / "run.jsonl"})
    return folder / "run.jsonl"


def last(row: dict[str, Any]) -> str:
    assert [message["role"] for message in row["messages"]] == ["system", "user", "assistant"]
    return str(row["messages"][-1]["content"])


def of(rows: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    return [row for row in rows if f"[[ ## {field} ## ]]" in last(row)]


def test_a_row_is_what_fine_tuning_takes(tmp_path: Path):
    path = journaled(solver(), engine(), tmp_path, numbers=PUZZLE)
    with dspy.context(lm=lm(engine())):
        rows = supervised_rows(path, solver(), examples=[EXAMPLE])
    assert {tuple(row) for row in rows} == {("messages",)}
    assert json.loads(json.dumps(rows)) == rows
    assert len({json.dumps(row) for row in rows}) == len(rows)


def test_proposals_on_the_way_without_dead_ends_and_ratings_that_were_borne_out(tmp_path: Path):
    """By script, of the root's three steps one leads on: the others are left out, and one is asked for."""
    path = journaled(solver(), engine(), tmp_path, numbers=PUZZLE)
    with dspy.context(lm=lm(engine())):
        rows = supervised_rows(path, solver(), examples=[EXAMPLE])
    proposals, ratings = of(rows, "next_thoughts"), of(rows, "thought_rating")
    first = proposals[0]
    assert last(first) == "[[ ## next_thoughts ## ]]\n1. 10 - 4 = 6 (left: 6 9 13)\n\n[[ ## completed ## ]]\n"
    assert "[[ ## num_thoughts ## ]]\n1\n" in first["messages"][1]["content"]
    assert len(proposals) == 3
    assert {"sure" in last(row) for row in ratings} == {True, False}
    assert all("by script" in last(row) for row in ratings)  # the reasoning that was really given


def test_without_a_journal_the_replies_that_are_known_to_be_right():
    program = solver()
    rows = supervised_rows(call(program, engine(), numbers=PUZZLE), program)
    assert len(of(rows, "next_thoughts")) == 3
    ratings = of(rows, "thought_rating")
    assert ratings
    for row in ratings:
        assert "rating_reasoning" not in json.dumps(row)  # nobody's to invent
        assert "by script" not in json.dumps(row)


def test_only_the_roles_that_are_wanted(tmp_path: Path):
    program = solver()
    found = call(program, engine(), numbers=PUZZLE)
    assert of(supervised_rows(found, program, roles=["rate"]), "next_thoughts") == []
    assert of(supervised_rows(found, program, roles=["propose"]), "thought_rating") == []
    assert supervised_rows(found, program, roles=["reflect"]) == []
    with pytest.raises(ValueError, match="'judge' is none of 'propose'"):
        supervised_rows(found, program, roles=["judge"])


def test_an_unsolved_search_teaches_no_proposal(tmp_path: Path):
    def fn(kind: Any, inputs: Any, n: int) -> Any:
        return {"next_thoughts": "1. 4 + 9 = 13"} if kind == "propose" else script(kind, inputs, n)

    path = journaled(solver(), engine(fn), tmp_path, numbers=PUZZLE)
    assert supervised_rows(path) == []
    with dspy.context(lm=lm(engine(fn))):
        assert of(supervised_rows(path, solver(), examples=[EXAMPLE]), "next_thoughts") == []


def test_a_journal_alone_gives_the_calls_of_the_path_to_the_letter(tmp_path: Path):
    path = journaled(solver(), engine(), tmp_path, numbers=PUZZLE)
    rows = supervised_rows(path)
    said = {json.dumps(record["messages"]): record["outputs"][0] for t in Story.read(path).told for record in t.records}
    assert len(rows) == 5  # three proposals, and the ratings of the two steps that were rated
    for row in rows:
        assert said[json.dumps(row["messages"][:-1])] == last(row)
    assert supervised_rows([tmp_path]) == rows  # a folder of them


def test_actors_and_reflectors(tmp_path: Path):
    program = LATS(env=Runner(), controller=MCTS(rollouts=4, branching=2), concurrency=1)
    path = journaled(program, Engine(actor), tmp_path, task="t")
    with dspy.context(lm=lm(Engine(actor))):
        rows = supervised_rows(path, program, examples=[dspy.Example(task="t").with_inputs("task")])
    assert {last(row) for row in of(rows, "next_action")} == {
        "[[ ## act_reasoning ## ]]\nr\n\n[[ ## next_action ## ]]\ngood\n\n[[ ## completed ## ]]\n"
    }
    assert len(of(rows, "attempt_lesson")) == 2  # those of both failures, which the success was shown


def test_world_models(tmp_path: Path):
    program = RAP(task=Blocksworld(), concurrency=1)
    found = call(program, Engine(world), initial=START, goal=GOAL)
    rows = supervised_rows(found, program, roles=["world"])
    assert rows
    for row in rows:
        assert last(row).startswith("[[ ## next_state ## ]]\n")


def test_without_the_program_results_are_refused():
    found = call(solver(), engine(), numbers=PUZZLE)
    with pytest.raises(TypeError, match="SearchPrediction: without program="):
        supervised_rows([found])
