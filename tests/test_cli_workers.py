"""`--workers`: `eval`, `compare` and `calibrate` by several processes, each example once, whoever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from patience import PATIENCE, until
from thoughtree.optimize.log_lines import lock

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parent
NEEDS = [1, 2, 3, 4, 1, 2, 3, 4]  # a beam of 2 solves half of them, with three calls each

# Writes a line for each call: who makes it, and about what. While there is a file `hold`, the process that makes the
# report waits with its first call, and the others come to no end with a 3.
PROGRAM = """
    import multiprocessing, os, threading, time
    from pathlib import Path
    from rankings import model, program
    from thoughtree.testing import RuleLM

    def propose(inputs, n):
        helps = multiprocessing.parent_process() is not None
        with open("calls", "a") as calls:
            calls.write(f"{os.getpid()} {inputs['need']}\\n")
        if helps and inputs["need"].startswith("3") and Path("hold").exists():
            Path("held").write_text(str(os.getpid()))
            threading.Event().wait()
        while not helps and Path("hold").exists():
            time.sleep(0.01)
        return [str(place) for place in range(1, (n or 8) + 1)]

    def made():
        found = program(width=2)
        found.set_lm(RuleLM(propose=propose))
        return found
"""


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "worked.py").write_text(dedent(PROGRAM))
    (tmp_path / "needs.csv").write_text("need\n" + "".join(f"{need}#{i}\n" for i, need in enumerate(NEEDS)))
    (tmp_path / "puzzles.csv").write_text("numbers\n4 9 10 13\n1 1 1 1\n13 8 8 11\n1 1 4 6\n")


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "thoughtree", *arguments],
        env=os.environ | {"PYTHONPATH": f"{TESTS}{os.pathsep}.", "DSPY_CACHEDIR": str(Path("cache").absolute())},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(child: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == code, err
    return out, err


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    child = started(*arguments)
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def in_json(*arguments: str) -> Any:
    return json.loads(ended(started(*arguments, "--json", "--quiet"))[0])


def calls() -> list[tuple[int, str]]:
    lines = Path("calls").read_text().splitlines() if Path("calls").exists() else []
    return [(int(pid), need) for pid, need in (line.split() for line in lines)]


def counted() -> Counter[str]:
    return Counter(need for _, need in calls())


EVAL = ("eval", "needs.csv", "--program", "worked:made", "--num-threads", "1")


def without_times(told: dict[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in told.items() if name != "seconds"}
    told["spent"] = {**told["spent"], "seconds": 0}
    return told | {"examples": [{**row, "seconds": 0} for row in told["examples"]]}


def test_two_processes_find_what_one_finds_and_call_no_more():
    alone = in_json(*EVAL)
    asked = sorted(need for _, need in calls())
    Path("calls").unlink()
    shared = in_json(*EVAL, "--workers", "2")
    assert without_times(shared) == without_times(alone)
    assert sorted(need for _, need in calls()) == asked
    assert all(len({pid for pid, need in calls() if need == one}) == 1 for one in asked)  # by one process each


def held() -> int:
    """The process that holds a 3, once there is one."""
    until(lambda: Path("held").exists() and Path("held").read_text())
    return int(Path("held").read_text())


def test_what_a_killed_worker_was_at_is_done_by_another():
    Path("hold").touch()
    with running(*EVAL, "--workers", "2", "--json", "--quiet") as child:
        os.kill(held(), signal.SIGKILL)
        Path("hold").unlink()
        out, err = ended(child)
    told = json.loads(out)
    assert (told["score"], told["scored"], told["not_run"]) == (50.0, 8, 0)
    assert err == "thoughtree: 1 of 2 processes were killed; the others did what they had been at\n"
    again = {need: count for need, count in counted().items() if count != 3}
    assert (len(counted()), list(again.values())) == (8, [4])  # of the one that was held, the first call was under way
    assert next(iter(again)).startswith("3")


def test_an_interrupt_ends_all_and_the_same_command_goes_on():
    Path("hold").touch()
    arguments = (*EVAL, "--workers", "2", "--resume", "kept", "--json", "--quiet")
    with running(*arguments) as child:
        helper = held()
        child.send_signal(signal.SIGINT)
        out, err = ended(child, 130)
    told = json.loads(out)
    assert (told["scored"], told["not_run"]) == (1, 7)  # that of the helper, before the one that it holds
    (finished,) = [need for need, count in counted().items() if count == 3]
    assert err == "thoughtree: interrupted; 1 of 8 examples were scored; the same command goes on from there\n"
    alone(Path("kept"))
    Path("hold").unlink()
    told = json.loads(ended(started(*arguments))[0])
    assert (told["score"], told["not_run"]) == (50.0, 0)
    assert [pid for pid, need in calls() if need == finished] == [helper] * 3


def test_an_interrupt_is_told_once():
    Path("hold").touch()
    with running("calibrate", *EVAL[1:], "--workers", "2", "--resume", "kept", "--quiet") as child:
        held()
        child.send_signal(signal.SIGINT)
        _, err = ended(child, 130)
    assert err == "thoughtree: interrupted; the same command goes on from there\n"


def alone(folder: Path) -> None:
    """Wait until no process is at a folder any more."""

    def free() -> bool:
        with open(folder / "finished.jsonl", "ab") as log:
            return lock(log, alone=True)

    until(free)


def test_helpers_end_where_the_process_that_started_them_is_killed():
    Path("hold").touch()
    with running(*EVAL, "--workers", "2", "--resume", "kept") as child:
        held()
        child.kill()
        child.wait(PATIENCE)
        alone(Path("kept"))


def test_all_processes_spend_from_one_purse():
    found = started(*EVAL, "--workers", "2", "--total-calls", "10", "--json", "--quiet")
    told = json.loads(ended(found, 4)[0])
    assert len(calls()) <= 10
    assert 1 <= told["scored"] <= 3  # three calls each
    assert told["not_run"] == 8 - told["scored"]


@pytest.mark.parametrize("workers", ["1", "3"])
def test_a_calibration_that_a_limit_ends_is_no_failure_of_its_runs(workers: str):
    """Twelve examples are more than the ten failures that are let pass; none of them can be run on one call."""
    Path("many.csv").write_text("numbers\n" + "".join(f"4 9 10 {13 + i}\n" for i in range(12)))
    arguments = ("calibrate", "many.csv", "--total-calls", "1", "--workers", workers, "--quiet")
    _, err = ended(started(*arguments), 4)
    assert "nothing was measured: all of 12 runs failed, the first by Refusal: limit(calls=1) is used up" in err


def test_a_comparison_by_two_processes_is_that_of_one():
    arguments = ("compare", "puzzles.csv", "--width", "2", "--num-threads", "1")
    assert in_json(*arguments, "--workers", "2") == in_json(*arguments)


def test_a_calibration_by_two_processes_is_that_of_one_and_goes_on_from_its_folder():
    arguments = ("calibrate", "puzzles.csv", "--num-threads", "1")
    one = in_json(*arguments)
    assert in_json(*arguments, "--workers", "2", "--resume", "kept") == one
    replies = Path("kept/replies.jsonl").read_bytes()
    assert in_json(*arguments, "--resume", "kept") == one
    assert Path("kept/replies.jsonl").read_bytes() == replies  # nothing was asked again
