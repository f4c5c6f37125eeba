"""`Recording`: every request and its reply, in one file, for any number of LMs, threads and processes."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from ...search.protocol import Usage
from ..calls.limit import limit
from . import line as lines
from .errors import RecordingError
from .file import LinesFile
from .flights import Flights
from .ledger import Ledger
from .memory import LinesMemory


class Recording:
    """The replies of one file, or of memory alone (path=None), by the key of their request (`asked`).

    path: a file of JSON lines, made if it is not there; create=False: it must be there, and is only read. Opening
    checks every line; RecordingError names the file and the line that is damaged or foreign. What other processes
    append is seen when it is looked for. `paid` and `hits`: what this process has paid and was served through it.
    `purse`: a `limit` for what is paid alone, so that hits take nothing from it; None: no ceiling but those around.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, create: bool = True) -> None:
        self.path = None if path is None else Path(path)
        self.flights, self.ledger = Flights(), Ledger()
        self.purse: limit | None = None
        self._lock = threading.RLock()
        self._places: dict[bytes, int] = {}
        self._lms: list[dict[str, Any]] = []
        self._lines = LinesMemory() if self.path is None else LinesFile(self.path, create=create)
        _all.add(self)
        if create and self.path is not None:
            with self._lines.writing() as out, self._lock:
                self._look()
                if not self._lines.seen:
                    self._refuse_foreign()
                    out.append([lines.header()])
        self._look()
        if not self._lines.seen and self.path is not None:
            self._refuse_foreign()
            raise RecordingError(f"recording {self.path}: it is empty; make one with RecordLM")

    @classmethod
    def at(cls, place: str | os.PathLike[str] | Recording | None, *, create: bool = True) -> Recording:
        """The recording of this path, one for all in a process that ask for it: they share what is in flight."""
        if isinstance(place, Recording):
            return place
        if place is None:
            return cls()
        try:
            real = os.path.realpath(place)
        except ValueError as error:  # a NUL in the name
            raise RecordingError(f"recording {place!r}: {error}") from error
        with _opening:
            found = _open.get(real)
            if found is None or not found._lines.is_current():
                found = _open[real] = cls(place, create=create)
            elif create:  # it may have been opened to be read alone
                with found._lines.writing():
                    pass
            return found

    @property
    def paid(self) -> Usage:
        """What this process's calls have cost, over all its LMs of this recording."""
        return self.ledger.paid

    @property
    def hits(self) -> Usage:
        """The same of the calls that were answered from it: what they did cost when they were paid."""
        return self.ledger.hits

    @property
    def lms(self) -> list[dict[str, Any]]:
        """What is recorded of the LMs that replied: see `definition`."""
        with self._lock:
            return list(self._lms)

    def __len__(self) -> int:
        """How many requests have a reply here."""
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        return bytes.fromhex(key) in self._places

    def find(self, key: str, *, look: bool = False) -> dict[str, Any] | None:
        """The reply's result, as DSPy dumps it; None: there is none. look: also at what others have written by now."""
        place = self._places.get(bytes.fromhex(key))
        if place is None and look:
            self._look()
            place = self._places.get(bytes.fromhex(key))
        return None if place is None else self._reply(place, self._checked(place, self._lines.line(place)))[1]

    def wrong(self, key: str, problem: str) -> RecordingError:
        """The error for a reply whose result nobody can read."""
        return self._wrong(self._places[bytes.fromhex(key)], problem)

    def keep(
        self, key: str, asked: dict[str, Any], result: dict[str, Any], lm: dict[str, Any], *, replace: bool = False
    ) -> dict[str, Any]:
        """Append a reply, unless another process was faster; the result that stands. replace: this one, in any case."""
        try:
            line = lines.reply_line(key, asked, result)
            lm_line = lines.lm_line(lm)
        except (TypeError, ValueError, RecursionError) as error:
            raise RecordingError(f"recording {self.path}: this reply cannot be written as JSON: {error}") from error
        with self._lines.writing() as out, self._lock:  # nobody here takes in lines that are only half accounted for
            self._look()
            if not replace and (before := self.find(key)) is not None:
                return before
            new = [] if lm in self._lms else [lm_line]
            begins = out.append([*new, line])
            self._places[bytes.fromhex(key)] = begins[-1]
            self._lms += [lm] if new else []
        return result

    def replies(self, newest: int) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
        """The newest replies as they were written: place, what was asked, result."""
        with self._lock:
            places = sorted(self._places.values())[-newest:]
        for place, line in self._lines.lines(places[0]) if places else ():
            body = self._checked(place, line)
            if lines.key_of(body) is not None:
                yield place, *self._reply(place, body)

    def number(self, place: int) -> int:
        """Which line of the file it is, counted from 1."""
        return self._lines.number(place)

    # ----

    def _look(self) -> None:
        """Take in the lines that were written since the last time."""
        with self._lock:
            for place, line in self._lines.fresh():
                body = self._checked(place, line)
                try:
                    self._take(place, body)
                except ValueError as error:  # WrongLine among them
                    raise self._wrong(place, str(error)) from error

    def _take(self, place: int, body: bytes) -> None:
        key = lines.key_of(body)
        if key is not None:
            self._places[bytes.fromhex(key)] = place
        elif lines.is_lm(body) and (lm := lines.lm_of(body)) not in self._lms:
            self._lms.append(lm)

    def _checked(self, place: int, line: bytes) -> bytes:
        try:
            return lines.checked(line, first=place == 0 and self.path is not None)
        except lines.WrongLine as error:
            raise self._wrong(place, str(error)) from error

    def _reply(self, place: int, body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
        try:
            return lines.reply_of(body)
        except lines.WrongLine as error:
            raise self._wrong(place, str(error)) from error

    def _wrong(self, place: int, problem: str) -> RecordingError:
        mend = "take that line out, or record into another file" if place else "give the path of another file"
        return RecordingError(f"recording {self.path}, line {self.number(place)}: {problem}; {mend}")

    def _refuse_foreign(self) -> None:
        """A file without a whole line: a header that was torn as it was written, or something else."""
        found = self._lines.line(0) if isinstance(self._lines, LinesFile) else b""
        if not lines.BEGINNING.startswith(found[: len(lines.BEGINNING)]):
            raise self._wrong(0, "it is no recording")

    def __copy__(self) -> Recording:
        return self

    def __deepcopy__(self, memo: Any) -> Recording:  # one file, whatever is copied that holds it
        return self

    def __reduce__(self) -> Any:
        if self.path is None:
            raise RecordingError("a recording in memory cannot be pickled; give it a path")
        return _again, (str(self.path),)

    def __repr__(self) -> str:
        return f"Recording({'' if self.path is None else repr(str(self.path))})"

    def _after_fork(self) -> None:
        self._lock, self.flights = threading.RLock(), Flights()
        self._lines.after_fork()


def _again(path: str) -> Recording:
    return Recording.at(path)


_opening = threading.Lock()
_open: WeakValueDictionary[str, Recording] = WeakValueDictionary()
_all: WeakSet[Recording] = WeakSet()


def _in_child() -> None:
    """A fork copies locks that are held and calls that are in flight, and not the threads that would end them."""
    global _opening
    _opening = threading.Lock()
    for recording in list(_all):
        recording._after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_in_child)
