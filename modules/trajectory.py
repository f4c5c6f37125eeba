"""What actors, judges and reflectors are shown: actions with what was observed, and the lessons so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tasks import layout

NOTHING = "(none)"
MOST_LESSONS = 8  # the newest, within
MOST_CHARACTERS = 4_000


def trajectory(steps: Sequence[tuple[str, str]]) -> str:
    """Actions and observations in order, numbered."""
    parts: list[str] = []
    for i, (action, observation) in enumerate(steps, 1):
        parts.append(layout.labelled(f"Action {i}", action))
        if observation:
            parts.append(layout.labelled(f"Observation {i}", observation))
    return "\n".join(parts) or NOTHING


def lessons_shown(lessons: Sequence[str], most: int = MOST_LESSONS, characters: int = MOST_CHARACTERS) -> str:
    """The newest lessons that fit, oldest of them first, no two alike. One that is too long hides no other."""
    chosen: dict[str, str] = {}
    room = characters
    for lesson in reversed(lessons):
        if len(chosen) == most:
            break
        if len(lesson) <= room and alike_by(lesson) not in chosen:
            chosen[alike_by(lesson)] = lesson
            room -= len(lesson)
    return layout.bulleted(reversed(chosen.values())) or NOTHING


def alike_by(lesson: str) -> str:
    """The same for lessons that differ in case and spacing alone."""
    return " ".join(lesson.casefold().split())


def observed_text(observation: Any) -> str:
    """An observation as text: a step's own, or the record that an environment's outcome is kept as."""
    if isinstance(observation, dict):
        return str(observation.get("observation") or observation.get("feedback") or "")
    return "" if observation is None else str(observation)


def feedback_text(observation: Any) -> str:
    """Why a step was judged wrong, as far as the environment said."""
    if isinstance(observation, dict):
        return str(observation.get("feedback") or observation.get("observation") or "")
    return observed_text(observation)
