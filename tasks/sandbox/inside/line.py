"""The two ends of a pair of pipes: whole messages, in and out."""

from __future__ import annotations

from os import read, write  # a program may put others into `os`

MOST = 1 << 28  # bytes of one message
CHUNK = 1 << 20


class Line:
    """reading, writing: open files."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing

    def send(self, data: bytes) -> None:
        """OSError where there is nobody at the other end."""
        left = memoryview(len(data).to_bytes(4, "big") + data)
        while left:
            left = left[write(self._writing, left) :]

    def receive(self) -> bytes | None:
        """None where there is nobody at the other end any more, or one who sends no messages."""
        head = self._exactly(4)
        size = int.from_bytes(head, "big")
        if len(head) < 4 or size > MOST:
            return None
        data = self._exactly(size)
        return data if len(data) == size else None

    def _exactly(self, size: int) -> bytes:
        data = read(self._reading, size) if size <= CHUNK else b""
        if len(data) == size:
            return data
        parts, left = [data], size - len(data)
        while left and (part := read(self._reading, min(left, CHUNK))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
