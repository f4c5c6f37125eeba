"""Constrained decoding: a server that holds a reply to a JSON schema lets a model choose, and say nothing else."""

from __future__ import annotations

from typing import Any

import dspy


def numbers_schema(count: int, n: int | None) -> dict[str, Any]:
    """What a server that holds replies to a JSON schema is asked for: numbers from 1 to `count`."""
    number = {"type": "integer", "enum": list(range(1, count + 1))}
    most = count if n is None else min(n, count)
    numbers = {"type": "array", "items": number, "minItems": 1 if n is None else most, "maxItems": most}
    schema = {
        "type": "object",
        "properties": {"chosen_steps": numbers},
        "required": ["chosen_steps"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "chosen_steps", "strict": True, "schema": schema}}


def constrains(lm: Any) -> bool:
    """Whether `lm` holds its replies to a JSON schema, as far as DSPy knows."""
    try:
        return bool(getattr(lm, "supports_response_schema", False)) and "response_format" in lm.supported_params
    except dspy.LMError:  # of a model that nobody knows; whether it can be called, its first call tells
        return False


def refuses_schema(error: BaseException, config: dict[str, Any]) -> bool:
    """Whether a call failed for asking for it."""
    told = str(error).lower()
    named = any(word in told for word in ("response_format", "json_schema", "schema"))
    return isinstance(error, dspy.LMError) and "response_format" in config and named
