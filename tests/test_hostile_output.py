"""What leaves a search: nothing in it is obeyed by a terminal, and no text escapes its line, its file or its JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from engines import Engine, lm
from hostile import KINDS, PROGRAMS, SMALL, obeyed, search, thoughts
from thoughtree import Evaluate, SearchFailed, SearchResult, TreeOfThoughts
from thoughtree.cli import app
from thoughtree.modules.progress import SearchProgress, progress

MOST = 10_000  # characters of what a person reads, whatever a model said

kinds = pytest.mark.parametrize("kind", KINDS)
# Every text in two programs, and a few of each kind in all of them. A megabyte in every prompt and line takes its time.
FEW = ("chat fields", "terminal", "bidi", "NUL", "surrogate", "line ends")
WHOLE = ("values", "environment")
pairs = pytest.mark.parametrize(
    ("name", "kind"),
    [(n, k) for n in PROGRAMS for k in KINDS if (n in WHOLE or k in FEW) and (k != "a megabyte" or n == "values")],
)


def told(result: SearchResult[Any, Any]) -> list[str]:
    """What a result says of itself in words."""
    return [result.summary(), *result.explain().split("\n"), *result.warnings]


def assert_readable(result: SearchResult[Any, Any]) -> None:
    assert "\n" not in result.summary()
    for line in told(result):
        assert (obeyed(line), len(line) < MOST) == ([], True), line[:200]


@pairs
def test_words_and_files_of_a_result(name: str, kind: str, tmp_path: Path) -> None:
    found, _ = search(name, KINDS[kind], config={"journal": tmp_path / "run.jsonl"})
    assert_readable(found.search)
    found.search.save(tmp_path / "result.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["result.json", "run.jsonl"]
    for path in tmp_path.iterdir():
        text = path.read_bytes().decode("ascii")
        assert obeyed(text) == []
        assert [json.loads(line) for line in text.splitlines()]
    loaded = SearchResult.load(tmp_path / "result.json")
    assert told(loaded) == told(found.search)
    assert loaded.path == found.search.path


@pairs
def test_a_run_is_told_again_by_its_journal(name: str, kind: str, tmp_path: Path) -> None:
    config = {"journal": tmp_path / "run.jsonl"}
    found, engine = search(name, KINDS[kind], config=config)
    assert engine.calls
    again, silent = search(name, KINDS[kind], config=config)
    assert silent.calls == []
    assert [(n.id, n.status, n.value, str(n.action)) for n in again.search.tree] == [
        (n.id, n.status, n.value, str(n.action)) for n in found.search.tree
    ]
    assert again.toDict() == found.toDict()


@kinds
def test_words_of_errors(kind: str, tmp_path: Path) -> None:
    def fails(asked: Any, inputs: Any, n: int) -> Any:
        raise ValueError(KINDS[kind])

    with dspy.context(lm=lm(Engine(fails))):
        found = thoughts(KINDS[kind], retries=0)(question="why?", config={"journal": tmp_path / "run.jsonl"})
    assert found.search.failed >= 3  # of the first three ratings, each alone
    assert_readable(found.search)
    assert obeyed((tmp_path / "run.jsonl").read_bytes().decode("ascii")) == []


@kinds
def test_words_of_failures_and_events(kind: str) -> None:
    def propose(inputs: Any, node: Any, n: int) -> Any:
        raise LookupError(KINDS[kind])

    events: list[Any] = []
    program = TreeOfThoughts(
        "question -> answer", propose=propose, rate=len, controller=SMALL, retries=0, answer="path"
    )
    found = program(question=KINDS[kind], config={"on_event": lambda event: events.append(progress(event.search))})
    assert found.search.failed == 1
    assert_readable(found.search)
    with pytest.raises(SearchFailed) as caught:
        program(question=KINDS[kind], config={"on_failure": "raise", "controller": SMALL})
    assert (obeyed(str(caught.value)), len(str(caught.value)) < MOST) == ([], True)
    assert events
    for event in events:
        assert isinstance(event, SearchProgress)
        assert event == f"data: {event.removeprefix('data: ').rstrip()}\n\n"


@kinds
def test_words_and_tables_of_an_evaluation(kind: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = KINDS[kind]

    def answer(question: str) -> Any:
        if question == "lost":
            raise LookupError(text)
        return dspy.Prediction(answer=text)

    def metric(example: Any, prediction: Any, trace: Any = None) -> Any:
        return dspy.Prediction(score=0.5, feedback=text)

    examples = [dspy.Example(question=q, answer=text).with_inputs("question") for q in (text, "lost")]
    path = tmp_path / "evaluation.json"
    result = Evaluate(devset=examples, metric=metric, num_threads=1, display_table=True, save_as_json=path)(answer)
    assert len(result.errors) == 1
    printed = capsys.readouterr()
    for told in (printed.out, printed.err, result.summary(), path.read_bytes().decode("ascii")):
        assert obeyed(told) == []


# ---- the command line

OWN = """
    import json, pathlib
    import thoughtree

    text = json.loads(pathlib.Path("text.json").read_text())

    def propose(inputs, node, n):
        return ["alpha", "beta " + text, "ANSWER: " + text]

    def rate(inputs, nodes):
        return [1.0 - i / 10 for i in range(len(nodes))]

    def broken(inputs, node, n):
        raise RuntimeError(text)

    knobs = dict(rate=rate, answer="path", retries=0, controller=thoughtree.Beam(max_depth=2))
    program = thoughtree.TreeOfThoughts("question -> answer", propose=propose, **knobs)
    failing = thoughtree.TreeOfThoughts("question -> answer", propose=broken, **knobs)

    def unmade():
        raise RuntimeError(text)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The name of a program into which this text is planted, in a folder of its own."""
    import sys
    from textwrap import dedent

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])

    def write(text: str) -> str:
        (tmp_path / "text.json").write_text(json.dumps(text))
        (tmp_path / "planted.py").write_text(dedent(OWN))
        monkeypatch.delitem(sys.modules, "planted", raising=False)
        return "planted"

    yield write
    sys.modules.pop("planted", None)


RUNS: dict[str, tuple[str, list[str]]] = {
    "tree": ("program", ["--tree", "--explain"]),
    "json": ("program", ["--json", "--tree", "--explain"]),
    "quiet": ("program", ["--quiet"]),
    "failing": ("failing", ["--explain"]),
    "failing json": ("failing", ["--json"]),
    "unmade": ("unmade", []),
}


@pytest.mark.parametrize(("run", "kind"), [(r, k) for r in RUNS for k in KINDS if r == "tree" or k in FEW])
def test_what_the_command_line_prints(run: str, kind: str, own: Any, tmp_path: Path) -> None:
    name, (program, options) = own(KINDS[kind]), RUNS[run]
    (tmp_path / "problem.txt").write_text(KINDS[kind].replace("\ud800", "").replace("\udfff", ""), newline="")
    before = set(tmp_path.iterdir())
    asked = ["solve", "--program", f"{name}:{program}", "--input", "question=@problem.txt", *options]
    found = CliRunner().invoke(app, asked)
    assert isinstance(found.exception, SystemExit | None), found.exception
    for printed in (found.stdout, found.stderr):
        assert obeyed(printed) == []
    assert found.stdout or found.stderr
    if "--json" in options and found.stdout:
        assert found.stdout.isascii()
        assert found.stdout.count("\n") == 1
        json.loads(found.stdout)
    assert found.stderr.count("\n") <= 2
    assert {path for path in tmp_path.iterdir() if path.name != "__pycache__"} == before
