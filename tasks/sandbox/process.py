"""The host's end of a launcher: its process, started and, whatever happens, ended."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ...search.environment import EnvironmentFault
from .bundle import START, bundled
from .inside.folder import remove

# -P -s -S: no path but the standard library's. The environment is ours alone, so -I is not needed, which would
# ignore the seed of hashes: with it a set's order is the same in every run.
FLAGS = ("-P", "-s", "-S", "-X", "utf8", "-c", START)
ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONCOERCECLOCALE": "0"}
GRACE = 45.0  # seconds beyond the wall limit in which a launcher is to have answered: its start, and its sweep
GOODBYE = 15.0  # seconds in which one that is no longer wanted ends its run


class SandboxUnavailable(EnvironmentFault):
    """A program could not be run here: no verdict about the program."""


def run_launcher(order: dict[str, Any], checks: Sequence[tuple[str, str | None]], wall_seconds: float) -> bytes:
    """A launcher's reply to `order`, and to `checks` for its examiner. SandboxUnavailable if there is none."""
    if sys.platform != "linux":
        raise SandboxUnavailable(f"the sandbox needs Linux, and this is {sys.platform}; give another runner")
    with _folder() as folder, _launcher() as launcher:
        try:
            reply, errors = launcher.communicate(bundled(order | {"folder": folder}, checks), wall_seconds + GRACE)
        except subprocess.TimeoutExpired:
            raise SandboxUnavailable(
                f"the sandbox did not answer within {wall_seconds + GRACE:g} s", transient=True
            ) from None
    if launcher.returncode or not reply:
        told = errors.decode("utf-8", "replace").strip()
        raise SandboxUnavailable(f"the sandbox failed with status {launcher.returncode}: {told or 'it says nothing'}")
    return reply


@contextmanager
def _launcher() -> Iterator[subprocess.Popen[bytes]]:
    """A launcher's process; over, with all of its run, when the block is left."""
    python = getattr(sys, "_base_executable", None) or sys.executable
    if not python:
        raise SandboxUnavailable("the sandbox needs a Python to run, and sys.executable is empty")
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            [python, *FLAGS], stdin=pipe, stdout=pipe, stderr=pipe, env=ENVIRONMENT, start_new_session=True
        )
    except OSError as error:
        busy = isinstance(error, BlockingIOError | MemoryError)
        raise SandboxUnavailable(f"the sandbox could not be started: {error}", transient=busy) from error
    try:
        yield process
    finally:
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                _close(stream.close)
        try:  # it sees that nobody listens, and ends its run
            process.wait(GOODBYE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _close(close: Callable[[], None]) -> None:
    try:
        close()
    except BrokenPipeError:  # what was still to be written has no reader
        return


@contextmanager
def _folder() -> Iterator[str]:
    """An empty folder, gone afterwards with whatever is in it by then."""
    try:
        folder = tempfile.mkdtemp(prefix="sandbox-")
    except OSError as error:
        raise SandboxUnavailable(f"the sandbox has no folder to work in: {error}") from error
    try:
        yield folder
    finally:
        with suppress(FileNotFoundError):  # a launcher that was left alone has removed it
            remove(folder)
