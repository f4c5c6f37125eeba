"""A program as a tool of dspy.ReAct and other agents."""

from __future__ import annotations

import re
from typing import Any

import dspy


def as_tool(program: Any, name: str | None = None, desc: str | None = None) -> dspy.Tool:
    """A tool that takes the signature's input fields and gives its output fields and the status."""
    signature = program.signature
    inputs = signature.input_fields

    def search(**kwargs: Any) -> dict[str, Any]:
        prediction = program(**kwargs)
        found: dict[str, Any] = {field: prediction.get(field) for field in signature.output_fields}
        found["search_status"] = prediction.search.status.value
        return found

    search.__name__ = name or _snake(type(program).__name__)
    search.__doc__ = desc or signature.instructions
    return dspy.Tool(
        search,
        name=search.__name__,
        desc=search.__doc__,
        args={field: _schema(info) for field, info in inputs.items()},
        arg_types={field: info.annotation for field, info in inputs.items()},
        arg_desc={field: (info.json_schema_extra or {}).get("desc", field) for field, info in inputs.items()},
    )


def _schema(info: Any) -> dict[str, Any]:
    from pydantic import TypeAdapter

    return {
        **TypeAdapter(info.annotation).json_schema(),
        "description": (info.json_schema_extra or {}).get("desc", ""),
    }


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
