"""The write-ahead journal of one search: each reply on disk before the search is told.

JSON lines. The first is a header that says which search this is; each other one is a reply, written by the
thread that received it, or marks the place of a reply that code gave and will give again. Each line ends with a
check of all before it (`chain`). Lines between them show the tree to readers (`growth`). Opening an existing journal
reads its replies for a resumed search to be told again.
A line torn by a crash is dropped; any other damage is an error that names its line, and changes nothing.
"""

from __future__ import annotations

import json
import os
import stat
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .chain import opened, sealed
from .codec import Codec, Recorded
from .lines import journal_line, json_object
from .lock import lock
from .protocol import Ask, Refused, Reply
from .roles import ProtocolError, check_answer

FORMAT = "thoughtree.journal/3"
TELLING = ("versions", "written")  # header entries that say something, and need not be the same on resume
BEGINNING = b'{"format": "thoughtree.journal/'  # of every journal
TREE, END = b'{"tree": [', b'{"end": {'  # lines for readers, which a resumed run does without: see `growth`


# What holds itself raises RecursionError, without a look for it at every reply.
_encode = json.JSONEncoder(allow_nan=False, check_circular=False).encode


class JournalError(Exception):
    """A journal that cannot be written, or belongs to another search."""


class Journal:
    """An open journal.

    path: the file, created if it is not there. header: what must be the same for a run to be continued.
    fsync: force each line to the disk itself (slower; survives a power cut, not only a crash).
    Raises JournalError for a file in use by another writer, of another search, or damaged.
    """

    def __init__(
        self, path: str | Path, header: Mapping[str, Any], *, codec: Codec | None = None, fsync: bool = False
    ) -> None:
        self.path, self.codec, self.fsync = Path(path), codec or Codec(), fsync
        self._lines: deque[tuple[int, bytes]] = deque()  # held already, by their numbers, and not given yet
        self.grown: tuple[int, int, int] = (0, 0, 0)  # nodes that have a row in it, their mark, those with a state
        self.ended = False  # whether it ends with what became of its search
        self.lock = threading.Lock()
        self._closed = self._sealed = False
        self._broken: JournalError | None = None
        self._check = 0  # of the last line
        self._held = b""  # lines for readers, written with the next one: each call to the system costs time
        self._unlock: Callable[[], None] | None = None
        self._process = os.getpid()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Held open until close(). Unbuffered: a line that cannot be written does not linger to be glued to another.
            self._file = open(self.path, "a+b", buffering=0)  # noqa: SIM115
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            raise JournalError(f"journal {self.path}: cannot be opened for writing: {error}") from error
        self._place = os.path.abspath(self.path)  # whatever becomes the current folder
        try:
            if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                raise JournalError(f"journal {self.path}: not a regular file; give the path of one, new or a journal")
            self._take_lock()
            self._own = _identity(os.fstat(self._file.fileno()))
            self._known = _identity(os.stat(self._place)) == self._own  # some file systems number files anew
            self._read(json.loads(json.dumps({"format": FORMAT} | dict(header), default=str)))
        except BaseException:
            self._file.close()
            raise

    def write(self, ask: Ask, reply: Reply) -> None:
        """Append one reply, and force it to the disk if that was asked for.

        After close(), and for a refusal (nothing was paid), nothing is written.
        Raises JournalError for a reply that is not JSON, and for a file that cannot be written: then and ever after.
        """
        self.append(ask, reply)
        self.force()

    def append(self, ask: Ask, reply: Reply) -> None:
        """Write one reply, and leave it to `force` to have it on the disk itself."""
        if isinstance(reply.outcome, Refused):
            return
        check_answer(ask.request, reply.outcome)  # on disk, it would end every run that resumes
        try:
            text = _encode(self.codec.write(ask, reply))
        except Exception as error:  # the codec is the task's: it may raise anything
            raise JournalError(
                f"journal {self.path}: the reply to {ask.request!r} cannot be written as JSON: {error}"
            ) from error
        with self.lock:
            if not (self._closed or self._sealed):
                self._append(text)
                self.ended = False

    def note(self, kind: str, value: Any) -> None:
        """Append a line for readers: "tree", which is written with the line that comes next, or "end".

        After close() nothing is written. Raises JournalError for a file that cannot be written.
        """
        text = json.dumps({kind: value}, allow_nan=False, default=str)
        with self.lock:
            if self._closed or (self._sealed and kind != "end"):
                return
            self.ended = kind == "end"
            if self.ended:
                self._append(text)
            else:
                self._hold(text)

    def force(self) -> None:
        """If fsync was asked for, return once all that was appended is on the disk itself. From any thread."""
        if not self.fsync:
            return
        with self.lock:
            if self._closed or self._broken is not None:
                return
            file = os.dup(self._file.fileno())  # others may append meanwhile, or close it
        try:
            os.fsync(file)
        except OSError as error:
            self._broken = JournalError(f"journal {self.path}: cannot be forced to the disk: {error}")
            raise self._broken from error
        finally:
            os.close(file)

    def recorded(self) -> Iterator[Recorded]:
        """What it held as it was opened, in the order in which it was told. Each line is given once, and let go.

        Raises JournalError for a line that is no reply. It was written so: what was damaged since is found on opening.
        """
        read, lines = self.codec.read, self._lines
        while lines:
            number, line = lines.popleft()
            try:
                found = read(*journal_line(line))
                if found.reply is not None:
                    check_answer(found.request, found.reply.outcome)
            except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, ProtocolError) as error:
                raise self._wrong(number, f"not a reply of a search ({error})") from error
            yield found

    def seal(self) -> None:
        """Nothing but the end is written any more: the search is over, and a step that it was left in adds nothing."""
        with self.lock:
            self._sealed = True

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        with self.lock:
            if self._closed:
                return
            try:
                if self._held and self._broken is None and self._process == os.getpid():
                    self._write()
            finally:
                self._closed = True
                # Not left to the descriptor's end: a line that is being forced has another, which would keep the lock.
                if self._unlock is not None and self._process == os.getpid():  # a fork's is its parent's
                    self._unlock()
                self._file.close()

    def _append(self, text: str) -> None:
        if self._broken is not None:
            raise self._broken  # behind a torn line, nothing more: the file stays readable
        self._hold(text)
        self._write()

    def _hold(self, text: str) -> None:
        line, self._check = sealed(text.encode(), self._check)
        self._held += line + b"\n"

    def _write(self) -> None:
        left, self._held = self._held, b""
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._broken = JournalError(f"journal {self.path}: cannot be written: {error}")
            raise self._broken from error
        if self._is_gone():  # the file that was written to has no name any more, or another
            self._broken = JournalError(
                f"journal {self.path}: deleted, moved or replaced while this run was writing to it; what was paid for "
                "is not there to go on from. Start again with another journal, and leave it alone meanwhile"
            )
            raise self._broken

    def _is_gone(self) -> bool:
        """Whether the path leads elsewhere by now."""
        try:
            return _identity(os.stat(self._place)) != self._own and self._known
        except FileNotFoundError:
            return True
        except OSError:  # nobody can tell
            return False

    def _take_lock(self) -> None:
        try:
            self._unlock = lock(self._file)
        except BlockingIOError as error:
            raise JournalError(f"journal {self.path}: another run is writing to it; give each run its own") from error
        except OSError as error:
            raise JournalError(
                f"journal {self.path}: cannot be locked ({error}); give a path on a local disk"
            ) from error

    # ---- what is there already

    def _read(self, header: dict[str, Any]) -> None:
        content = self._content()
        end = content.rfind(b"\n") + 1
        first, *lines = content[:end].split(b"\n")[:-1] or [b""]
        if first:
            self._same(first, header)
            self._take(lines)
        elif end or not (content.startswith(BEGINNING) or BEGINNING.startswith(content)):
            raise self._wrong(1, "not JSON, so this is no journal")  # and not ours to truncate
        if end < len(content):  # a torn last line: its call is asked again
            self._truncate(end)
        if not first:
            self._append(json.dumps(header))
            self.force()
            if self.fsync:
                self._keep_name()

    def _take(self, lines: list[bytes]) -> None:
        """Check all lines behind the header, and keep the replies among them."""
        shown = b""
        for number, line in enumerate(lines, 2):
            body = self._opened(number, line)
            if body.startswith(TREE):
                shown = body
            elif not body.startswith(END):
                self._lines.append((number, body))
        self.ended = bool(lines) and lines[-1].startswith(END)
        if shown:
            count, mark, stated, *_ = json.loads(shown)["tree"]
            self.grown = count, mark, stated

    def _content(self) -> bytes:
        try:
            self._file.seek(0)
            return self._file.read()
        except OSError as error:
            raise JournalError(f"journal {self.path}: cannot be read: {error}") from error

    def _truncate(self, end: int) -> None:
        try:
            self._file.truncate(end)
        except OSError as error:
            raise JournalError(f"journal {self.path}: its torn last line cannot be dropped: {error}") from error

    def _keep_name(self) -> None:
        """A new file outlasts a power cut once its folder is on the disk too."""
        if os.name == "nt":  # where folders cannot be opened
            return
        try:
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise JournalError(f"journal {self.path}: its folder cannot be forced to the disk: {error}") from error

    def _opened(self, number: int, line: bytes) -> bytes:
        try:
            body, self._check = opened(line, self._check)
        except ValueError as error:
            raise self._wrong(
                number, f"{error}; to go on from the line before it, delete it and all that follows"
            ) from error
        return body

    def _same(self, line: bytes, wanted: dict[str, Any]) -> None:
        """Whether the first line is this search's header."""
        try:
            found = json_object(line)
        except ValueError as error:
            raise self._wrong(1, f"{error}, so this is no journal") from error
        names = {"format"}
        if found.get("format") == wanted["format"]:
            self._opened(1, line)
            del found["sum"]
            names = (found.keys() | wanted.keys()).difference(TELLING)
        differ = [
            f"{name}: {found.get(name)!r} there, {wanted.get(name)!r} now"
            for name in sorted(names)
            if found.get(name) != wanted.get(name)
        ]
        if differ:
            raise JournalError(
                f"journal {self.path} belongs to another search, by its header ({'; '.join(differ)}); "
                "give this run a journal of its own, or the settings of that one"
            )

    def _wrong(self, number: int, why: str) -> JournalError:
        return JournalError(f"journal {self.path}, line {number}: {why}")


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
