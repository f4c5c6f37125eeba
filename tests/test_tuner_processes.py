"""Four processes at one study, one of them killed: every trial once, the lost one again, and nothing paid twice."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import dspy
import optuna
import pytest
from optuna.trial import TrialState

import tuning_worker
from patience import until
from rankings import program
from thoughtree.optimize.metrics import solved
from thoughtree.optimize.studies import StudyError, storage_of
from thoughtree.optimize.tuner import SearchTuner

HERE = Path(__file__).parent
optuna.logging.set_verbosity(optuna.logging.WARNING)


def worker(folder: Path, delay: float, *more: str) -> subprocess.Popen[str]:
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, str(HERE / "tuning_worker.py"), str(folder), str(delay), *more],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def trials(folder: Path) -> list[optuna.trial.FrozenTrial]:
    return optuna.load_study(study_name="tuning", storage=storage_of(folder / "study.log")).get_trials()


def works(folder: Path, besides: int) -> bool:
    """Whether there is a trial that another process than this one works at, or has completed."""
    try:
        found = [t for t in trials(folder) if t.state in (TrialState.RUNNING, TrialState.COMPLETE)]
    except KeyError:  # the study is not made yet
        return False
    return any(t.user_attrs.get("worker", {"pid": besides})["pid"] != besides for t in found)


def replies(folder: Path) -> list[str]:
    lines = (folder / "replies.jsonl").read_text().splitlines()[1:]
    return [entry["key"] for entry in map(json.loads, lines) if "key" in entry]


@pytest.mark.timeout(240)
def test_four_processes_share_a_study_and_one_is_killed(tmp_path: Path):
    victim = worker(tmp_path, 0.01, "held")  # in the middle of a trial from its first call on, so that one is lost
    workers = [victim]
    try:
        until((tmp_path / "held").exists, most=100)
        workers += [worker(tmp_path, 0.01) for _ in range(3)]
        until(lambda: works(tmp_path, besides=victim.pid), most=100)
        lost = {t.number for t in trials(tmp_path) if t.user_attrs.get("worker", {}).get("pid") == victim.pid}
        os.kill(victim.pid, signal.SIGKILL)
        said = [process.communicate(timeout=200) for process in workers]
    finally:
        for process in workers:
            process.kill()
    assert victim.returncode == -signal.SIGKILL
    assert [(w.returncode, out) for w, (out, _) in zip(workers, said, strict=True) if w is not victim] == [
        (0, "trials\n")
    ] * 3, said
    done = [t for t in trials(tmp_path) if t.state is TrialState.COMPLETE]
    widths = [t.user_attrs["values"]["controller.width"] for t in done]
    assert len(done) == len(set(widths)) == tuning_worker.CAP
    failed = {t.number: t for t in trials(tmp_path) if t.state is TrialState.FAIL}
    taken_over = {t.user_attrs["retry_of"] for t in trials(tmp_path) if "retry_of" in t.user_attrs}
    assert taken_over == lost
    assert len(lost) == 1
    assert taken_over <= set(failed)
    paid = replies(tmp_path)
    assert len(paid) == len(set(paid))  # no request has two replies

    with dspy.context(lm=tuning_worker.model(0.0)):
        made = tuning_worker.tuner(tmp_path).compile(
            program(), trainset=tuning_worker.SET, space=tuning_worker.SPACE, pick="cheapest"
        )
    assert made.detailed_results.ended == "trials"
    assert made.detailed_results.settings[made.detailed_results.front[-1]].results.score() == 1.0
    assert len(made.detailed_results.settings) == tuning_worker.CAP


@pytest.mark.timeout(240)
def test_the_budget_holds_over_all_processes(tmp_path: Path):
    """100 calls of which the race may take 70, for three workers; each pays for what it adds to the replies."""
    workers = [worker(tmp_path, 0.005, "100") for _ in range(3)]
    try:
        said = [process.communicate(timeout=200) for process in workers]
    finally:
        for process in workers:
            process.kill()
    assert {process.returncode for process in workers} == {0}, said
    assert 40 <= len(replies(tmp_path)) <= 70


@pytest.mark.timeout(120)
def test_a_new_database_is_opened_by_several_at_once(tmp_path: Path):
    script = "import sys; from thoughtree.optimize.studies import storage_of; storage_of(sys.argv[1])"
    address = f"sqlite:///{tmp_path / 'study.db'}"
    started = [
        subprocess.Popen([sys.executable, "-c", script, address], stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    said = [process.communicate(timeout=100)[1] for process in started]
    assert [process.returncode for process in started] == [0] * 4, said


def served() -> tuple[subprocess.Popen[bytes], int]:
    """A proxy that answers, and its port; another one where somebody has taken that in between."""
    for _ in range(5):
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        script = f"import optuna.storages as s; s.run_grpc_proxy_server(s.InMemoryStorage(), port={port})"
        server = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
        until(lambda server=server, port=port: server.poll() is not None or answers(port))
        if server.poll() is None:
            return server, port
    raise AssertionError("no proxy had its port")


def answers(port: int) -> bool:
    with socket.socket() as there:
        return there.connect_ex(("localhost", port)) == 0


@pytest.mark.timeout(120)
def test_a_study_behind_a_grpc_proxy(tmp_path: Path):
    pytest.importorskip("grpc", reason="gRPC proxies need grpcio and protobuf")
    server, port = served()
    try:
        proxy = storage_of(f"grpc://localhost:{port}")
        proxy.wait_server_ready(timeout=60)
        tuner = SearchTuner(solved, trials=3, num_threads=2, storage=f"grpc://localhost:{port}", study="far")
        with dspy.context(lm=tuning_worker.model(0.0)):
            tuner.compile(program(), trainset=tuning_worker.SET, space=tuning_worker.SPACE)
        done = [t for t in optuna.load_study(study_name="far", storage=proxy).trials if t.state is TrialState.COMPLETE]
        assert len(done) == 3
    finally:
        server.kill()
        server.wait()
    with pytest.raises(StudyError, match="study 'far': cannot be opened"), dspy.context(lm=tuning_worker.model(0.0)):
        tuner.compile(program(), trainset=tuning_worker.SET, space=tuning_worker.SPACE)
