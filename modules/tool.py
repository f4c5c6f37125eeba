"""A program as a tool of dspy.ReAct and other agents."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import dspy
from dspy.utils.callback import with_callbacks
from pydantic import TypeAdapter

from .about import described


class SearchTool(dspy.Tool):
    """A program's tool. Awaited, it awaits the program: a search must not hold up the event loop."""

    afunc: Callable[..., Awaitable[Any]] | None = None

    @with_callbacks
    async def acall(self, **kwargs: Any) -> Any:
        assert self.afunc is not None
        return await self.afunc(**self._validate_and_parse_args(**kwargs))


def as_tool(program: Any, name: str | None = None, desc: str | None = None) -> dspy.Tool:
    """A tool that takes the signature's input fields and gives its output fields and the status."""
    signature = program.signature
    inputs = signature.input_fields

    def told(prediction: Any) -> dict[str, Any]:
        found: dict[str, Any] = {field: prediction.get(field) for field in signature.output_fields}
        return found | {"search_status": prediction.search.status.value}

    def known(given: dict[str, Any]) -> dict[str, Any]:
        for field in given:
            if field not in inputs:  # `config` above all: a budget or a file to write is not the agent's to choose
                raise ValueError(f"Arg {field} is not in the tool's args: it takes {', '.join(inputs)}")
        return given

    def search(**kwargs: Any) -> dict[str, Any]:
        return told(program(**known(kwargs)))

    async def asearch(**kwargs: Any) -> dict[str, Any]:
        return told(await program.acall(**known(kwargs)))

    make: Any = SearchTool  # whose constructor DSPy writes out, and pydantic's declaration hides
    tool: SearchTool = make(
        search,
        name=name or _snake(type(program).__name__),
        desc=desc or signature.instructions,
        args={field: _schema(field, info) for field, info in inputs.items()},
        arg_types={field: info.annotation for field, info in inputs.items()},
    )
    tool.afunc = asearch
    return tool


def _schema(field: str, info: Any) -> dict[str, Any]:
    """As JSON schema, with the field's description and default if it was given any."""
    schema: dict[str, Any] = TypeAdapter(info.annotation).json_schema()
    told = described(info)
    if told != f"${{{field}}}":
        schema["description"] = told
    if not info.is_required():
        schema["default"] = info.default
    return schema


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
