"""The reflector: one lesson from one failed attempt."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

import dspy

from .. import signatures
from ..search.protocol import Outcome, Reflected, Unread
from . import reader as reading
from .compose import compose
from .predictor import Predict
from .shown import NodeView
from .trajectory import alike_by, feedback_text, trajectory

LEAST_WORDS = 3  # outside of code
_WORD = re.compile(r"[^\W\d_]{2,}")
_ANNOUNCED = re.compile(
    r"^\W*(?:(?:so|thus|hence|therefore)\b\W*)?(?:(?:the|my)\s+)?(?:(?:final|correct|right)\s+)?"
    r"(?:answer|result|solution|output)\s*(?:\bis\b|=|:)",
    re.IGNORECASE,
)
_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)


class Reflect(dspy.Module):
    """One LM call about a failed attempt.

    A reply that is a bare answer is no lesson, and is not kept: a value, a program, or what was tried already.
    """

    def __init__(self, user: type[dspy.Signature], *, notes: str | None = None) -> None:
        super().__init__()
        self.predict = Predict(compose(user, signatures.Reflect, notes=notes))

    def render(self, node: NodeView) -> dict[str, Any]:
        return {"search_path": trajectory(node.trajectory), "attempt_feedback": feedback_text(node.observation)}

    def read(self, prediction: dspy.Prediction, tried: Sequence[str] = ()) -> Outcome:
        """tried: the actions of the attempt, as text."""
        said = str(prediction.attempt_lesson or "")
        lesson = reading.clean(said).strip()
        return Unread(lesson) if _is_bare(said, lesson, tried) else Reflected(lesson)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return self.predict(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return await self.predict.acall(**inputs)


def _is_bare(said: str, lesson: str, tried: Sequence[str]) -> bool:
    """Is it an answer, and nothing about one?"""
    told = _ANNOUNCED.sub("", _FENCED.sub("", said))  # "The answer is 925." is as bare as 925
    if len(_WORD.findall(told)) < LEAST_WORDS:
        return True
    return alike_by(lesson) in map(alike_by, tried) or _is_program(lesson)


def _is_program(text: str) -> bool:
    try:
        return bool(ast.parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
