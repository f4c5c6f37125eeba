"""Lessons that outlive their search: saved, read again, brought to later problems."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import dspy
import pytest

import thoughtree
from engines import Engine, lm
from thoughtree import LATS, MCTS, Lessons, SearchResult, TreeOfThoughts
from thoughtree.modules.trajectory import MOST_CHARACTERS, MOST_LESSONS
from thoughtree.search import JournalError, SearchStatus
from thoughtree.search.environment import Observed

TESTS = Path(__file__).parent
FIRST, LATER = "mind the empty list first", "mind the last line too"


class Gate:
    """Passes only "good"."""

    signature = "task -> program"

    def initial(self, inputs: dict[str, Any]) -> tuple[str, ...]:
        return ()

    def step(self, state: tuple[str, ...], action: str) -> Observed:
        passed = action == "good"
        return Observed((*state, action), solved=passed, failed=not passed, feedback="no", key=(*state, action))

    def answer(self, state: tuple[str, ...]) -> dict[str, Any]:
        return {"program": state[-1]} if state else {}


def learner(kind: Any, inputs: dict[str, str], n: int) -> dict[str, Any]:
    """Bad programs until the one lesson that matters is shown; each failure teaches it."""
    if "next_action" in kind:
        return {"act_reasoning": "r", "next_action": "good" if FIRST in inputs["search_lessons"] else f"bad{n}"}
    if "attempt_score" in kind:
        return {"judge_reasoning": "r", "attempt_score": "0.2"}
    return {"attempt_lesson": FIRST}


def shown(engine: Engine) -> list[str]:
    return [call.inputs["search_lessons"] for call in engine.calls if "next_action" in call.kind]


def solve(program: LATS, **inputs: Any) -> tuple[Any, Engine]:
    engine = Engine(learner)
    with dspy.context(lm=lm(engine)):
        return program(**inputs), engine


# ---- two problems


def test_what_one_problem_taught_the_next_one_begins_with(tmp_path: Path) -> None:
    path = tmp_path / "lessons.json"
    first, engine = solve(LATS(env=Gate()), task="one")
    assert (len(first.search.tree.rollouts), shown(engine)[0]) == (2, "(none)")
    Lessons.of(first).save(path)
    second, engine = solve(LATS(env=Gate(), lessons=path), task="two")
    assert (len(second.search.tree.rollouts), shown(engine)[0]) == (1, f"- {FIRST}")
    assert second.search.status is SearchStatus.SOLVED
    assert second.search.tree.lessons == []  # its own: there was nothing to learn


def test_nothing_is_kept_unless_it_is_asked_for() -> None:
    program = LATS(env=Gate())
    for _ in range(2):
        found, engine = solve(program, task="one")
        assert (shown(engine)[0], len(found.search.tree.lessons)) == ("(none)", 2)
    assert program.plan.lessons == ()


def test_they_pass_from_one_process_to_the_next(tmp_path: Path) -> None:
    script = f"""
        import sys
        sys.path.insert(0, {str(TESTS)!r})
        from test_lats_lessons import Gate, LATS, Lessons, shown, solve
        given, saved = sys.argv[1] or None, sys.argv[2]
        found, engine = solve(LATS(env=Gate(), lessons=given), task="t")
        Lessons.of(given).and_then(found).save(saved)
        print(len(found.search.tree.rollouts), shown(engine)[0])
    """
    one, two = str(tmp_path / "one.json"), str(tmp_path / "two.json")
    told = [
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script), given, saved], capture_output=True, text=True, check=True
        ).stdout.strip()
        for given, saved in (("", one), (one, two))
    ]
    assert told == ["2 (none)", f"1 - {FIRST}"]
    assert Lessons.load(two) == (FIRST,)


# ---- where they may be given


@pytest.mark.parametrize("given", [[FIRST], (FIRST,), Lessons([FIRST])], ids=["list", "tuple", "Lessons"])
def test_a_program_and_one_call_take_them(given: Any) -> None:
    assert shown(solve(LATS(env=Gate(), lessons=given), task="t")[1]) == [f"- {FIRST}"] * 2
    program = LATS(env=Gate(), lessons=["another one here"])
    assert shown(solve(program, task="t", config={"lessons": given})[1]) == [f"- {FIRST}"] * 2
    assert shown(solve(program, task="t", config={"lessons": None, "budget": 1})[1])[0] == "(none)"
    assert program.plan.lessons == ("another one here",)  # a call leaves nothing behind


def test_a_result_that_was_saved_still_teaches(tmp_path: Path) -> None:
    found, _ = solve(LATS(env=Gate()), task="one")
    found.search.save(tmp_path / "result.json")
    assert Lessons.of(SearchResult.load(tmp_path / "result.json")) == Lessons.of(found) == (FIRST,)


def test_a_saved_program_keeps_them_and_so_do_its_copies(tmp_path: Path) -> None:
    program = LATS(env=Gate(), lessons=[FIRST])
    program.save(tmp_path / "program.json")
    loaded = thoughtree.load(tmp_path / "program.json", env=Gate())
    for copied in (loaded, program.deepcopy(), copy.deepcopy(program), program.reset_copy()):
        assert copied.plan.lessons == (FIRST,)
        assert isinstance(copied.plan.lessons, Lessons)
    assert thoughtree.load(tmp_path / "program.json", env=Gate(), lessons=[LATER]).plan.lessons == (LATER,)


def test_a_program_file_names_no_file_to_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    LATS(env=Gate(), lessons=[FIRST]).save(tmp_path / "program.json")
    state = json.loads((tmp_path / "program.json").read_text())
    state["settings"]["plan"]["lessons"] = str(tmp_path / "secret")
    (tmp_path / "program.json").write_text(json.dumps(state))
    with pytest.raises(ValueError, match=r"settings cannot be read .lessons="):
        thoughtree.load(tmp_path / "program.json", env=Gate())


def test_programs_that_show_none_take_none() -> None:
    engine = Engine(learner)
    with dspy.context(lm=lm(engine)), pytest.raises(ValueError, match="a TreeOfThoughts reads none"):
        TreeOfThoughts("question -> answer")(question="q", config={"lessons": [FIRST]})
    assert engine.calls == []


def test_a_journal_goes_on_with_the_lessons_that_it_began_with(tmp_path: Path) -> None:
    program, path = LATS(env=Gate(), lessons=[LATER]), tmp_path / "run.jsonl"
    solve(program, task="t", config={"journal": path, "budget": 3})
    with pytest.raises(JournalError, match="lessons"):
        solve(program, task="t", config={"journal": path, "lessons": [FIRST]})
    found, _ = solve(program, task="t", config={"journal": path})
    assert found.program == "good"


# ---- what is shown of them


def test_the_cap_and_the_one_copy_hold_for_those_brought_along() -> None:
    many = [f"the lesson of number {i}" for i in range(50)]
    first = shown(solve(LATS(env=Gate(), lessons=many), task="t", config={"budget": 1})[1])[0]
    assert first.splitlines() == [f"- {text}" for text in many[-MOST_LESSONS:]]
    # What the running search learns is newer, and what it learns again is not shown twice.
    found, engine = solve(LATS(env=Gate(), lessons=[LATER, *many[:7]]), task="t")
    assert shown(engine)[-1].splitlines() == [f"- {text}" for text in (*many[:7], FIRST)]
    assert found.search.status is SearchStatus.SOLVED
    _, engine = solve(LATS(env=Gate(), lessons=["Mind  the empty list FIRST"]), task="t")
    assert shown(engine)[-1] == f"- {FIRST}"


def test_one_that_is_too_long_hides_no_other() -> None:
    long = "a word " * MOST_CHARACTERS
    assert shown(solve(LATS(env=Gate(), lessons=[LATER, long]), task="t")[1])[0] == f"- {LATER}"


# ---- the value, and its file


def test_they_are_a_value_without_copies() -> None:
    lessons = Lessons(["one two", "three four", "One  TWO"])
    assert lessons == ("three four", "One  TWO")  # the newest of two alike, in its place
    assert lessons.and_then(["three four", "five"]) == ("One  TWO", "three four", "five")
    assert lessons == ("three four", "One  TWO")
    assert pickle.loads(pickle.dumps(lessons)) == copy.deepcopy(lessons) == lessons
    assert Lessons.of(None) == Lessons() == ()


@pytest.mark.parametrize(
    "texts", [["äöü — \U0001f600"], ["two\nlines", "a \t tab"], ["lone \udc80 half"], []], ids=ascii
)
def test_a_file_gives_back_what_was_written(texts: list[str], tmp_path: Path) -> None:
    Lessons(texts).save(tmp_path / "lessons.json")
    assert Lessons.load(tmp_path / "lessons.json") == tuple(texts)
    assert [file.name for file in tmp_path.iterdir()] == ["lessons.json"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "no saved lessons .not JSON"),
        (b"\xff\xfe\x00", "no saved lessons .not JSON"),
        (b'{"format": "thoughtree.lessons/1", "lessons": ["a b', "no saved lessons .not JSON"),
        (b"[" * 100_000, "no saved lessons .not JSON"),
        (b"[]", "no saved lessons .format 'list', expected 'thoughtree.lessons/1'"),
        (b'{"lessons": []}', "no saved lessons .format None, expected"),
        (b'{"format": "thoughtree.result/1"}', "no saved lessons .format 'thoughtree.result/1', expected"),
        (b'{"format": "thoughtree.lessons/1"}', "damaged lessons .lessons=None"),
        (b'{"format": "thoughtree.lessons/1", "lessons": "text"}', "damaged lessons .lessons='text'"),
        (b'{"format": "thoughtree.lessons/1", "lessons": [1]}', "damaged lessons .lessons: 1 is no text"),
        (b'{"format": "thoughtree.lessons/1", "lessons": [" "]}', "damaged lessons .lessons: ' ' says nothing"),
        (b'"' + b"x" * 16_000_001, "too large for saved lessons"),
    ],
)
def test_a_file_that_holds_none_is_refused_with_the_reason(content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "lessons.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"lessons\.json: {told}"):
        LATS(env=Gate(), lessons=path)


def test_what_is_no_lesson_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no such file.*missing\.json"):
        LATS(env=Gate(), lessons=tmp_path / "missing.json")
    with pytest.raises(TypeError, match="3 is no text; give texts, a file"):
        LATS(env=Gate(), lessons=[3])
    with pytest.raises(TypeError, match="lessons=7: give texts"):
        LATS(env=Gate(), lessons=7)


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "lessons.json"
    Lessons([FIRST]).save(path)
    with pytest.raises(IsADirectoryError):
        Lessons([LATER]).save(tmp_path)
    assert Lessons.load(path) == (FIRST,)
    assert [file.name for file in tmp_path.iterdir()] == ["lessons.json"]


def test_the_controller_may_run_dry_and_widen_with_lessons_that_were_brought() -> None:
    """All children are terminal: the root is asked again, with what was brought and what was learnt."""

    class Ends(Gate):
        def step(self, state: tuple[str, ...], action: str) -> Observed:
            return Observed((*state, action), terminal=True, failed=True, feedback="no", key=(*state, action))

    engine = Engine(learner)
    with dspy.context(lm=lm(engine)):
        LATS(env=Ends(), lessons=[LATER], controller=MCTS(rollouts=2))(task="t")
    assert shown(engine)[-1] == f"- {LATER}\n- {FIRST}"
