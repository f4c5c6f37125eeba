"""`thoughtree eval`: the known score of a known program, and every way in which it can be asked wrongly."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import dspy
import pytest
from click.testing import Result
from typer.testing import CliRunner

from rankings import model
from thoughtree.cli import app
from thoughtree.cli_eval import goes_on
from thoughtree.offline import NOTICE
from thoughtree.testing import RuleLM

TESTS = Path(__file__).parent

# A beam of width 1 finds what needs no more, and answers 1 where it fails; it makes a call for each of two levels.
ROWS = "need,place\n1#0,1\n3#1,3\n1#2,1\n3#3,1\n"

METRICS = """
    import thoughtree

    def half(example, prediction, trace=None):
        return 0.5

    class Whole:
        def __call__(self, example, prediction, trace=None):
            return 1.0

    def wrong(example, prediction, trace=None):
        raise ValueError("no such thing as a score")

    def narrow(example):
        return 1.0

    class Needs:
        def __init__(self, threshold):
            pass

        def __call__(self, example, prediction, trace=None):
            return 1.0

    number = 3
"""


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """In a folder of its own that holds data and metrics, and with a model that knows the ranks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.delitem(sys.modules, "scoring", raising=False)
    (tmp_path / "ranks.csv").write_text(ROWS)
    (tmp_path / "scoring.py").write_text(dedent(METRICS))
    with dspy.context(lm=model()):
        yield
    sys.modules.pop("scoring", None)


def run(*arguments: str) -> Result:
    found = CliRunner().invoke(app, ["eval", *arguments])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


def ranked(*arguments: str, data: str = "ranks.csv") -> Result:
    return run(data, "--program", "rankings:program", *arguments)


def in_json(*arguments: str) -> tuple[dict[str, Any], int]:
    found = ranked(*arguments, "--json")
    assert found.stdout.count("\n") == 1
    return json.loads(found.stdout), found.exit_code


def complaint(*arguments: str) -> str:
    found = run(*arguments)
    assert found.exit_code == 2
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1
    return found.stderr.removeprefix("thoughtree: ").rstrip("\n")


def test_a_program_is_scored_by_what_code_verified():
    told, code = in_json()
    assert code == 0
    assert (told["metric"], told["score"], told["scored"], told["failed"], told["not_run"]) == ("Solved", 50.0, 4, 0, 0)
    assert (told["spent"]["calls"], told["calls_per_example"]) == (8, 2.0)
    assert [row["Solved"] for row in told["examples"]] == [1.0, 0.0, 1.0, 0.0]
    low, high = told["interval"]
    assert (round(low, 1), round(high, 1)) == (15.0, 85.0)  # Wilson's for 2 of 4


def test_by_the_labels_three_are_right():
    told, _ = in_json("--metric", "exact")
    assert told["score"] == 75.0


def test_knobs_are_those_of_solve():
    told, _ = in_json("--width", "3")
    assert (told["score"], told["calls_per_example"]) == (100.0, 4.0)


def test_the_budget_of_the_whole_run_stops_it_and_what_was_scored_is_told():
    """Two calls an example: the third finds one left, and is not scored by what it could do with that."""
    found = ranked("--num-threads", "1", "--total-calls", "5", "--json")
    told = json.loads(found.stdout)
    assert (found.exit_code, told["scored"], told["failed"], told["not_run"]) == (4, 2, 0, 2)
    assert (told["score"], told["spent"]["calls"]) == (50.0, 5)
    assert "limit" in found.stderr
    assert complaint("ranks.csv", "--program", "rankings:program", "--total-cost", "-1").startswith(
        "Invalid value for '--total-cost': '-1': give a finite number above 0"
    )


def test_a_search_of_its_own_ceiling_stops_at_it():
    told, _ = in_json("--width", "3", "--budget-calls", "1")
    assert (told["score"], told["spent"]["calls"]) == (0.0, 4)


def test_so_many_examples_and_which():
    assert in_json("--limit", "1")[0]["score"] == 100.0
    told, _ = in_json("--limit", "3", "--shuffle", "1")
    assert told["scored"] == 3


@pytest.mark.parametrize(("name", "score"), [("scoring:half", 50.0), ("scoring:Whole", 100.0)])
def test_a_metric_of_the_users_own(name: str, score: float):
    told, _ = in_json("--metric", name, "--limit", "3")
    assert told["score"] == score


def test_a_table_and_a_summary_are_what_people_get():
    found = ranked()
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert "Solved: 50.0 % [15.0, 85.0] on 4 examples" in lines
    assert sum(line.startswith("│") for line in lines) == 4
    shown = ranked("--rows", "2").stdout
    assert sum(line.startswith("│") for line in shown.splitlines()) == 2
    assert "2 of 4 rows" in shown
    assert not ranked("--quiet").stdout.startswith("┏")


def test_rows_and_page_are_written_and_nothing_in_them_is_markup(tmp_path: Path):
    (tmp_path / "odd.csv").write_text('need,note\n1#0,"<script>alert(1)</script>"\n')
    assert ranked("--csv", "out.csv", "--html", "out.html", data="odd.csv").exit_code == 0
    with open("out.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["need"], row["place"], row["Solved"], row["calls"]) == ("1#0", "1", "1.0", "2")
    page = Path("out.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "Solved: 100.0 %" in page
    assert "http" not in page


def test_a_finished_evaluation_is_not_paid_again():
    assert in_json("--resume", "kept")[0]["spent"]["calls"] == 8
    asked: list[str] = []
    with dspy.context(lm=RuleLM(propose=lambda inputs, n: asked.append(inputs["need"]))):
        told, _ = in_json("--resume", "kept")
    assert (told["score"], told["spent"]["calls"], asked) == (50.0, 8, [])


def test_the_folder_of_another_evaluation_is_refused():
    in_json("--resume", "kept")
    found = ranked("--resume", "kept", "--metric", "exact")
    assert (found.exit_code, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    assert found.stderr.startswith("thoughtree: --resume kept: ")


def test_the_stand_in_plays_where_there_is_no_model(tmp_path: Path):
    (tmp_path / "puzzles.jsonl").write_text('{"numbers": "4 9 10 13"}\n{"numbers": "1 1 1 1"}\n')
    with dspy.context(lm=None):
        found = run("puzzles.jsonl", "--json")
    assert found.stderr == f"thoughtree: {NOTICE}\n"
    told = json.loads(found.stdout)
    assert (told["score"], told["model"]) == (50.0, "offline/rules")
    assert told["examples"][0]["answer"] == "4 * (9 - (13 - 10))"


def test_blocks_get_the_depth_that_the_longest_plan_needs(tmp_path: Path):
    tower = {"initial": "on(a,b), on(b,c), on(c,d), ontable(d)", "goal": "on(d,c), on(c,b), on(b,a)"}
    (tmp_path / "blocks.json").write_text(json.dumps([{"initial": "ontable(a), ontable(b)", "goal": "on(a,b)"}, tower]))
    with dspy.context(lm=None):
        found = run("blocks.json", "--task", "blocksworld", "--json")
    assert json.loads(found.stdout)["score"] == 100.0


def test_an_example_that_cannot_be_read_fails_alone(tmp_path: Path):
    (tmp_path / "puzzles.csv").write_text("numbers\n4 9 10 13\nfour nine\n")
    with dspy.context(lm=None):
        found = run("puzzles.csv", "--json")
    told = json.loads(found.stdout)
    assert found.exit_code == 0
    assert (told["score"], told["scored"], told["failed"]) == (100.0, 1, 1)
    (error,) = told["errors"]
    assert error.startswith("program: ")
    assert "four" in error


def test_a_pipeline_of_the_users_own_needs_no_search(tmp_path: Path):
    (tmp_path / "pipes.py").write_text("import dspy\nchain = dspy.Predict('need -> place')\n")
    (tmp_path / "one.csv").write_text("need,place\n2,two\n")
    answers = dspy.utils.DummyLM([{"place": "Two"}])
    try:
        with dspy.context(lm=answers):
            arguments = ("one.csv", "--program", "pipes:chain", "--metric", "exact")
            assert complaint(*arguments).startswith("--inputs: say which columns the program is given")
            assert complaint(*arguments, "--inputs", "need", "--width", "3").startswith("--width: pipes:chain is no se")
            told = json.loads(run(*arguments, "--inputs", "need", "--json").stdout)
    finally:
        sys.modules.pop("pipes", None)
    assert told["score"] == 100.0


def test_a_metric_that_fails_everywhere_is_the_users_mistake():
    found = ranked("--metric", "scoring:wrong", "--json")
    told = json.loads(found.stdout)
    assert found.exit_code == 2, found.output
    assert (told["score"], told["failed"]) == (None, 4)
    assert "no such thing as a score" in found.stderr
    stopped = ranked("--metric", "scoring:wrong", "--max-errors", "1", "--num-threads", "1", "--json")
    assert json.loads(stopped.stdout)["not_run"] == 3


@pytest.mark.parametrize(
    ("data", "there"), [("need\n1#0\n3#1\n", "none"), ("need,answers,source\n1#0,1,a\n3#1,3,b\n", "answers, source")]
)
def test_exact_without_a_label_is_refused_before_a_call(data: str, there: str, tmp_path: Path):
    (tmp_path / "bare.csv").write_text(data)
    asked: list[Any] = []
    with dspy.context(lm=RuleLM(propose=lambda inputs, n: asked.append(inputs) or ["1"])):
        said = complaint("bare.csv", "--program", "rankings:program", "--metric", "exact")
    assert said == (
        f"--metric exact: bare.csv has no column of place to compare with; beside the inputs there are {there}"
    )
    assert asked == []


def test_a_model_that_is_not_there_is_told_from_a_bad_score():
    with dspy.context(lm=None):
        found = ranked("--model", "openai/nobody", "--api-base", "http://127.0.0.1:9", "--max-errors", "1", "--json")
    assert found.exit_code == 5
    assert json.loads(found.stdout)["score"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none.csv",), "none.csv: no such file or folder"),
        (("ranks.csv",), "--inputs: ranks.csv has no column 'numbers': there are 'need', 'place'"),
        (("ranks.csv", "--inputs", "need"), "--inputs need: the program has no such input; it has numbers"),
        (("ranks.csv", "--inputs", ","), "--inputs ',': name at least one column"),
        (
            ("ranks.csv", "--metric", "right"),
            "--metric 'right': it is solved, exact, or a function of your own, as module:name",
        ),
        (("ranks.csv", "--metric", "scoring:hlaf"), "--metric scoring:hlaf: there is no hlaf; did you mean half?"),
        (("ranks.csv", "--metric", "scoring:narrow"), "--metric scoring:narrow: takes 1 arguments; let it take"),
        (("ranks.csv", "--metric", "scoring:Needs"), "--metric scoring:Needs: Needs() failed: TypeError: "),
        (
            ("ranks.csv", "--metric", "scoring:number"),
            "--metric scoring:number: this is a int; name a function of (example, prediction)",
        ),
        (("ranks.csv", "--program", "scoring:number"), "--program scoring:number: this is a int; name a dspy.Module"),
        (
            ("ranks.csv", "--program", "rankings:program", "--csv", "no/x.csv"),
            "--csv='no/x.csv': there is no folder 'no'",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: tuple[str, ...], said: str):
    assert complaint(*arguments).startswith(said)


SLOW = """
    import threading
    from pathlib import Path
    from rankings import model, program
    from thoughtree.testing import RuleLM

    asked = set()

    def propose(inputs, n):
        need = inputs["need"]
        if need in asked and need.startswith("3"):
            Path(f"{need}.hangs").touch()
            threading.Event().wait()
        asked.add(need)
        return [str(place) for place in range(1, (n or 8) + 1)]

    def slow():
        made = program()
        made.set_lm(RuleLM(propose=propose))
        return made
"""


def test_an_interrupt_reports_what_there_is(tmp_path: Path):
    """Examples that need 3 never end: each has made a call, and hangs in its second. The other two are scored, kept,
    and told; what all have made is counted.
    """
    (tmp_path / "slow.py").write_text(dedent(SLOW))
    arguments = ["eval", "ranks.csv", "--program", "slow:slow", "--resume", "kept", "--json"]
    child = subprocess.Popen(
        [sys.executable, "-m", "thoughtree", *arguments],
        env=os.environ | {"PYTHONPATH": str(TESTS), "DSPY_CACHEDIR": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and child.poll() is None:
            logs = list(Path("kept").glob("*.jsonl"))
            hang = len(list(Path().glob("*.hangs"))) == 2
            if hang and logs and sum(line.count('"score": 1.0') for line in logs[0].read_text().splitlines()) == 2:
                break
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130, err
    told = json.loads(out)
    assert (told["score"], told["scored"], told["not_run"]) == (100.0, 2, 2)
    assert told["spent"]["calls"] == 2 * 2 + 2 * 2
    assert err == "thoughtree: interrupted; 2 of 4 examples were scored; the same command goes on from there\n"


def test_after_an_interrupt_it_is_said_how_to_go_on():
    assert goes_on(Path("kept")) == "the same command goes on from there"
    assert goes_on(None) == "with --resume FOLDER, a command that is interrupted can go on"
