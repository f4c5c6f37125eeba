"""`thoughtree tune`: it finds the known best setting, by one process and by several, and keeps what it paid for."""

from __future__ import annotations

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
import optuna
import pytest
from click.testing import Result
from optuna.trial import TrialState
from typer.testing import CliRunner

from thoughtree.cli import app
from thoughtree.cli_tune import tuned
from thoughtree.data_options import TuneOptions
from thoughtree.mistake import Mistake
from thoughtree.optimize.studies import lost, storage_of
from thoughtree.space_option import space_said

TESTS = Path(__file__).parent
optuna.logging.set_verbosity(optuna.logging.WARNING)

# The program solves an example if its beam is as wide as the example's need, at a call for the root and one for each
# state that it keeps: width 3 solves all of these at 4 calls, width 1 half of them at 2.
ROWS = "need\n" + "".join(f"{1 + i % 2 * 2}#{i}\n" for i in range(80))
PROGRAM = """
    import itertools, os, threading
    import dspy
    from rankings import program
    from thoughtree import solved
    from thoughtree.testing import RuleLM

    judged = itertools.count(1)

    def held(example, prediction, trace=None):
        # Hangs in the second setting of each process, where the test wants to interrupt it there.
        if next(judged) > int(os.environ.get("HANGS_AFTER", "1000000")):
            threading.Event().wait()
        return solved(example, prediction)

    def propose(inputs, n):
        return [str(place) for place in range(1, (n or 8) + 1)]

    def made():
        dspy.configure(lm=RuleLM(propose=propose))
        return program()

    def bound():
        found = program()
        found.set_lm(RuleLM(propose=propose))
        return found
"""
FIXED = ("controller.branching=8", "controller.max_depth=2", "controller.select=top", "controller.best=deepest")
FIXED += ("controller.min_score=null", "controller.solved_threshold=null", "propose=lm", "temperature=null")
FIXED += ("rate=code", "samples=1")
SPACE = tuple(word for pair in ("controller.width=1..6", *FIXED) for word in ("--space", pair))
STUDY = ("ranks.csv", "--program", "ranked:made", "--trials", "6", *SPACE)


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """In a folder of its own that holds the data and the program."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [str(TESTS), *sys.path])
    (tmp_path / "ranks.csv").write_text(ROWS)
    (tmp_path / "ranked.py").write_text(dedent(PROGRAM))
    sys.modules.pop("ranked", None)
    before = dspy.settings.lm
    yield
    dspy.configure(lm=before)
    sys.modules.pop("ranked", None)


def run(*arguments: str) -> Result:
    found = CliRunner().invoke(app, ["tune", *arguments])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


def in_json(*arguments: str) -> dict[str, Any]:
    found = run(*arguments, "--json")
    assert found.exit_code == 0, found.stderr
    assert found.stdout.count("\n") == 1
    told: dict[str, Any] = json.loads(found.stdout)
    return told


def trials(folder: str, name: str = "tuning") -> list[optuna.trial.FrozenTrial]:
    study = optuna.load_study(study_name=name, storage=storage_of(Path(folder) / "study.log"))
    return study.get_trials()


def child(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "thoughtree", "tune", *arguments],
        env=os.environ | {"PYTHONPATH": str(TESTS), "PYTHONFAULTHANDLER": "1"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str], most: float = 100.0) -> tuple[str, str]:
    """What it said, once it has ended. One that hangs says where."""
    try:
        return process.communicate(timeout=most)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        raise AssertionError(f"it hangs: {process.communicate()[1]}") from None


def wait_for_a_setting(process: subprocess.Popen[str], folder: str, most: float = 90.0) -> None:
    until = time.monotonic() + most
    while time.monotonic() < until and process.poll() is None:
        try:
            if any(trial.state is TrialState.COMPLETE for trial in trials(folder)):
                return
        except (KeyError, FileNotFoundError):  # not made yet
            pass
        time.sleep(0.05)
    process.send_signal(signal.SIGABRT)
    raise AssertionError(f"no setting was tried: {process.communicate()}")


def test_it_finds_the_width_that_is_wide_enough_and_saves_it():
    told = in_json(*STUDY, "--pick", "cheapest", "--save", "tuned.json")
    assert told["improved"] is True
    assert told["values"]["controller.width"] == 3
    assert told["verdict"]["tuned"]["score"] == 1.0
    assert (told["verdict"]["default"]["cost"], told["verdict"]["tuned"]["cost"]) == (2.0, 4.0)
    assert (told["saved"], told["ended"], len(told["settings"])) == ("tuned.json", "trials", 6)
    assert json.loads(Path("tuning/tuning.json").read_text())["values"] == told["values"]


def test_the_saved_program_is_what_eval_and_solve_take():
    in_json(*STUDY, "--pick", "cheapest", "--save", "tuned.json")
    found = CliRunner().invoke(
        app, ["eval", "ranks.csv", "--program", "ranked:made", "--load", "tuned.json", "--limit", "4", "--json"]
    )
    told = json.loads(found.stdout)
    assert (told["score"], told["calls_per_example"]) == (100.0, 4.0)


def test_the_same_command_once_more_pays_for_nothing():
    first = in_json(*STUDY)
    again = in_json(*STUDY)
    assert first["paid"] > 0
    assert again["paid"] == 0
    assert (again["values"], again["verdict"]) == (first["values"], first["verdict"])


def test_people_get_a_summary_and_a_page_that_needs_no_network(tmp_path: Path):
    found = run(*STUDY, "--html", "report.html", "--plots", "plots", "--log-dir", "kept", "--study", "ranks")
    assert found.exit_code == 0
    assert found.stdout.startswith("the tuned program scores higher than the default\n  default ")
    assert len(trials("kept", "ranks")) == 6
    page = Path("report.html").read_text()
    assert "the tuned program scores higher than the default" in page
    assert page.count('class="plotly-graph-div"') >= 2
    assert "src=" not in page.replace('src="data:', "").split("<h2>")[-1]
    assert {p.name for p in Path("plots").iterdir()} >= {"front.html", "history.html"}


def test_fresh_examples_may_be_a_file_of_their_own(tmp_path: Path):
    (tmp_path / "fresh.csv").write_text("need\n" + "".join(f"1#fresh{i}\n" for i in range(12)))
    told = in_json(*STUDY, "--valset", "fresh.csv")
    assert told["verdict"]["default"]["n"] == 12
    assert told["improved"] is False  # where nobody needs more than the best place, a wider beam is no better


def test_the_budget_of_the_study_holds():
    told = in_json(*STUDY, "--study-calls", "300")
    assert told["paid"] <= 300
    assert told["ended"] == "calls"


def test_a_budget_that_scores_nothing_has_failed():
    """The default alone takes 48 examples of 2 calls, and the race seven tenths of the budget."""
    found = run(*STUDY, "--study-calls", "60", "--json")
    assert found.exit_code == 4
    told = json.loads(found.stdout)
    assert (told["headline"], told["paid"] <= 60) == ("no setting was scored: the program is as it was", True)


def test_several_processes_try_settings_and_one_reports():
    told = in_json(*STUDY, "--workers", "2", "--pick", "cheapest")
    assert told["values"]["controller.width"] == 3
    tried = [t for t in trials("tuning") if t.state is TrialState.COMPLETE]
    assert len({t.user_attrs["values"]["controller.width"] for t in tried}) == len(tried) == 6
    assert {t.user_attrs["worker"]["pid"] for t in tried}.isdisjoint({os.getpid()})


def began_ago(seconds: float) -> dict[str, Any]:
    """The report of a command that has been at it for so long already, with the start of its processes."""
    options = TuneOptions(
        data="ranks.csv",
        program="ranked:made",
        trials=3,
        space=list(SPACE[1::2]),
        study_seconds=1000,
        workers=2,
        quiet=True,
    )
    tuned(options, time.time() - seconds)
    told: dict[str, Any] = json.loads(Path("tuning/tuning.json").read_text())
    return told


def test_time_that_several_processes_work_in_counts_once_and_leaves_some_for_the_end():
    told = began_ago(400)  # of 700 that the race may take
    assert (told["ended"], told["verdict"]["tuned"]["n"], told["verdict"]["default"]["n"]) == ("trials", 32, 32)


def test_a_study_whose_time_is_up_before_its_processes_have_started_pays_for_nothing():
    told = began_ago(1001)
    assert (told["ended"], told["study_paid"], told["verdict"]) == ("seconds", 0, None)


def test_a_further_worker_races_and_leaves_the_end_to_another():
    found = run(*STUDY, "--race-only")
    assert found.exit_code == 0
    assert (found.stdout, found.stderr.count("\n")) == ("", 1)
    assert "the race ended for this worker (trials)" in found.stderr
    assert not Path("tuning/tuning.json").exists()
    assert in_json(*STUDY, "--pick", "cheapest")["values"]["controller.width"] == 3
    assert len(trials("tuning")) == 6


def test_a_study_in_a_database_is_shared_by_its_name():
    place = ("--storage", "sqlite:///study.db", "--study", "ranks")
    run(*STUDY, *place, "--race-only")
    assert in_json(*STUDY, *place)["values"]["controller.width"] in (3, 4, 5, 6)
    study = optuna.load_study(study_name="ranks", storage="sqlite:///study.db")
    assert len(study.trials) == 6


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.timeout(300)
def test_an_interrupt_keeps_what_was_tried_and_the_same_command_goes_on(workers: str):
    arguments = ["ranks.csv", "--program", "ranked:made", "--metric", "ranked:held", "--trials", "6", *SPACE]
    arguments += ["--workers", workers, "--json"]
    first = child(*arguments, HANGS_AFTER="60")  # a setting has 48 examples
    try:
        wait_for_a_setting(first, "tuning")
        first.send_signal(signal.SIGINT)
        out, err = ended(first)
    finally:
        first.kill()
    assert (first.returncode, out) == (130, ""), err
    assert err == "thoughtree: interrupted: what was tried is kept in tuning; the same command goes on from there\n"
    tried = {t.number for t in trials("tuning") if t.state is TrialState.COMPLETE}
    left = [t for t in trials("tuning") if t.state is TrialState.RUNNING]
    nobodys = [t for t in left if "worker" not in t.user_attrs]  # cut as it was asked for: counts for five minutes
    assert all(lost(t) for t in left if t not in nobodys)
    second = child(*arguments)
    try:
        out, err = ended(second)
    finally:
        second.kill()
    assert second.returncode == 0, err
    told = json.loads(out)
    assert (told["ended"], len(told["settings"]) + len(nobodys)) == ("trials", 6)
    assert tried <= {setting["number"] for setting in told["settings"]}


def test_the_most_that_it_can_take_is_said_and_nothing_is_done():
    fixed = {"rate": "code", "propose": "lm", "controller.branching": 8, "controller.max_depth": 2}
    space = [word for name, value in fixed.items() for word in ("--space", f"{name}={value}")]
    space += ["--space", "controller.width=1..2"]
    found = run("ranks.csv", "--program", "ranked:made", "--trials", "5", "--estimate", "--json", *space)
    # 48 examples for each of 5 settings, 32 fresh ones for 4 of them and the default, 1 + 2 calls each at most.
    assert json.loads(found.stdout)["calls"] == (5 * 48 + 5 * 32) * 3
    assert not Path("tuning").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ranks.csv", "--save", "tuned.pkl"), "--save tuned.pkl: a program is saved as JSON; give a name that ends"),
        (("ranks.csv", "--save", "no/tuned.json"), "--save='no/tuned.json': there is no folder 'no'; make it first"),
        (("ranks.csv", "--race-only", "--workers", "2"), "--race-only, --workers 2: start a command for each process"),
        (
            ("ranks.csv", "--space", "width"),
            "--space 'width': write it as name=low..high, name=one,other or",
        ),
        (
            (*STUDY, "--space", "controller.witdh=3"),
            "space['controller.witdh']: there is no such knob; near it are",
        ),
        ((*STUDY, "--auto", "light"), "--auto 'light', trials=6: both say how many settings are tried"),
        ((*STUDY, "--seed", "-1"), "--seed -1: a study's is a whole number from 0 to 4,294,967,295"),
        ((*STUDY, "--seed", str(2**32)), "--seed 4294967296: a study's is a whole number from 0 to"),
        ((*STUDY, "--limit", "3"), "3 examples in trainset and valset: too few to tune on"),
        ((*STUDY, "--limit", "3", "--workers", "2"), "3 examples in trainset and valset: too few to tune on"),
        ((*STUDY, "--space", "controller.witdh=3", "--workers", "2"), "space['controller.witdh']: there is no such"),
        ((*STUDY, "--cost-limit", "0"), "Invalid value for '--cost-limit': '0': give a finite number"),
        ((*STUDY, "--storage", "postgresql://me:hunter2@127.0.0.1:9/none"), "--storage 'postgresql://"),
        (
            ("ranks.csv", "--program", "ranked:bound", "--save", "tuned.json"),
            "--save: this program cannot be saved: engine=Rules cannot be saved",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: tuple[str, ...], said: str):
    found = run(*arguments)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(f"thoughtree: {said}")
    assert found.stderr.count("\n") == 1
    assert "hunter2" not in found.stderr


def test_a_study_of_something_else_is_not_taken_over():
    in_json(*STUDY[: -len(SPACE)][:3], "--trials", "2", *SPACE)
    found = run("ranks.csv", "--program", "ranked:made", "--trials", "2", "--metric", "ranked:held", *SPACE)
    assert found.exit_code == 2
    assert found.stderr.startswith("thoughtree: study 'tuning' tunes something else (")


@pytest.mark.parametrize("more", [(), ("--api-base", "http://127.0.0.1:9", "--num-threads", "16")])
def test_a_model_that_is_not_there_is_an_error_of_the_model(more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch):
    """Without a key at the first call; without a connection after five settings, and not without end."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if more:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
    found = run(
        "ranks.csv", "--program", "rankings:program", "--model", "openai/nobody", "--limit", "14", *SPACE, *more
    )
    assert found.exit_code == 5
    assert found.stderr.count("\n") == 1
    assert found.stderr.startswith("thoughtree: calls failed: ")
    assert ("no example of 5 settings could be scored" in found.stderr) == bool(more)


def test_workers_that_cannot_work_say_why():
    """Of a study that is there already, and tunes something else."""
    in_json("ranks.csv", "--program", "ranked:made", "--trials", "1", *SPACE)
    found = run("ranks.csv", "--program", "ranked:made", "--metric", "ranked:held", *SPACE, "--workers", "2")
    assert found.exit_code == 2
    assert found.stderr.endswith("thoughtree: no worker could work at the study\n")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1..8", (1, 8)),
        ("0.5..1.5", (0.5, 1.5)),
        ("-1..1", (-1, 1)),
        ("1e-3..1.", (0.001, "1.")),
        ("Beam,DFS", ["Beam", "DFS"]),
        ("1, 2, null", [1, 2, None]),
        ("null", None),
        ("true", True),
        ("7", 7),
        ("value", "value"),
    ],
)
def test_ranges_choices_and_values(text: str, value: Any):
    if text.endswith("."):
        with pytest.raises(Mistake, match="a range is two numbers"):
            space_said([f"knob={text}"])
    else:
        assert space_said([f"knob={text}"]) == {"knob": value}


@pytest.mark.parametrize("text", ["knob", "=3", "knob=", "knob=a..b", "knob=1..2..3"])
def test_what_is_no_range(text: str):
    with pytest.raises(Mistake, match="--space"):
        space_said([text])
