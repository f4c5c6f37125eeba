"""Runs that are killed with SIGKILL, again and again, and go on from their journals until they are done.

The calls are counted by a model in another process, which no kill can reach.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

IN_FLIGHT = 8  # a program's own default; four searches of two in the evaluation
KILLS = 9  # of each under each driver: 108 in all
PROGRAMS = ["dfs", "beam", "best-first", "lats", "rap", "evaluation"]
OTHERS = ["mcts", "ab-mcts"]  # by the same controller as lats and rap, and by one that is like it

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL and fork are POSIX's")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., dict[str, Any]]]:
    """What happened in a case; all of them in one process that has imported once."""
    folder = tmp_path_factory.mktemp("k")
    runs = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "kill_runs.py"), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert runs.stdin is not None
    assert runs.stdout is not None

    def ask(**case: Any) -> dict[str, Any]:
        runs.stdin.write(json.dumps(case) + "\n")  # type: ignore[union-attr]
        runs.stdin.flush()  # type: ignore[union-attr]
        found: dict[str, Any] = json.loads(runs.stdout.readline())  # type: ignore[union-attr]
        assert "error" not in found, found["error"]
        return found

    try:
        yield ask
    finally:
        runs.stdin.close()
        try:
            runs.wait(30)
        finally:
            runs.kill()
            runs.wait()


def check(found: dict[str, Any], kills: int) -> None:
    """What holds for every case, but for the equality with the unbroken run."""
    assert found["threads"] == 1  # else its forks would be no fair runs
    whole, histories = found["unbroken"], found["histories"]
    assert whole["code"] == 0
    assert sorted(whole["after"]) == sorted(whole["asked"])
    assert sum(run["killed"] for history in histories for run in history) == kills
    for history in histories:
        *broken, last, again = history
        for run in broken:
            assert run["killed"]
        assert (last["code"], again["code"]) == (0, 0)
        for run in history:
            before, after, asked = (Counter(run[name]) for name in ("before", "after", "asked"))
            assert before <= after  # what was on disk stays there
            assert after - before <= asked  # a line a reply
            lost = asked - (after - before)
            assert lost.total() <= (IN_FLIGHT if run["killed"] else 0)  # paid and not on disk: in flight at the kill
        # No prompt was paid for more often than the whole run has it on disk, and was in flight at a kill.
        lost_at_kills = sum(len(run["asked"]) - (len(run["after"]) - len(run["before"])) for run in broken)
        assert sum(len(run["asked"]) for run in history) == len(last["after"]) + lost_at_kills
        assert (again["asked"], again["after"], again["result"]) == ([], last["after"], last["result"])


@pytest.mark.parametrize("driver", ["threads", "asyncio"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_killed_run_goes_on_to_the_unbroken_runs_result(told: Any, program: str, driver: str) -> None:
    seed = 10 * PROGRAMS.index(program) + (driver == "asyncio")
    found = told(program=program, driver=driver, kills=KILLS, seed=seed)
    check(found, KILLS)
    assert len(found["unbroken"]["asked"]) >= 20
    ends_as_if_unbroken(found)


@pytest.mark.parametrize("driver", ["threads", "asyncio"])
@pytest.mark.parametrize("program", OTHERS)
def test_so_does_one_by_a_controller_of_rollouts(told: Any, program: str, driver: str) -> None:
    found = told(program=program, driver=driver, kills=2, seed=100 + 10 * OTHERS.index(program) + (driver == "asyncio"))
    check(found, 2)
    ends_as_if_unbroken(found)


def ends_as_if_unbroken(found: dict[str, Any]) -> None:
    whole = found["unbroken"]
    for history in found["histories"]:
        *broken, last, _ = history
        assert last["result"] == whole["result"]
        assert Counter(last["after"]) == Counter(whole["after"])
        for run in (*broken, last):
            # Asked is only what the whole run asks and the disk had no reply to: nothing on disk is paid again.
            assert Counter(run["asked"]) <= Counter(whole["asked"]) - Counter(run["before"])


@pytest.mark.parametrize("driver", ["threads", "asyncio"])
def test_with_rollouts_at_once_a_killed_run_goes_on_from_its_own_tree(told: Any, driver: str) -> None:
    """Which tree it is hangs on the order of replies, so it is compared with itself alone: told once more from disk."""
    found = told(program="rap, three rollouts at once", driver=driver, kills=3, seed=90 + (driver == "asyncio"))
    check(found, 3)
    assert {history[-1]["result"]["status"] for history in found["histories"]} == {
        found["unbroken"]["result"]["status"]
    }
