"""What ends the command line with one line on stderr and an exit code."""

from __future__ import annotations

from .exits import Exit


class Mistake(Exception):
    """`code`: the exit code that goes with it."""

    def __init__(self, message: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.code = code
