"""The write-ahead journal of one search: each reply on disk before the search is told.

JSON lines. The first is a header that says which search this is; each other one is a reply, written by the
thread that received it, or marks the place of a reply that code gave and will give again. Opening an existing
journal reads its replies for a resumed search to be told again.
A line torn by a crash is dropped; a wrong line in the middle is an error that names it.
"""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from .codec import Codec
from .protocol import Ask, Refused, Reply, Request
from .roles import ProtocolError, check_answer

FORMAT = "thoughtree.journal/1"
TELLING = ("versions", "written")  # header entries that say something, and need not be the same on resume


class JournalError(Exception):
    """A journal that cannot be written, or belongs to another search."""


class Journal:
    """An open journal. `recorded`: what it already held, in the order in which it was told; None: code's reply.

    path: the file, created if it is not there. header: what must be the same for a run to be continued.
    fsync: force each line to the disk itself (slower; survives a power cut, not only a crash).
    Raises JournalError for a file in use by another writer, of another search, or damaged.
    """

    def __init__(
        self, path: str | Path, header: Mapping[str, Any], *, codec: Codec | None = None, fsync: bool = False
    ) -> None:
        self.path, self.codec, self.fsync = Path(path), codec or Codec(), fsync
        self.recorded: list[tuple[tuple[Request, int], Reply | None]] = []
        self.lock = threading.Lock()
        self._closed = False
        self._broken: JournalError | None = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Held open until close(). Unbuffered: a line that cannot be written does not linger to be glued to another.
            self._file = open(self.path, "a+b", buffering=0)  # noqa: SIM115
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise JournalError(f"journal {self.path}: cannot be opened for writing: {error}") from error
        try:
            if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                raise JournalError(f"journal {self.path}: not a regular file; give the path of one, new or a journal")
            self._take_lock()
            self._read(dict(header))
        except BaseException:
            self._file.close()
            raise

    def write(self, ask: Ask, reply: Reply) -> None:
        """Append one reply. After close(), and for a refusal (nothing was paid), nothing is written.

        Raises JournalError for a reply that is not JSON, and for a file that cannot be written: then and ever after.
        """
        if isinstance(reply.outcome, Refused):
            return
        check_answer(ask.request, reply.outcome)  # on disk, it would end every run that resumes
        try:
            text = json.dumps(self.codec.write(ask.request, ask.attempt, reply), allow_nan=False)
        except Exception as error:  # the codec is the task's: it may raise anything
            raise JournalError(
                f"journal {self.path}: the reply to {ask.request!r} cannot be written as JSON: {error}"
            ) from error
        with self.lock:
            if not self._closed:
                self._append(text)

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        with self.lock:
            if not self._closed:
                self._closed = True
                self._file.close()

    def _append(self, text: str) -> None:
        if self._broken is not None:
            raise self._broken  # behind a torn line, nothing more: the file stays readable
        left = text.encode() + b"\n"
        try:
            while left:
                left = left[self._file.write(left) :]
            if self.fsync:
                os.fsync(self._file.fileno())
        except OSError as error:
            self._broken = JournalError(f"journal {self.path}: cannot be written: {error}")
            raise self._broken from error

    def _take_lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # no such lock on this system
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise JournalError(f"journal {self.path}: another run is writing to it; give each run its own") from error

    def _read(self, header: dict[str, Any]) -> None:
        self._file.seek(0)
        content = self._file.read()
        end = content.rfind(b"\n") + 1
        if end < len(content):  # a torn last line: its call is asked again
            self._file.truncate(end)
        lines = content[:end].splitlines()
        header = json.loads(json.dumps({"format": FORMAT} | header, default=str))
        if not lines:
            self._append(json.dumps(header))
            return
        self._same(self._parse(1, lines[0]), header)
        for number, line in enumerate(lines[1:], 2):
            try:
                key, reply = self.codec.read(self._parse(number, line))
                if reply is not None:
                    check_answer(key[0], reply.outcome)
                self.recorded.append((key, reply))
            except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, ProtocolError) as error:
                raise JournalError(f"journal {self.path}, line {number}: not a reply of a search ({error})") from error

    def _parse(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            value = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise JournalError(f"journal {self.path}, line {number}: not JSON ({error})") from error
        if not isinstance(value, dict):
            raise JournalError(f"journal {self.path}, line {number}: not a JSON object")
        return cast("dict[str, Any]", value)

    def _same(self, found: dict[str, Any], wanted: dict[str, Any]) -> None:
        differ = [
            f"{name}: {found.get(name)!r} there, {wanted.get(name)!r} now"
            for name in sorted(found.keys() | wanted.keys())
            if name not in TELLING and found.get(name) != wanted.get(name)
        ]
        if differ:
            raise JournalError(
                f"journal {self.path} belongs to another search, by its header ({'; '.join(differ)}); "
                "give this run a journal of its own, or the settings of that one"
            )


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")
