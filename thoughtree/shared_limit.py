"""A `limit` that several processes share: what they have spent stands in a small file, which each maps and locks."""

from __future__ import annotations

import mmap
import struct
import threading
from pathlib import Path
from typing import Any

from .modules.calls.limit import limit
from .optimize.log_lines import lock, unlock

FIELDS = {"calls": "q", "tokens": "q", "cost": "d", "seconds": "d", "stopped": "q", "unpriced": "q"}
WIDTH = 8  # bytes a field


class SharedLimit(limit):
    """The ceilings of a `limit` over all processes that are given the same file.

    What a process had reserved when it was killed stays counted: it may have been paid. Seconds count from when each
    process enters it: give each what is left.
    """

    def __init__(self, path: Path, **ceilings: Any) -> None:
        super().__init__(**ceilings)
        self._sum, self._lock = _Mapped(path), _Turn(path)


class _Mapped:
    """The numbers of the file, by their names. To be used by one process at a time."""

    def __init__(self, path: Path) -> None:
        with open(path, "a+b") as file, _Locked(file):
            if file.seek(0, 2) < WIDTH * len(FIELDS):
                file.truncate(WIDTH * len(FIELDS))
            object.__setattr__(self, "_map", mmap.mmap(file.fileno(), WIDTH * len(FIELDS)))

    def __getattr__(self, name: str) -> Any:
        if name not in FIELDS:
            raise AttributeError(name)
        found = struct.unpack_from(FIELDS[name], self._map, _place(name))[0]
        if name == "unpriced":
            return "a model that was called" if found else None
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "unpriced":
            value = value is not None
        struct.pack_into(FIELDS[name], self._map, _place(name), value)


def _place(name: str) -> int:
    return WIDTH * list(FIELDS).index(name)


class _Locked:
    """Alone with a file that is open, among all processes; a kill lets it go."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __enter__(self) -> None:
        lock(self._file, alone=True, wait=True)

    def __exit__(self, *error: Any) -> None:
        unlock(self._file)


class _Turn:
    """Alone among the threads of this process, and among processes."""

    def __init__(self, path: Path) -> None:
        self._thread, self._process = threading.Lock(), _Locked(open(path, "ab"))  # noqa: SIM115  # as long as the limit

    def __enter__(self) -> None:
        self._thread.acquire()
        try:
            self._process.__enter__()
        except BaseException:  # an interrupt, while it waited
            self._thread.release()
            raise

    def __exit__(self, *error: Any) -> None:
        self._process.__exit__()
        self._thread.release()
