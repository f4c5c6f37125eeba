"""A journal whose disk is full, or that may not be written to: a clear error, and nothing told that is not on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from journals import replies
from puzzle24 import PUZZLE, call, drivers, engine
from thoughtree import Beam, Game24, TreeOfThoughts

pytest.importorskip("resource", reason="limits and users as POSIX has them")

SCRIPT = """
import json, os, resource, sys
from pathlib import Path
os.chdir(sys.argv[1])
sys.path.insert(0, sys.argv[2])
from puzzle24 import PUZZLE, call, engine
from thoughtree import Beam, Game24, TreeOfThoughts

program = TreeOfThoughts(task=Game24(), controller=Beam(width=2), concurrency=4)
told = {}

def tried(driver, limit, path):
    model, events = engine(), []
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        call(program, model, driver, numbers=PUZZLE, config={"journal": path, "on_event": events.append})
        error = ""
    except Exception as caught:
        error = f"{type(caught).__name__}: {caught}"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    told[f"{driver} {limit}"] = {"error": error, "paid": model.count(), "told": len(events)}

for driver in ("threads", "asyncio"):
    for limit in (0, 100, 5000, 20000):
        tried(driver, limit, f"{driver} {limit}")

if os.geteuid() == 0:
    os.seteuid(65534)  # root may write everywhere
for path in ("closed/run.jsonl", "closed/new/run.jsonl", "closed.jsonl"):
    tried("threads", 10**6, path)
    told[path] = told.pop("threads 1000000")
print(json.dumps(told))
"""


def solver() -> TreeOfThoughts:
    return TreeOfThoughts(task=Game24(), controller=Beam(width=2), concurrency=4)


@pytest.fixture(scope="module")
def told() -> Iterator[tuple[Path, dict[str, Any]]]:
    """The folder, and what became of each run in a process whose files may not grow beyond a limit."""
    with TemporaryDirectory() as name:  # not pytest's own, which no other user may enter
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "closed.jsonl").touch(mode=0o444)
        (folder / "closed").mkdir(mode=0o555)
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT, name, str(Path(__file__).parent)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        yield folder, json.loads(ran.stdout)


@drivers
@pytest.mark.parametrize("limit", [0, 100, 5000, 20000])
def test_a_full_disk_ends_the_run_which_goes_on_once_there_is_room(told: Any, driver: str, limit: int) -> None:
    folder, runs = told
    found, path = runs[f"{driver} {limit}"], folder / f"{driver} {limit}"
    assert found["error"].startswith(f"JournalError: journal {driver} {limit}: cannot be written: [Errno 27]")
    assert path.stat().st_size == limit
    whole = len(replies(path))
    assert found["told"] <= whole  # nothing was told that is not on disk
    assert (found["paid"] == 0) == (limit < 1000)  # without a header, nothing starts
    assert found["paid"] <= whole + 4  # those that were in flight are lost
    unbroken = call(solver(), engine(), driver, numbers=PUZZLE)
    model = engine()
    again = call(solver(), model, driver, numbers=PUZZLE, config={"journal": path})
    assert again.search.path == unbroken.search.path
    assert [n.value for n in again.search.tree] == [n.value for n in unbroken.search.tree]
    assert model.count() == unbroken.search.spent.calls - whole


@pytest.mark.parametrize("path", ["closed/run.jsonl", "closed/new/run.jsonl", "closed.jsonl"])
def test_where_nothing_may_be_written_nothing_is_paid(told: Any, path: str) -> None:
    found = told[1][path]
    assert found["error"].startswith(f"JournalError: journal {path}: cannot be opened for writing: [Errno 13]")
    assert (found["paid"], found["told"]) == (0, 0)


def test_the_command_line_says_so_in_one_line(tmp_path: Path) -> None:
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)); "
    limited += "from thoughtree.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", limited, "solve", PUZZLE, "--journal", str(tmp_path / "run.jsonl")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    last = ran.stderr.splitlines()[-1]
    assert last.startswith(f"thoughtree: journal {tmp_path / 'run.jsonl'}: cannot be written: [Errno 27]")
