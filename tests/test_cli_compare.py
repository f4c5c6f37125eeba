"""`thoughtree compare` and `thoughtree calibrate`, where it is known what they have to find."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import dspy
import pytest
from click.testing import Result
from typer.testing import CliRunner

from thoughtree import Beam, Game24, TreeOfThoughts, load
from thoughtree.cli import app
from thoughtree.offline import NOTICE

# What comes to the stand-in's mind first solves the third at once, and the first after a wrong turn; the second has no
# solution.
PUZZLES = "numbers\n4 9 10 13\n1 1 1 1\n13 8 8 11\n"


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / "puzzles.csv").write_text(PUZZLES)


def run(*arguments: str) -> Result:
    with dspy.context(lm=None):
        found = CliRunner().invoke(app, list(arguments))
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


def complaint(*arguments: str) -> str:
    found = run(*arguments)
    assert (found.exit_code, found.stdout) == (2, "")
    return found.stderr.splitlines()[-1].removeprefix("thoughtree: ")


def test_where_one_call_solves_as_much_a_tree_does_not_pay(tmp_path: Path):
    (tmp_path / "easy.csv").write_text("numbers\n13 8 8 11\n1 1 1 1\n")
    found = run("compare", "easy.csv", "--width", "2", "--baselines", "direct answer,self-consistency", "--json")
    assert found.exit_code == 0
    told = json.loads(found.stdout)
    scores = {row["name"]: row["score"] for row in told["rows"]}
    assert scores == {"game24": 50.0, "direct answer": 50.0, "self-consistency": 50.0}
    assert (told["reference"], told["pays"], told["model"]) == ("game24", False, "offline/rules")
    assert next(row["calls"] for row in told["rows"] if row["name"] == "direct answer") == 1.0


def test_people_get_a_table_and_the_verdict_in_words():
    found = run("compare", "puzzles.csv", "--width", "2", "--html", "report.html")
    assert found.stderr.splitlines() == [
        f"thoughtree: {NOTICE}",
        "thoughtree: Refine is left out: the stand-in has no advice to give",
    ]
    assert found.stdout.startswith("┏")
    assert found.stdout.splitlines()[-1].startswith("3 examples cannot tell whether game24 beats direct answer. ")
    page = Path("report.html").read_text()
    assert "3 examples cannot tell whether game24 beats direct answer" in page
    assert page.count("<tr>") == 1 + 5


def test_further_programs_are_files_and_modules():
    TreeOfThoughts(task=Game24(), controller=Beam(width=1, branching=1)).save("narrow.json")
    found = run("compare", "puzzles.csv", "--other", "narrow.json", "--baselines", "direct answer", "--json")
    rows = {row["name"]: row for row in json.loads(found.stdout)["rows"]}
    assert list(rows) == ["game24", "narrow.json", "direct answer"]
    assert rows["narrow.json"]["kind"] == "search"
    assert rows["narrow.json"]["calls"] < rows["game24"]["calls"]


def test_a_pipeline_with_a_search_inside_is_compared_too(tmp_path: Path):
    (tmp_path / "pipes.py").write_text(
        "import dspy\n"
        "from thoughtree import Beam, Game24, TreeOfThoughts\n"
        "from thoughtree.offline import offline_lm\n"
        "class Pipe(dspy.Module):\n"
        "    def __init__(self, field):\n"
        "        super().__init__()\n"
        "        self.tree, self.field = TreeOfThoughts(task=Game24(), controller=Beam(width=2)), field\n"
        "        self.set_lm(offline_lm())\n"
        "    def forward(self, **inputs):\n"
        "        return self.tree(numbers=inputs[self.field])\n"
        "pipe, other = Pipe('numbers'), Pipe('puzzle')\n"
        "plain = dspy.Predict('numbers -> answer')\n"
        "plain.lm = offline_lm()\n"
    )
    (tmp_path / "others.csv").write_text("puzzle\n13 8 8 11\n")
    known = ("compare", "puzzles.csv", "--inputs", "numbers", "--baselines", "direct answer", "--json")
    found = run(*known, "--program", "pipes:pipe")
    rows = {row["name"]: row for row in json.loads(found.stdout)["rows"]}
    assert {name: row["score"] for name, row in rows.items()} == {"pipes:pipe": 66.67, "direct answer": 33.33}
    assert complaint(*known, "--program", "pipes:plain").startswith("--program pipes:plain: there is no search in it")
    asked = complaint("compare", "others.csv", "--inputs", "puzzle", "--program", "pipes:other")
    assert asked.endswith("answer by signature='question -> answer', with the examples' own fields")
    sys.modules.pop("pipes", None)


def test_a_finished_comparison_is_told_again_and_another_is_refused():
    arguments = ("compare", "puzzles.csv", "--baselines", "direct answer", "--resume", "kept", "--json")
    first, again = run(*arguments), run(*arguments)
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert json.loads(first.stdout) == json.loads(again.stdout)
    assert sorted(path.name for path in Path("kept").iterdir()) == ["direct answer", "program 1"]
    assert complaint(*arguments, "--width", "2").startswith("--resume kept: ")


def test_a_comparison_whose_search_alone_is_too_dear_has_failed():
    found = run("compare", "puzzles.csv", "--num-threads", "1", "--total-calls", "3", "--json")
    assert (found.exit_code, found.stdout) == (4, "")
    assert found.stderr.splitlines()[-1].endswith("0 of 3 examples were scored")


def test_the_report_of_a_program_that_prints_is_json_all_the_same(tmp_path: Path):
    (tmp_path / "loud.py").write_text(
        "import thoughtree\n"
        "def metric(example, prediction, trace=None):\n"
        "    print('a word of mine')\n"
        "    return prediction.search.solved\n"
    )
    found = run("eval", "puzzles.csv", "--metric", "loud:metric", "--json")
    sys.modules.pop("loud", None)
    assert json.loads(found.stdout)["score"] == 66.67
    assert found.stderr.count("a word of mine") == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare", "puzzles.csv", "--baselines", "prayer"), "--baselines 'prayer': name at least one of"),
        (("compare", "puzzles.csv", "--baselines", ","), "--baselines ',': name at least one of direct answer, "),
        (("compare", "puzzles.csv", "--other", "no.json"), "no.json: No such file or directory"),
        (("compare", "puzzles.csv", "--other", "no"), "--other 'no': write it as module:name"),
        (("compare", "puzzles.csv", "--other", "no:such"), "--other no:such: there is no module no in"),
        (("compare", "puzzles.csv", "--match", "dollars", "--quiet"), "--match 'dollars'"),
        (("calibrate", "puzzles.csv", "--rate", "vote"), "--rate 'vote': votes and comparisons are on no scale"),
        (("calibrate", "puzzles.csv", "--save", "x.pkl"), "--save x.pkl: a program is saved as JSON"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: tuple[str, ...], said: str):
    assert complaint(*arguments).startswith(said)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
@pytest.mark.parametrize("command", ["eval", "compare", "calibrate"])
def test_a_file_that_cannot_be_written_costs_nobody_the_report(command: str):
    given = ("--baselines", "direct answer") if command == "compare" else ()
    found = run(command, "puzzles.csv", "--width", "2", "--quiet", *given)
    full = run(command, "puzzles.csv", "--width", "2", "--quiet", *given, "--html", "/dev/full")
    assert (found.exit_code, full.exit_code) == (0, 2)
    assert full.stderr == "thoughtree: /dev/full: No space left on device\n"
    assert full.stdout.splitlines()[0] == found.stdout.splitlines()[0]


def test_a_rater_that_sees_the_goal_is_worth_asking_and_its_worth_is_saved():
    """The stand-in is sure of what it can finish, and of nothing else."""
    found = run("calibrate", "puzzles.csv", "--save", "worth.json", "--json")
    assert found.exit_code == 0
    told = json.loads(found.stdout)
    shares = {row["verdict"]: row["share"] for row in told["rows"] if row["depth"] is None}
    assert shares == {"sure": 1.0, "maybe": 0.0, "impossible": 0.0}
    assert (told["auc"], told["searches"], told["saved"]) == (1.0, 3, "worth.json")
    assert load("worth.json").plan.worth is not None
    again = run("eval", "puzzles.csv", "--load", "worth.json", "--json")
    assert json.loads(again.stdout)["score"] == 66.67


def test_a_calibration_is_shown_as_a_table_and_a_page():
    found = run("calibrate", "puzzles.csv", "--html", "report.html", "--no-prune")
    assert found.exit_code == 0
    assert found.stdout.startswith("┏")
    assert "The rater is worth asking" in found.stdout
    assert "<h2>Reliability</h2>" in Path("report.html").read_text()


def test_nodes_of_one_kind_alone_are_nothing_to_fit(tmp_path: Path):
    (tmp_path / "hopeless.csv").write_text("numbers\n1 1 1 1\n1 1 1 2\n")
    found = run("calibrate", "hopeless.csv", "--save", "worth.json", "--json")
    assert found.exit_code == 4
    assert json.loads(found.stdout)["saved"] is None
    assert found.stderr.splitlines()[-1].startswith("thoughtree: --save worth.json: nothing was fitted")
    assert not Path("worth.json").exists()
