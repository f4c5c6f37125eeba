"""Predictions and examples as plain data, for logs, files and tables. Whatever they hold, it can be written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import dspy
from pydantic import TypeAdapter

from ..modules.header import digest, settled

_ANY: TypeAdapter[Any] = TypeAdapter(Any)


def fields_of(thing: Any) -> dict[str, Any]:
    """An example's or a prediction's fields; what has none is one field, `prediction`."""
    if isinstance(thing, dspy.Example):
        return {str(name): thing[name] for name in thing.keys()}  # noqa: SIM118  # an Example iterates over more
    if isinstance(thing, Mapping):
        return {str(name): value for name, value in thing.items()}
    return {"prediction": thing}


def as_json(value: Any) -> Any:
    """`value` as JSON: models and dataclasses as objects, sets as lists, NaN as null, all else as its text."""
    try:
        return _ANY.dump_python(value, mode="json", fallback=str)
    except Exception:  # a cycle, or a `__str__` that raises: the evaluation is paid for, and its file is written
        return f"<{type(value).__name__}>"


def cell(value: Any) -> Any:
    """A value as one cell of a CSV file."""
    plain = as_json(value)
    if isinstance(plain, dict | list):
        return json.dumps(plain, ensure_ascii=False)
    return "" if plain is None else plain


def keys_of(devset: list[dspy.Example]) -> list[str]:
    """A name for each example, from what is in it; of equal ones the second is `-2`."""
    seen: dict[str, int] = {}
    keys = []
    for example in devset:
        fields = fields_of(example)
        try:
            key = digest(settled(fields))
        except Exception:  # a cycle, or a `__str__` that raises
            key = digest(as_json(fields))
        seen[key] = seen.get(key, 0) + 1
        keys.append(key if seen[key] == 1 else f"{key}-{seen[key]}")
    return keys
