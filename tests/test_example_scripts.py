"""The short examples of examples/, each as a person runs it: a process, no key, the stand-in's answers."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[1] / "examples"


def process(folder: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
    command = [sys.executable, str(EXAMPLES / script), *arguments]
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, timeout=100)


def example(folder: Path, script: str, *arguments: str) -> list[str]:
    """The lines that it prints."""
    done = process(folder, script, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_guests_are_seated_by_a_task_of_ones_own(tmp_path: Path):
    status, counts = example(tmp_path, "own_task.py")
    assert status.startswith("solved: ")
    row = status.removeprefix("solved: ").split(", ")
    assert sorted(row) == ["Ann", "Bob", "Cid", "Dora", "Eve"]
    feuds = [{"Ann", "Bob"}, {"Bob", "Cid"}, {"Cid", "Dora"}]
    assert not any(set(pair) in feuds for pair in pairwise(row))
    assert "'sits already': " in counts
    assert "'enemies side by side': " in counts


def test_guests_that_cannot_be_seated_are_not(tmp_path: Path):
    # Bob is everybody's enemy, so he would have to sit alone.
    status, _ = example(tmp_path, "own_task.py", "Ann, Bob, Cid", "Ann-Bob, Bob-Cid")
    assert status.startswith("unverified: ")


def test_an_agent_leaves_a_dead_end_and_finds_the_year(tmp_path: Path):
    said, path, left = example(tmp_path, "agent_tools.py")
    assert said == "unverified: 1874"  # no code vouches for what an agent submits
    titles = ["start", "rivers", "arn"]
    assert path == " -> ".join([*(f"read_note(title='{title}')" for title in titles), "submit(year='1874')"])
    assert "read_note(title='stone')" in left  # bridges looked better, and led nowhere


def test_a_plan_is_carried_out_and_made_again_where_a_block_was_dropped(tmp_path: Path):
    *steps, ended, _ = example(tmp_path, "plan_and_act.py")
    slips = [step for step in steps if step.endswith("<- not what was predicted")]
    assert ended == f"reached: {len(steps)} steps, {len(slips)} plans made again"
    assert slips
    assert steps[-1] == "stack the blue block on top of the red block"


def test_a_plan_in_a_world_that_never_slips_is_made_once(tmp_path: Path):
    *steps, ended, right = example(tmp_path, "plan_and_act.py", "on(a,b), ontable(b)", "on(b,a)", "--drop", "0")
    verbs = ["unstack block a from on top of block b", "put down block a"]
    assert steps == [*verbs, "pick up block b", "stack block b on top of block a"]
    assert ended == "reached: 4 steps, 0 plans made again"
    assert right == "right predictions: 100%"


def test_a_recording_is_paid_once_and_replayed_without_a_model(tmp_path: Path):
    found = "4 9 10 13: solved, 4 * (9 - (13 - 10)), 25 calls"
    assert example(tmp_path, "record_and_replay.py", "record", "r.jsonl") == [found, "paid: 25 calls; from the file: 0"]
    assert example(tmp_path, "record_and_replay.py", "record", "r.jsonl") == [found, "paid: 0 calls; from the file: 25"]
    assert example(tmp_path, "record_and_replay.py", "replay", "r.jsonl") == [found]

    done = process(tmp_path, "record_and_replay.py", "replay", "r.jsonl", "--controller", "dfs")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no reply is recorded in 'r.jsonl'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("compiled_pipeline.py use missing.json", "[Errno 2] No such file or directory: 'missing.json'"),
        ("compiled_pipeline.py compile solver.json --puzzles 1", "--puzzles 1: must be 12 to 1000"),
        ("plan_and_act.py nonsense", "initial='nonsense': no fact"),
        ("plan_and_act.py --drop nan", "drop=nan): must be 0 to 1"),
        ("record_and_replay.py replay missing.jsonl", "recording missing.jsonl: no such file; make one with RecordLM("),
        ("record_and_replay.py record r.jsonl abc", "'abc' is not a whole number; give whole numbers, such as '4 9 10"),
        ("own_task.py ,", "there are no guests; give names, such as 'Ann, Bob'"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(tmp_path: Path, command: str, said: str):
    done = process(tmp_path, *command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
