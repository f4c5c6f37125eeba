"""`thoughtree export`: a saved result or a journal as a drawing, a table, JSON, or rows to learn from."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from hostile import KINDS, obeyed, search
from puzzle24 import PUZZLE, call
from thoughtree import Beam, Game24, SearchResult, TreeOfThoughts, result_schema
from thoughtree.cli import app
from thoughtree.cli_export import Form
from thoughtree.offline import offline_lm


def run(*arguments: Any) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["export", *map(str, arguments)])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal and a saved result of one search, by the stand-in."""
    folder = tmp_path_factory.mktemp("runs")
    found = call(program(), offline_lm(), numbers=PUZZLE, config={"journal": folder / "run.jsonl"})
    assert found.search.solved
    found.search.save(folder / "result.json")
    return folder


def program() -> TreeOfThoughts:
    return TreeOfThoughts(task=Game24(), controller=Beam(width=2, branching=2), concurrency=1)


SAME = ("--width", "2", "--branching", "2")
sources = pytest.mark.parametrize("source", ["run.jsonl", "result.json"])


@sources
def test_drawings(files: Path, source: str):
    code, dot, _ = run(files / source, "--to", "dot")
    assert (code, dot.splitlines()[0]) == (0, "digraph search {")
    assert 'label="#0 start\\n4 9 10 13\\nexpanded"' in dot
    assert 'n2 [label="#2 13-10=3\\n3 4 9\\n20 sure  expanded"' in dot
    code, mermaid, _ = run(files / source, "--to", "mermaid", "--most", 4)
    assert (code, mermaid.splitlines()[0]) == (0, "flowchart TD")
    assert mermaid.count("-.->") == 2  # what is left out below two nodes


@sources
def test_a_table(files: Path, source: str):
    code, text, _ = run(files / source, "--to", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    tree = SearchResult.load(files / "result.json").tree
    assert code == 0
    assert [row["id"] for row in rows] == [str(node.id) for node in tree]
    assert [row["action"] for row in rows if row["on_path"] == "True"] == ["", "13-10=3", "9-3=6", "4*6=24"]
    assert rows[2]["state"] == "3 4 9"  # as its task says it, though no task is here


@sources
def test_json_by_the_schema(files: Path, source: str):
    code, text, _ = run(files / source, "--to", "json")
    found = json.loads(text)
    jsonschema.validate(found, result_schema())
    assert (code, found["status"]) == (0, "solved")
    assert [node["text"] for node in found["nodes"]][:3] == ["4 9 10 13", "1 4 13", "3 4 9"]


@pytest.mark.parametrize("lines", [2, 4, 9, 15])
@pytest.mark.parametrize("form", ["dot", "mermaid", "json", "csv"])
def test_of_a_run_that_was_killed_as_far_as_it_came(files: Path, lines: int, form: str, tmp_path: Path):
    whole = (files / "run.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run.jsonl").write_bytes(b"".join(whole[:lines]) + whole[lines][:20])  # the last one is torn
    code, text, _ = run(tmp_path / "run.jsonl", "--to", form)
    assert (code, text != "") == (0, True)
    if form == "json":
        found = json.loads(text)
        jsonschema.validate(found, result_schema())
        assert (found["status"], found["ended"], found["best"]) == ("failed", None, 0)


@sources
def test_preferences_with_the_problem(files: Path, source: str):
    code, text, _ = run(files / source, PUZZLE, *SAME, "--to", "preferences")
    rows = [json.loads(line) for line in text.splitlines()]
    assert code == 0
    assert {(row["chosen_node"], row["rejected_node"]) for row in rows} == {(2, 1), (3, 4)}
    assert {row["rejected_why"] for row in rows} == {"code says that it cannot be solved"}
    assert all(row["prompt"][0]["role"] == "system" for row in rows)


@sources
def test_preferences_by_a_margin_alone(files: Path, source: str):
    """Without the problem nothing in this search is known to be wrong."""
    code, text, told = run(files / source, "--to", "preferences")
    assert (code, text) == (4, "")
    assert "name the problem that was searched after it: code judges its steps" in told
    code, text, _ = run(files / source, "--to", "preferences", "--margin", 10)
    rows = [json.loads(line) for line in text.splitlines()]
    assert code == 0
    assert {(row["chosen_node"], row["rejected_node"]) for row in rows} == {(2, 1), (3, 4)}
    assert rows[0]["prompt"][0]["content"].startswith("Steps so far:\n(none yet)\n\nState:\n4 9 10 13\n")


def test_supervised_rows_to_a_file(files: Path, tmp_path: Path):
    code, text, _ = run(files / "run.jsonl", "--to", "supervised", "-o", tmp_path / "train.jsonl")
    assert (code, text) == (0, "")
    rows = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text(encoding="ascii").splitlines()]
    assert len(rows) == 5
    assert {tuple(message["role"] for message in row["messages"]) for row in rows} == {("system", "user", "assistant")}
    code, text, _ = run(files / "result.json", PUZZLE, *SAME, "--to", "supervised")
    assert (code, len(text.splitlines()) > 3) == (0, True)


@pytest.mark.parametrize("problem", [[], [PUZZLE, *SAME]])
def test_rows_of_a_folder_of_journals(files: Path, tmp_path: Path, problem: list[str]):
    for name in ("one.jsonl", "two.jsonl"):
        (tmp_path / name).write_bytes((files / "run.jsonl").read_bytes())
    for form in ("supervised", "preferences"):
        margin = ["--margin", 10] if form == "preferences" else []
        code, text, _ = run(tmp_path, *problem, "--to", form, *margin)
        assert (code, text) == run(files / "run.jsonl", *problem, "--to", form, *margin)[:2]
        assert code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["result.json", "--to", "supervised"], "a result holds no prompts; give the run's journal, or the problem"),
        (["run.jsonl", "--to", "dot", "-o", "run.jsonl"], "this is what is exported; give another name"),
        (["run.jsonl", "--to", "dot", "--margin", "1"], "--margin: only --to preferences has this, not dot"),
        (["run.jsonl", "--to", "json", "--most", "3"], "--most: only --to dot and mermaid have this, not json"),
        (["run.jsonl", "--to", "preferences", "--margin", "0"], "'0': give a finite number above 0"),
        (["run.jsonl", PUZZLE, "--width", "4", "--to", "preferences"], "belongs to another search"),
        (["run.jsonl", "1 2 3 4", *SAME, "--to", "preferences"], "is of none of the 1 examples"),
        (["missing.jsonl", "--to", "dot"], "missing.jsonl: No such file"),
        (["nothing.json", "--to", "csv"], "neither a journal nor a saved result"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(files: Path, arguments: list[str], said: str, monkeypatch: Any):
    monkeypatch.chdir(files)
    (files / "nothing.json").write_text("nothing")
    before = (files / "run.jsonl").read_bytes()
    code, out, told = run(*arguments)
    assert (code, out) == (2, "")
    assert said in " ".join(told.split())
    assert (files / "run.jsonl").read_bytes() == before


def damaged(files: Path, folder: Path) -> Path:
    """The journal with a changed third line: its header and the line behind that stand."""
    lines = (files / "run.jsonl").read_bytes().splitlines(keepends=True)
    lines[2] = lines[2][:20] + b"~" + lines[2][21:]
    (folder / "bad.jsonl").write_bytes(b"".join(lines))
    return folder / "bad.jsonl"


@pytest.mark.parametrize("form", list(Form))
def test_of_a_damaged_journal_the_line_is_named(files: Path, form: str, tmp_path: Path):
    path = damaged(files, tmp_path)
    count = path.read_bytes().count(b"\n")
    rows = form in ("preferences", "supervised")
    for source in (path, tmp_path) if rows else (path,):
        code, text, told = run(source, "--to", form)
        assert (code, text == "") == ((4, True) if rows else (0, False))
        assert told.startswith(f"thoughtree: {path}: it is damaged at line 3 of {count} (it was changed")
        assert "what that line and all behind it tell is missing" in told
        assert "of no step" not in told
        assert "was killed" not in told  # one of the two would be wrong


OPENED: list[str] = []


def _opened(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str | os.PathLike):
        OPENED.append(os.fspath(arguments[0]))


sys.addaudithook(_opened)


@pytest.mark.parametrize("form", list(Form))
def test_a_journal_is_read_once(files: Path, form: str):
    OPENED.clear()
    assert run(files / "run.jsonl", "--to", form)[0] in (0, 4)
    assert OPENED.count(str(files / "run.jsonl")) == 2  # its first bytes, whether it is one; then all of it


@pytest.mark.parametrize("form", ["preferences", "supervised"])
def test_rows_of_a_run_that_was_killed_say_so_with_the_problem_too(files: Path, form: str, tmp_path: Path):
    whole = (files / "run.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run.jsonl").write_bytes(b"".join(whole[:-1]))
    _, _, told = run(tmp_path / "run.jsonl", PUZZLE, *SAME, "--to", form)
    assert told.startswith(f"thoughtree: {tmp_path / 'run.jsonl'}: it has no end: the run was killed, was interrupted")


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("/dev/full", "No space left on device"),
        ("no/tree.dot", "there is no folder 'no'; make it first, or give another path"),
    ],
)
def test_what_cannot_be_written_is_said(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, said: str
):
    if to.startswith("/dev") and not os.path.exists(to):
        pytest.skip("needs a disk that is always full")
    monkeypatch.chdir(tmp_path)
    assert run(files / "run.jsonl", "--to", "dot", "-o", to) == (2, "", f"thoughtree: {to}: {said}\n")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_drawing(files: Path):
    code, out, told = run(files, "--to", "dot")
    assert (code, out) == (2, "")
    assert told == f"thoughtree: {files}: this is a folder; --to dot takes one journal or result\n"


@pytest.mark.parametrize("form", ["dot", "json", "supervised"])
def test_of_a_whole_journal_there_is_nothing_to_say(files: Path, form: str):
    assert run(files / "run.jsonl", "--to", form)[2] == ""


@pytest.mark.parametrize("wrong", ["settings", "damage"])
def test_an_error_names_the_journal_that_was_given(files: Path, wrong: str, tmp_path: Path):
    path = damaged(files, tmp_path) if wrong == "damage" else files / "run.jsonl"
    knobs = SAME if wrong == "damage" else ("--width", "4")
    code, _, told = run(path, PUZZLE, *knobs, "--to", "preferences")
    assert (code, f"thoughtree: journal {path}" in told) == (2, True)


def test_a_dash_is_stdout(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert run(files / "run.jsonl", "--to", "csv", "-o", "-") == run(files / "run.jsonl", "--to", "csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["run.jsonl"], ["run.jsonl", "--to", "pdf"]])
def test_what_is_missing_is_usage(arguments: list[str]):
    assert run(*arguments)[0] == 2


@pytest.mark.parametrize("kind", ["terminal", "bidi", "surrogate", "NUL", "line ends", "HTML"])
@pytest.mark.parametrize("form", ["dot", "mermaid", "json", "csv", "supervised"])
def test_a_terminal_obeys_nothing_of_it(kind: str, form: str, tmp_path: Path):
    found, _ = search("environment", KINDS[kind], config={"journal": tmp_path / "run.jsonl"})
    _, text, _ = run(tmp_path / "run.jsonl", "--to", form)
    assert obeyed(text) == []
    assert found.search.tree
