"""Calls of a role as the messages of a chat: what fine-tuning takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dspy

from ..modules.calls.adapter import search_adapter

Message = dict[str, Any]


def exchange(signature: Any, fields: Mapping[str, Any]) -> tuple[list[Message], Message]:
    """What is asked and what is said, as the configured adapter writes both, without demonstrations.

    fields: inputs and outputs. An output that nobody knows (a reasoning) is asked for by neither.
    """
    for name in signature.output_fields:
        if fields.get(name) is None:
            signature = signature.delete(name)
    adapter: Any = search_adapter(dspy.settings.adapter)
    inputs = {name: fields[name] for name in signature.input_fields if name in fields}
    outputs = {name: fields[name] for name in signature.output_fields}
    asked = adapter.format(signature=signature, demos=[], inputs=inputs)
    said = adapter.format_assistant_message_content(signature=signature, outputs=outputs)
    return list(asked), {"role": "assistant", "content": said}
