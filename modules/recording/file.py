"""A file of lines that several threads and processes append to, each of them seeing what the others wrote.

A writer holds an exclusive lock (flock) from the look at what others wrote until its lines are written, in one
descriptor of its own, so that forked processes exclude each other too. A killed writer leaves at most one line
without an end: readers pass over it, the next writer cuts it off. Locks of network file systems are as good as the
system that grants them; where there are none at all (Windows), one process may write.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .errors import RecordingError

try:
    import fcntl
except ImportError:  # no such lock on this system
    fcntl = None  # type: ignore[assignment]

CHUNK = 1 << 20  # bytes read at once
ONE = 1 << 14  # bytes read at once for a single line


class LinesFile:
    """The lines of one file. `seen`: up to which byte `fresh` has read."""

    def __init__(self, path: Path, *, create: bool) -> None:
        self.path, self.seen = path, 0
        self._turn = threading.RLock()
        try:
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(
                path, _FLAGS | (os.O_RDWR | os.O_APPEND | os.O_CREAT if create else os.O_RDONLY), 0o666
            )
        except FileNotFoundError as error:
            raise RecordingError(
                f"recording {path}: no such file; make one with RecordLM(lm, {str(path)!r})"
            ) from error
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            to = "reading and writing" if create else "reading"
            raise RecordingError(f"recording {path}: cannot be opened for {to}: {error}") from error
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            os.close(self._file)
            del self._file
            raise RecordingError(f"recording {path}: not a regular file; give the path of one, new or a recording")

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def is_current(self) -> bool:
        """Whether the path still leads to this file."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._file))
        except OSError:
            return False

    def fresh(self) -> Iterator[tuple[int, bytes]]:
        """Whole lines that were written since the last time, each with the byte at which it begins."""
        size = os.fstat(self._file).st_size
        if size < self.seen:
            raise RecordingError(f"recording {self.path}: another program has cut it; keep to one that is not changed")
        for start, line in self.lines(self.seen, size):
            yield start, line
            self.seen = start + len(line) + 1  # not before it was found good: a wrong one is met again

    def lines(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Whole lines from the byte `start` on."""
        stop, rest, at = self.seen if stop is None else stop, b"", start
        while at < stop and (chunk := self.bytes(min(CHUNK, stop - at), at)):
            at += len(chunk)
            if b"\n" not in chunk:
                rest += chunk
                continue
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield start, line
                start += len(line) + 1

    def line(self, start: int) -> bytes:
        """The line that begins at a byte."""
        found = b""
        while b"\n" not in found and (chunk := self.bytes(ONE + len(found), start + len(found))):
            found += chunk
        return found.partition(b"\n")[0]

    def bytes(self, n: int, start: int) -> bytes:
        """At most `n` bytes from the byte `start` on."""
        try:
            if hasattr(os, "pread"):
                return os.pread(self._file, n, start)
            with self._turn:
                os.lseek(self._file, start, os.SEEK_SET)
                return os.read(self._file, n)
        except OSError as error:
            raise RecordingError(f"recording {self.path}: cannot be read: {error}") from error

    def number(self, start: int) -> int:
        """Which line of the file begins at a byte, counted from 1."""
        return 1 + sum(1 for _ in self.lines(0, start))

    @contextmanager
    def writing(self) -> Iterator[_Writer]:
        """Alone among all threads and processes."""
        with self._turn:
            try:
                out = os.open(self.path, _FLAGS | os.O_RDWR | os.O_APPEND)
            except OSError as error:
                raise RecordingError(f"recording {self.path}: cannot be written: {error}") from error
            try:
                if not os.path.samestat(os.fstat(out), os.fstat(self._file)):
                    raise RecordingError(f"recording {self.path}: another file has taken its place while it was in use")
                _lock(out, self.path)
                yield _Writer(self, out)
            finally:
                os.close(out)  # and with it the lock

    def after_fork(self) -> None:
        self._turn = threading.RLock()


class _Writer:
    """Appends to a file whose lock is held, and all of whose lines have been seen."""

    def __init__(self, file: LinesFile, out: int) -> None:
        self.file, self.out = file, out

    def append(self, lines: Sequence[bytes]) -> list[int]:
        """Write lines, all or none; the bytes at which they begin."""
        start = self.file.seen
        begins, content = [], b""
        for line in lines:
            begins.append(start + len(content))
            content += line + b"\n"
        try:
            if os.fstat(self.out).st_size > start:  # a line without an end, of a writer that was killed
                os.ftruncate(self.out, start)
            left = memoryview(content)
            while left:
                left = left[os.write(self.out, left) :]
        except OSError as error:
            self._undo(start)
            raise RecordingError(f"recording {self.file.path}: cannot be written: {error}") from error
        self.file.seen = start + len(content)
        return begins

    def _undo(self, start: int) -> None:
        try:
            os.ftruncate(self.out, start)
        except OSError:
            return  # what is there of the line has no end: the next writer cuts it off


def _lock(file: int, path: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        raise RecordingError(
            f"recording {path}: cannot be locked ({error}); give a path on a file system that has locks"
        ) from error


# A pipe must not keep the opening waiting for somebody at its other end; Windows would change ends of lines.
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
