"""A file of JSON lines that a kill cannot spoil: each is appended whole, with a digest, or dropped as it is torn."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..modules.header import digest

DIGEST = "digest"  # of the rest of a line: a score in which a digit was changed is found out


class LogError(Exception):
    """A log that cannot be written, is damaged, in use, or belongs to another evaluation."""


class LogLines:
    """An open file, made if it is not there.

    shared: other processes append to it too, each under a lock in a file beside it, which the system lets go of when
    its holder is killed; else it is this process's alone. LogError where that cannot be had.
    """

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        self.path, self.shared = path, shared
        self._read_to, self._number = 0, 0
        self._turn = threading.RLock()
        # Held open until close(). Unbuffered: a line that cannot be written does not linger.
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115
        try:
            if not lock(self._file, alone=not shared):
                raise LogError(f"{path}: another run is writing to it; give each run its own folder")
            self._turns = open(path.with_suffix(".lock"), "ab") if shared else None  # noqa: SIM115
        except BaseException:
            self._file.close()
            raise

    @property
    def closed(self) -> bool:
        return self._file.closed

    def close(self) -> None:
        with self._turn:
            self._file.close()
            if self._turns is not None:
                self._turns.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One process and thread at a time. A line that a killed one has torn is taken off first."""
        with self._turn:
            if self._turns is not None and not self._turns.closed:
                lock(self._turns, alone=True, wait=True)
            try:
                if not self._file.closed:
                    self._mend()
                yield
            finally:
                if self._turns is not None and not self._turns.closed:
                    unlock(self._turns)

    def append(self, line: Mapping[str, Any]) -> None:
        """Within `writing`. LogError where it cannot be done; nothing once it was closed."""
        if self._file.closed:  # by an interruption: what ends later is not counted any more
            return
        left = json.dumps({**line, DIGEST: digest(line)}, allow_nan=False).encode() + b"\n"
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._file.close()  # behind a torn line, nothing more
            raise LogError(f"{self.path}: cannot be written: {error}") from error

    def fresh(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The whole lines since the last time, by their numbers. LogError for one that is damaged."""
        with self._turn:
            self._file.seek(self._read_to)
            content = self._file.read()
            end = content.rfind(b"\n") + 1
            self._read_to += end
        for line in content[:end].splitlines():
            self._number += 1
            yield self._number, self._parsed(self._number, line)

    def wrong(self, number: int, why: str) -> LogError:
        return LogError(f"{self.path}, line {number}: {why}")

    def _mend(self) -> None:
        if not self._file.seek(0, os.SEEK_END):
            return
        self._file.seek(-1, os.SEEK_END)
        if self._file.read(1) != b"\n":
            self._file.seek(self._read_to)
            whole = self._file.read().rfind(b"\n") + 1
            self._file.truncate(self._read_to + whole)

    def _parsed(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self.wrong(number, f"not JSON ({error})") from error
        if not isinstance(found, dict):
            raise self.wrong(number, "not a JSON object")
        if found.pop(DIGEST, None) != digest(found):
            raise self.wrong(number, "it was changed since it was written; take it out to run it again")
        return found


def lock(file: Any, *, alone: bool, wait: bool = False) -> bool:
    """Whether the lock was had, alone or with others who want it so too. True where a system has no such locks."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file.fileno(), (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def unlock(file: Any) -> None:
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(file.fileno(), fcntl.LOCK_UN)


def has_locks() -> bool:
    """Whether this system has the locks by which processes share a folder."""
    try:
        import fcntl  # noqa: F401
    except ImportError:
        return False
    return True
