"""What a program and its examiner have between them: a pipe each way, and a channel for verdicts that is not shared."""

from __future__ import annotations

import gc
import os

from . import examiner, witness
from .channel import Channel
from .line import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from .order import Order


class Examination:
    """Made before the forks. Each side then keeps its own files, and the watching process those of `said` to read."""

    def __init__(self, word: str) -> None:
        self.said, self._questions, self._answers = os.pipe(), os.pipe(), os.pipe()
        self.channel = Channel(self.said[1], word)

    def leave(self) -> None:
        """In the process that only watches."""
        for file in (*self._questions, *self._answers):
            os.close(file)

    # ---- the examiner's side

    read_checks = staticmethod(lambda: examiner.read_checks(0))

    @property
    def of_examiner(self) -> tuple[int, ...]:
        return self.said[1], self._questions[1], self._answers[0]

    def examine(self, checks: list[tuple[str, str | None]], order: Order) -> NoReturn:
        gc.enable()
        line = Line(self._answers[0], self._questions[1])
        examiner.examine(checks, order["setup"], order["name"], line, self.channel)

    # ---- the program's side

    @property
    def of_program(self) -> tuple[int, ...]:
        return self._questions[0], self._answers[1]

    def answer_all(self, names: dict[str, Any]) -> bool:
        return witness.Witness(Line(self._questions[0], self._answers[1]), names).answer_all()
