"""A journal as readers see it who have neither the task nor the program: whole, torn, damaged, still being written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from engines import Engine, lm
from kill_runs import PROGRAMS
from puzzle24 import PUZZLE, call, engine
from thoughtree import Beam, Game24, TreeOfThoughts
from thoughtree.search import JournalError
from thoughtree.search.protocol import Propose
from thoughtree.search.story import NO_END, PARTLY, TORN, UNENDED, Story


def solver(**knobs: Any) -> TreeOfThoughts:
    return TreeOfThoughts(task=Game24(), controller=Beam(width=2), **knobs)


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, Any]:
    path = tmp_path / "run.jsonl"
    return path, call(solver(concurrency=1), engine(tokens=(7, 3)), numbers=PUZZLE, config={"journal": path}).search


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_finished_journal_is_the_result_without_its_task(name: str, tmp_path: Path) -> None:
    make, inputs, reply = PROGRAMS[name]
    model, path = Engine(lambda kind, inputs, n: reply(kind, inputs)), tmp_path / "run.jsonl"
    with dspy.context(lm=lm(model)):
        found = make()(**inputs, config={"journal": path}).search
    story = Story.read(path)
    told = story.result()
    assert (told.status, told.ended, told.best.id, told.spent) == (
        story.end["status"],
        found.ended,
        found.best.id,
        found.spent,
    )
    numbers = ("parent", "status", "value", "verdict", "visits", "total", "ratings", "reward", "prior")
    for a, b in zip(told.tree, found.tree, strict=True):
        assert [getattr(a, name) for name in numbers] == [getattr(b, name) for name in numbers]
        assert a.state == (None if b.state is None else found.task.render(b.state))
    assert told.path == found.path
    assert told.by_node == found.by_node
    assert sum(len(one.records) for one in story.told) == model.count()
    assert story.notes == []


def test_replies_come_with_their_prompts_and_nodes_with_when_they_came(run: tuple[Path, Any]) -> None:
    story = Story.read(run[0])
    first = story.told[0]
    assert (first.request, first.nodes, first.usage[:2]) == (Propose(0, 5, 0, 0), (0,), (1, 10))
    (record,) = first.records
    assert "4 9 10 13" in record["messages"][-1]["content"]
    assert "10 - 4 = 6" in record["outputs"][0]
    assert story.born[:2] == [0, 1]
    assert story.born == sorted(story.born)


def test_without_an_end_values_are_those_that_the_replies_tell(run: tuple[Path, Any], tmp_path: Path) -> None:
    path, whole = run
    lines = path.read_bytes().splitlines(keepends=True)
    assert lines[-1].startswith(b'{"end"')
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:50])
    story = Story.read(path)
    told = story.result()
    assert story.notes == [TORN, UNENDED]
    assert (told.status, told.ended, told.best.id) == ("failed", None, 0)
    assert told.summary().startswith("failed (not ended): (no step) [")
    assert told.explain().startswith("Failed: it has not ended; ")
    assert [n.value for n in told.tree] == [n.value for n in whole.tree]
    assert [n.verdict for n in told.tree] == [n.verdict for n in whole.tree]
    assert (told.spent.calls, told.spent.tokens) == (whole.spent.calls, whole.spent.tokens)
    assert {id: spent[:2] for id, spent in told.by_node.items()} == {
        id: spent[:2] for id, spent in whole.by_node.items()
    }
    assert [n.status for n in told.tree if n.children] == ["expanded"] * sum(bool(n.children) for n in told.tree)


def test_without_an_end_what_an_environment_showed_is_there(tmp_path: Path) -> None:
    make, inputs, reply = PROGRAMS["lats"]
    path = tmp_path / "run.jsonl"
    with dspy.context(lm=lm(Engine(lambda kind, inputs, n: reply(kind, inputs)))):
        whole = make()(**inputs, config={"journal": path}).search
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if not line.startswith(b'{"end"')))
    told = Story.read(path).result()

    def seen(tree: Any) -> list[Any]:
        return [(n.observation, n.reward, n.missed, n.value, n.verdict) for n in tree]

    assert seen(told.tree) == seen(whole.tree)
    assert sum(node.observation is not None for node in told.tree) > 5
    assert not told.rating.declared  # the header does not say between which ends values are


def test_cut_at_any_line_it_is_read_as_far_as_it_goes(run: tuple[Path, Any]) -> None:
    path, whole = run
    lines = path.read_bytes().splitlines(keepends=True)
    for cut in range(1, len(lines)):
        path.write_bytes(b"".join(lines[:cut]))
        story = Story.read(path)
        told = story.result()
        assert len(story.told) == sum(line.startswith(b'{"ask"') for line in lines[:cut])
        assert [n.action for n in told.tree][1:] == [whole.shown(n) for n in whole.tree][1 : len(told.tree)]
        assert story.notes == [UNENDED]


def test_damage_is_said_and_what_stands_before_it_is_read(run: tuple[Path, Any]) -> None:
    path, _ = run
    lines = path.read_bytes().splitlines(keepends=True)
    replies = [i for i, line in enumerate(lines) if line.startswith(b'{"ask"')]
    lines[replies[3]] = lines[replies[3]].replace(b"rated", b"hated")
    path.write_bytes(b"".join(lines))
    story = Story.read(path)
    assert len(story.told) == 3
    assert story.damage == story.notes[0]
    assert story.damage.startswith(f"it is damaged at line {replies[3] + 1} of {len(lines)} (it was changed")
    assert "and read up to there, which is behind reply 3: " in story.damage
    assert story.notes[1:] == [PARTLY]  # and no word of a run that was killed


@pytest.mark.parametrize("part", ["reply", "end"])
def test_of_a_damaged_journal_nobody_can_tell_whether_it_ended(run: tuple[Path, Any], part: str) -> None:
    path, _ = run
    lines = path.read_bytes().splitlines(keepends=True)
    place = {"reply": 3, "end": -1}[part]
    lines[place] = lines[place][:-20] + b"~" + lines[place][-19:]
    path.write_bytes(b"".join(lines))
    notes = Story.read(path).notes
    assert [note for note in notes if "killed" in note or "no end" in note] == []
    assert sum(note.startswith("it is damaged at line ") for note in notes) == 1


def test_what_the_last_line_tells_is_told_without_reading_the_others(run: tuple[Path, Any]) -> None:
    path, _ = run
    assert Story.notes_at_its_end(path) == []
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])
    assert Story.notes_at_its_end(path) == [TORN, NO_END]
    path.write_bytes(whole[: whole[:-1].rindex(b"\n") + 1])
    assert Story.notes_at_its_end(path) == [NO_END]


def test_nothing_on_the_disk_is_changed_and_a_run_may_write_meanwhile(tmp_path: Path) -> None:
    path, seen = tmp_path / "run.jsonl", []

    def look(event: Any) -> None:
        seen.append(len(Story.read(path).told))

    call(solver(concurrency=1), engine(), numbers=PUZZLE, config={"journal": path, "on_event": look})
    assert seen == list(range(1, len(seen) + 1))


def test_a_run_that_a_larger_budget_continued_is_told_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for budget in (3, 5, 100):
        found = call(solver(), engine(), numbers=PUZZLE, config={"journal": path, "budget": budget}).search
        told = Story.read(path).result()
        assert [(n.parent, n.status, n.value) for n in told.tree] == [(n.parent, n.status, n.value) for n in found.tree]
    lines = path.read_bytes().splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if line.startswith(b'{"ask"'))
    path.write_bytes(b"".join(lines[: last + 1]))
    assert Story.read(path).end is None  # the ends of the shorter runs are not its


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "line 1: not the header of one"),
        (b"{}\n", "line 1: not the header of one"),
        (b'{"format": "thoughtree.journal/2"}\n', "is of format 'thoughtree.journal/2', and this version reads"),
        (b'{"format": "thoughtree.journal/3"\n', "line 1: not JSON"),
        (b"\xff\xfe\x00", "line 1: not the header of one"),
    ],
)
def test_what_is_no_journal_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(JournalError, match=said):
        Story.read(tmp_path / "x")


def test_a_forged_line_is_damage_and_no_crash(run: tuple[Path, Any]) -> None:
    from thoughtree.search.chain import opened, sealed

    path, _ = run
    head, *_ = path.read_bytes().splitlines()
    _, check = opened(head, 0)
    for forged in (
        {"tree": [9, 0, 0, [[7]]]},
        {"tree": 3},
        {"ask": ["x"]},
        {"end": {}},
        {"tree": [1, 0, 0, [[None]], [[5]]]},
    ):
        line, _ = sealed(json.dumps(forged).encode(), check)
        path.write_bytes(b"\n".join([head, line, b""]))
        assert any(note.startswith("it is damaged") for note in Story.read(path).notes), forged
