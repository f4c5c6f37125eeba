"""What a saved program says of itself: which one it is, and enough to build it again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import dspy

from . import annotation

SAME = ("program", "inputs", "outputs", "task")  # what must be so too where it is loaded


def about(kind: str, signature: type[dspy.Signature], task: Any) -> dict[str, Any]:
    """As JSON. kind: the program's class name."""
    fields = signature.fields
    return {
        "program": kind,
        "inputs": _types(signature.input_fields),
        "outputs": _types(signature.output_fields),
        "instructions": signature.instructions,
        "descriptions": {name: described(info) for name, info in fields.items()},
        "defaults": {
            name: info.default for name, info in fields.items() if not info.is_required() and _plain(info.default)
        },
        "task": describe(task),
    }


def describe(task: Any) -> str:
    """A task by its class and settings, the same in every process."""
    kind = type(task)
    settings = task.config() if hasattr(task, "config") else {}
    told = json.dumps(settings, sort_keys=True, default=str) if settings else ""
    return f"{kind.__module__}:{kind.__qualname__}{told}"


def signature_of(state: Mapping[str, Any], custom_types: Mapping[str, Any] | None) -> type[dspy.Signature]:
    """The signature that `about` describes. ValueError: an unknown type; KeyError: a missing entry."""
    fields: dict[str, tuple[Any, Any]] = {}
    for side, make in (("inputs", dspy.InputField), ("outputs", dspy.OutputField)):
        for name, kind in state[side].items():
            told = {"desc": state["descriptions"][name]} if name in state.get("descriptions", {}) else {}
            if name in state.get("defaults", {}):
                told["default"] = state["defaults"][name]
            fields[name] = annotation.read(kind, custom_types), make(**told)
    return build(fields, state["instructions"])


def build(*given: Any) -> type[dspy.Signature]:
    """`dspy.Signature(...)`, which makes a class and looks to a type checker as if it made an instance."""
    make: Any = dspy.Signature
    made: type[dspy.Signature] = make(*given)
    return made


def described(info: Any) -> str:
    """A field's description; DSPy gives it a placeholder where the user gave none."""
    return str(info.json_schema_extra["desc"])


def _types(fields: Mapping[str, Any]) -> dict[str, str]:
    return {name: annotation.written(info.annotation) for name, info in fields.items()}


def _plain(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False
