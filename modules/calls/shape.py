"""What an adapter needs of a signature, made once: its fields, and how their values are written.

DSPy never changes the fields of a signature (it makes new classes), so a class's shape is kept. Instructions
and descriptions do get assigned to, so the text that has them is kept under them too (see `adapter`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import dspy
from dspy.adapters.types.base_type import Type as NativeType
from dspy.adapters.utils import annotation_allows_none, format_field_value
from pydantic import TypeAdapter

KEPT = 512  # signatures and value types remembered; a search needs about four
EXPLANATIONS = ("reasoning", "rationale", "thinking", "explanation")  # how their names end


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of one signature."""

    inputs: dict[str, Any]
    outputs: dict[str, Any]
    names: tuple[str, ...]  # of the outputs
    explanations: tuple[str, ...]  # outputs that only lead up to the last, and may be missing
    takes_text: bool  # a reply without any marker can only be the last output
    plain: bool  # no output that a native feature of a provider could fill
    history: str | None  # the input that holds a conversation
    requirements: str  # the prompt's last paragraph

    def filled(self, texts: dict[str, str]) -> dict[str, str]:
        """The sections of a reply, completed where nothing but explanations is missing."""
        found = [name for name in self.names if name in texts]
        before = texts[""]
        if not found and self.takes_text and before:
            return {**dict.fromkeys(self.explanations, ""), self.names[-1]: before}
        if found:
            missing = [name for name in self.explanations if name not in texts]
            return {**texts, **{name: before if name == self.names[0] else "" for name in missing}}
        return texts


@lru_cache(maxsize=KEPT)
def shape_of(signature: Any) -> Shape:
    inputs, outputs = signature.input_fields, signature.output_fields
    names = tuple(outputs)
    kinds = [info.annotation for info in outputs.values()]
    explanations = tuple(
        name
        for name in names[:-1]
        if name.endswith(EXPLANATIONS) and outputs[name].annotation is str and _needed(outputs[name])
    )
    return Shape(
        inputs,
        outputs,
        names,
        explanations,
        takes_text=bool(names)
        and kinds[-1] is str
        and all(name in explanations or not _needed(outputs[name]) for name in names[:-1]),
        plain=not any(isinstance(kind, type) and issubclass(kind, NativeType) for kind in kinds),
        history=next((name for name, info in inputs.items() if info.annotation == dspy.History), None),
        requirements=dspy.ChatAdapter().user_message_output_requirements(signature),
    )


def section(name: str, info: Any, value: Any) -> str:
    """One field of a prompt, as ChatAdapter writes it."""
    return f"[[ ## {name} ## ]]\n{value if type(value) is str else _text(info, value)}"


def _needed(info: Any) -> bool:
    """Whether a reply must have this output: no default, and None not allowed."""
    return bool(info.is_required()) and not annotation_allows_none(info.annotation)


def _text(info: Any, value: Any) -> str:
    # DSPy writes a list in a text field as a numbered one, and fails where its items are no texts: those are JSON.
    if isinstance(value, list) and info.annotation is str and all(isinstance(item, str) for item in value):
        return str(format_field_value(info, value))  # which needs no TypeAdapter
    kind: Any = type(value)
    try:
        plain = _type_adapter(kind).dump_python(value, mode="json", fallback=str)
    except Exception:  # DSPy's rule, the one it uses for objects that pydantic cannot write
        plain = str(value)
    return json.dumps(plain, ensure_ascii=False) if isinstance(plain, dict | list) else str(plain)


@lru_cache(maxsize=KEPT)
def _type_adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
