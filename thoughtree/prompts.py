"""Prompts from the model's side: which fields one asks for, what it shows, and a reply in its format.

For models that answer by code. Reads what DSPy's chat, JSON and XML adapters write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

ASKS = re.compile(r"\n*^Respond with (?:the corresponding output fields|a JSON object)", re.M)
FIELD = re.compile(r"`(?:\[\[ ## |<)?(\w+)(?: ## \]\]|>)?`")
SECTION = re.compile(r"^\[\[ ## (\w+) ## \]\]\n?", re.M)
TAG = re.compile(r"^<(\w+)>\n(.*?)\n</\1>$", re.M | re.S)


def prompt_text(request: Any) -> str:
    """The text of the last message of an lm15.Request; images and other parts left out."""
    return "".join(part.text for part in request.messages[-1].parts if part.type == "text")


def output_names(prompt: str) -> tuple[str, ...]:
    """The output fields that a prompt asks for, in order; () if it names none."""
    ask = ASKS.search(prompt)
    if ask is None:
        return ()
    return tuple(name for name in FIELD.findall(prompt[ask.end() :]) if name != "completed")


def input_values(prompt: str) -> dict[str, str]:
    """The input fields of a prompt, as text."""
    ask = ASKS.search(prompt)
    body = prompt[: ask.start()] if ask else prompt
    pieces = SECTION.split(body)
    if len(pieces) == 1:
        return {name: value.strip() for name, value in TAG.findall(body)}
    return {name: value.strip() for name, value in zip(pieces[1::2], pieces[2::2], strict=True)}


def written(fields: Mapping[str, Any], prompt: str) -> str:
    """Output fields in the format that the prompt asks for."""
    if "Respond with a JSON object" in prompt:
        return json.dumps(dict(fields))
    if "wrapped in XML tags" in prompt:
        return "\n".join(f"<{name}>\n{escape(str(value))}\n</{name}>" for name, value in fields.items())
    sections = [f"[[ ## {name} ## ]]\n{value}" for name, value in fields.items()]
    return "\n\n".join([*sections, "[[ ## completed ## ]]"])
