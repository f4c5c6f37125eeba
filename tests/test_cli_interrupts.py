"""Ctrl-C while no command is at work: as Python imports, and as it exits. One line and 130, and never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from patience import PATIENCE, until
from thoughtree.early_interrupt import INTERRUPTED
from thoughtree.exits import Exit

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals as POSIX has them")

# Stands before the real DSPy on the path. What it imports reaches for every exception, as modules with an optional
# extension do.
SLOW_DSPY = """
    import threading
    from pathlib import Path

    try:
        Path("there").touch()
        threading.Event().wait()
    except BaseException:
        pass
"""
# A program that is done at once, in a process that then does not end.
SLOW_EXIT = """
    import atexit
    import threading
    from pathlib import Path
    import thoughtree

    def hang():
        Path("there").touch()
        threading.Event().wait()

    atexit.register(hang)
    program = thoughtree.TreeOfThoughts(task=thoughtree.Game24())
"""
START = [["-m", "thoughtree"], ["-c", "from thoughtree.__main__ import main; main()"]]
MODULES = {"dspy.py": SLOW_DSPY, "slow_exit.py": SLOW_EXIT}


def interrupted(folder: Path, module: str, *arguments: str, deaf: bool = False) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a process that gets a Ctrl-C once this module hangs."""
    (folder / module).write_text(dedent(MODULES[module]))
    child = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if deaf else None,
    )
    try:
        until(lambda: (folder / "there").exists() or child.poll() is not None)
        child.send_signal(signal.SIGINT)
        if deaf:
            child.terminate()
        out, told = child.communicate(timeout=PATIENCE)
    finally:
        child.kill()
    return child.returncode, out, told


@pytest.mark.parametrize("start", START, ids=["module", "script"])
@pytest.mark.parametrize("words", [["solve", "4 9 10 13"], ["--help"]])
def test_while_it_imports(tmp_path: Path, start: list[str], words: list[str]):
    assert interrupted(tmp_path, "dspy.py", *start, *words) == (130, "", "thoughtree: interrupted\n")


def test_while_it_exits(tmp_path: Path):
    code, out, told = interrupted(
        tmp_path, "slow_exit.py", *START[0], "solve", "4 9 10 13", "--program", "slow_exit:program", "--quiet"
    )
    assert (code, out, told) == (130, "4 * (9 - (13 - 10))\n", "thoughtree: interrupted\n")


def test_a_process_that_was_started_deaf_to_it_stays_so(tmp_path: Path):
    """As `nohup` and a shell's background do."""
    assert interrupted(tmp_path, "dspy.py", *START[0], "--help", deaf=True) == (-signal.SIGTERM, "", "")


def test_it_is_the_exit_code_of_an_interrupt():
    assert INTERRUPTED == Exit.INTERRUPTED
