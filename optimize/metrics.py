"""Metrics: whether code verifies the answer, and whether it is the data set's. Any DSPy metric will do beside."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dspy

from ..tasks import Task
from .fields import fields_of
from .running import search_of


@dataclass(frozen=True)
class Solved:
    """Whether code verified the answer: 1 or 0, never by a label.

    Without a task, what the program's own search says. With one, the task checks the output fields anew, so that
    programs which are no search are measured by the same code: `Solved(Game24())`.
    """

    task: Task[Any, Any] | None = None

    def __post_init__(self) -> None:
        if self.task is not None and not isinstance(self.task, Task):
            raise TypeError(f"Solved(task={self.task!r}): must be a task, such as Game24()")

    def __call__(self, example: dspy.Example, prediction: Any, trace: Any = None) -> bool:
        if self.task is None:
            search = search_of(prediction)
            if search is None:
                raise TypeError("solved: this prediction carries no search; give the task: Solved(Game24())")
            return search.solved
        task = self.task.for_inputs(fields_of(example.inputs()))
        if not task.has("check"):
            raise ValueError(f"Solved: {type(task).__name__} has no check(fields) hook, and cannot judge an answer")
        return task.check(fields_of(prediction)) is True


@dataclass(frozen=True, init=False)
class ExactMatch:
    """Whether output fields are the example's labels, after `normalized`. All of them must be.

    fields: their names, the same in example and prediction; none: all labels that the prediction has fields for.
    A label that is a list, where the prediction is none, holds the answers that are right, any of which will do.
    """

    fields: tuple[str, ...]

    def __init__(self, *fields: str) -> None:
        object.__setattr__(self, "fields", fields)

    def __call__(self, example: dspy.Example, prediction: Any, trace: Any = None) -> bool:
        labels, found = fields_of(example.labels()), fields_of(prediction)
        names = self.fields or tuple(name for name in labels if name in found)
        missing = [name for name in names if name not in labels or name not in found] if names else list(labels)
        if missing or not names:
            raise ValueError(
                f"exact_match: no field {', '.join(map(repr, missing)) or 'at all'} to compare: "
                f"the example's labels are {sorted(labels)}, the prediction has {sorted(found)}"
            )
        return all(matches(found[name], labels[name]) for name in names)


def matches(found: Any, label: Any) -> bool:
    """Whether these are the same after `normalized`; None is the same as nothing."""
    if found is None or label is None:
        return False
    if isinstance(label, list | tuple | set) and not isinstance(found, list | tuple | set):
        return any(matches(found, one) for one in label)
    return bool(normalized(found) == normalized(label))


def normalized(value: Any) -> Any:
    """Text in Unicode's NFKC form, case folded, white space trimmed and every run of it one space.

    Nothing else: punctuation and articles stay, and "24.0" is not "24". A number, but not a bool, is its text; lists
    and mappings are normalised inside.
    """
    if isinstance(value, Mapping):
        return {name: normalized(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [normalized(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str):
        return " ".join(unicodedata.normalize("NFKC", value).casefold().split())
    return value


solved = Solved()
exact_match = ExactMatch()
