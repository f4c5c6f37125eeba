"""What a host asks a launcher for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Order(TypedDict):
        """Sizes in bytes, times in seconds; `folder`: an empty one, of this run alone.

        checks: those that the program's own process runs; None: an examiner does, and reads them after the order.
        """

        setup: str
        code: str
        name: str
        checks: list[tuple[str, str | None]] | None
        stdin: bytes
        folder: str
        cpu: float
        wall: float
        memory: int
        output: int
        files: int
        processes: int
        paths: list[str]
        strict: bool
        without: list[str]
