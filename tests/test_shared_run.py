"""A run that several processes make together: each example once, also when one of them is killed."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dspy
import pytest

import shared_worker
from patience import PATIENCE, until
from thoughtree import Evaluate
from thoughtree.optimize import EvaluationStopped, LogError, SharedRun
from thoughtree.optimize.report import Progress
from thoughtree.optimize.shared_run import Claims

SCORES = [1.0, 0.0, 1.0, 0.0, 1.0, None, 1.0, None, 1.0, 0.0, 1.0, 0.0]  # 5 and 7 fail


def worker(folder: Path, name: str, run: str = "one", max_errors: int = 10) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(Path(shared_worker.__file__)), str(folder), name, run, str(max_errors)],
        stdout=subprocess.PIPE,
        text=True,
    )


def ended(*workers: subprocess.Popen[str]) -> list[dict[str, Any]]:
    found = []
    for one in workers:
        out, _ = one.communicate(timeout=PATIENCE)
        assert one.returncode == 0
        found.append(json.loads(out.splitlines()[-1]))
    return found


def runs(folder: Path) -> list[int]:
    return sorted(int(line) for path in folder.glob("runs-*") for line in path.read_text().split())


@pytest.mark.slow
def test_three_processes_run_each_example_once_and_all_know_the_whole(tmp_path: Path):
    results = ended(*[worker(tmp_path, name) for name in ("a", "b", "c")])
    assert runs(tmp_path) == list(range(12))  # those that failed, too
    for result in results:
        assert result["scores"] == SCORES
        assert [error.partition(" (")[0] for error in result["errors"]] == [
            f"ValueError: {n} is too hard" for n in (5, 7)
        ]
        assert result["not_run"] == 0


@pytest.mark.slow
def test_what_a_killed_process_was_at_another_takes_over(tmp_path: Path):
    victim = worker(tmp_path, "held")
    until(lambda: (tmp_path / "runs-held").exists() and len((tmp_path / "runs-held").read_text().split()) == 2)
    other = worker(tmp_path, "other")
    # All but the two that the victim holds: no process runs what another is at.
    until(lambda: (tmp_path / "runs-other").exists() and len((tmp_path / "runs-other").read_text().split()) == 10)
    assert other.poll() is None
    victim.send_signal(signal.SIGKILL)
    assert victim.wait(PATIENCE) == -signal.SIGKILL
    victim.communicate()
    (result,) = ended(other)
    assert (result["scores"], result["not_run"]) == (SCORES, 0)
    assert runs(tmp_path) == sorted([*range(12), 0, 1])


@pytest.mark.slow
def test_failures_are_counted_over_all_processes_and_tried_again_by_another_run(tmp_path: Path):
    results = ended(*[worker(tmp_path, name, max_errors=2) for name in ("a", "b")])
    assert [result["why"].partition(",")[0] for result in results] == ["2 examples failed (max_errors=2)"] * 2
    (again,) = ended(worker(tmp_path, "c", "another"))
    assert again["scores"] == SCORES
    assert [runs(tmp_path).count(number) for number in (5, 7)] == [2, 2]
    assert all(runs(tmp_path).count(number) == 1 for number in range(5))


# -- in one process: what is in the folder


def evaluate(folder: Any, **given: Any) -> Evaluate:
    return Evaluate(devset=shared_worker.DEVSET, metric=shared_worker.even, num_threads=2, resume=folder, **given)


def test_a_shared_run_goes_on_from_a_folder_of_one_process_and_the_other_way_round(tmp_path: Path):
    program = shared_worker.Answers(tmp_path, "a")
    evaluate(tmp_path / "kept")(program)
    shared = evaluate(SharedRun(tmp_path / "kept", "one"))(program)
    assert sum(outcome.resumed for outcome in shared.outcomes) == 10
    again = evaluate(SharedRun(tmp_path / "kept", "one"))(program)  # of the same run: what failed, has failed
    alone = evaluate(tmp_path / "kept")(program)
    assert [score for *_, score in again.results] == [score for *_, score in alone.results] == SCORES
    assert [runs(tmp_path).count(number) for number in (4, 5, 7)] == [1, 3, 3]


def test_as_tasks_of_a_loop(tmp_path: Path):
    shared = evaluate(SharedRun(tmp_path / "kept", "one"))
    found = asyncio.run(shared.acall(shared_worker.Answers(tmp_path, "a")))
    assert [score for *_, score in found.results] == SCORES


def test_many_threads_of_several_evaluators_run_each_example_once(tmp_path: Path):
    devset = [dspy.Example(number=number).with_inputs("number") for number in range(120)]
    seen: list[int] = []

    def program(number: int) -> Any:
        seen.append(number)
        return dspy.Prediction(answer=number)

    def work(name: int) -> Any:
        run = SharedRun(tmp_path, "one")
        return Evaluate(devset=devset, metric=shared_worker.even, num_threads=8, resume=run)(program)

    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(work, range(3)))
    assert sorted(seen) == list(range(120))
    assert [(result.score, result.not_run) for result in results] == [(50.0, 0)] * 3


def test_the_bar_shows_what_others_do_while_this_process_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The first of two examples waits until the bar has told of the other, which another run has done meanwhile."""
    counted: list[int] = []
    helpers: list[threading.Thread] = []
    told = threading.Event()
    devset = shared_worker.DEVSET[:2]

    def program(number: int) -> Any:
        if number == 0:
            other = Evaluate(devset=devset, metric=shared_worker.even, num_threads=1, resume=SharedRun(tmp_path, "one"))
            helper = threading.Thread(target=other, args=(program,), daemon=True)
            helpers.append(helper)
            helper.start()
            assert told.wait(PATIENCE)
        return dspy.Prediction(answer=number)

    def add(progress: Any, outcome: Any) -> None:
        counted.append(outcome.index)
        if progress.shown and outcome.index == 1:
            told.set()

    monkeypatch.setattr(Progress, "add", add)
    evaluate = Evaluate(devset=devset, metric=shared_worker.even, num_threads=1, display_progress=True)
    assert evaluate(program, resume=SharedRun(tmp_path, "one")).score == 50.0
    assert counted[0] == 1  # by the helper, or by the bar
    helpers[0].join(PATIENCE)


def test_a_run_alone_is_kept_out_while_others_share_the_folder(tmp_path: Path):
    program = shared_worker.Answers(tmp_path, "a")

    def inner(number: int) -> Any:
        return evaluate(tmp_path / "kept")(program)

    devset = shared_worker.DEVSET[:1]
    with pytest.raises(EvaluationStopped, match="another run is writing to it"):
        Evaluate(devset=devset, metric=shared_worker.even, resume=SharedRun(tmp_path / "kept", "one"))(inner)


def test_a_line_that_a_killed_process_tore_is_taken_off_before_another_is_written(tmp_path: Path):
    program = shared_worker.Answers(tmp_path, "a")
    evaluate(SharedRun(tmp_path / "kept", "one"))(program)
    log = tmp_path / "kept" / "finished.jsonl"
    *lines, last = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines) + last[:-9])
    again = evaluate(SharedRun(tmp_path / "kept", "one"))(program)
    assert [score for *_, score in again.results] == SCORES
    assert len(log.read_bytes().splitlines()) == 1 + 10


def test_forgetting_leaves_what_is_finished(tmp_path: Path):
    shared = SharedRun(tmp_path, "one")
    evaluate(shared / "inside")(shared_worker.Answers(tmp_path, "a"))
    assert (tmp_path / "inside" / "claims").is_dir()
    shared.forget()
    assert sorted(path.name for path in (tmp_path / "inside").iterdir()) == ["finished.jsonl", "finished.lock"]


def test_what_another_run_is_at_is_not_forgotten(tmp_path: Path):
    other = Claims(tmp_path / "claims")
    with other.claim("a") as mine:
        SharedRun(tmp_path, "one").forget()
        assert mine
        assert (tmp_path / "claims" / "a").exists()
    other.close()
    SharedRun(tmp_path, "one").forget()
    assert not (tmp_path / "claims").exists()


def test_a_claim_is_had_by_one_at_a_time(tmp_path: Path):
    first, second = Claims(tmp_path), Claims(tmp_path)
    with first.claim("a") as mine, second.claim("a") as theirs, second.claim("b") as other:
        assert (mine, theirs, other) == (True, False, True)
    with second.claim("a") as mine:
        assert mine


def test_a_name_is_part_of_a_files_name():
    with pytest.raises(ValueError, match=r"name='\.\./x'"):
        SharedRun("kept", "../x")


def test_another_evaluation_is_refused(tmp_path: Path):
    evaluate(SharedRun(tmp_path, "one"))(shared_worker.Answers(tmp_path, "a"))
    other = Evaluate(devset=shared_worker.DEVSET[:3], metric=shared_worker.even, resume=SharedRun(tmp_path, "one"))
    with pytest.raises(LogError, match="devset"):
        other(shared_worker.Answers(tmp_path, "a"))
