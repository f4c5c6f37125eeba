"""Lines that are kept in memory alone, for a recording without a file."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class LinesMemory:
    """As LinesFile; a line's place is its number, counted from 0."""

    path = None

    def __init__(self) -> None:
        self.seen = 0
        self._lines: list[bytes] = []
        self._turn = threading.RLock()

    def fresh(self) -> Iterator[tuple[int, bytes]]:
        yield from ()

    def lines(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        yield from enumerate(self._lines[start:], start)

    def line(self, start: int) -> bytes:
        return self._lines[start]

    def number(self, start: int) -> int:
        return start + 1

    def is_current(self) -> bool:
        return True

    @contextmanager
    def writing(self) -> Iterator[LinesMemory]:
        with self._turn:
            yield self

    def append(self, lines: Sequence[bytes]) -> list[int]:
        begins = list(range(self.seen, self.seen + len(lines)))
        self._lines += lines
        self.seen = len(self._lines)
        return begins

    def after_fork(self) -> None:
        self._turn = threading.RLock()
