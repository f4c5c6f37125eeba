"""DSPy's ChatAdapter for searches: the same prompts to the byte, faster, and never a second paid call.

A reply is read as ChatAdapter reads it. Where that fails, markers within a line are seen too (`sections`),
and a plain text is taken as the last field's. What still has no value is an AdapterParseError.
"""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import dspy
from dspy.adapters.base import Adapter
from dspy.adapters.utils import apply_output_field_defaults, parse_value
from dspy.clients._deprecation import adapter_message_call

from .gate import gate
from .sections import sections
from .shape import KEPT, section, shape_of


class SearchAdapter(dspy.ChatAdapter):
    """A ChatAdapter without the silent second call through JSONAdapter."""

    def __init__(
        self,
        callbacks: list[Any] | None = None,
        use_native_function_calling: bool = False,
        native_response_types: list[Any] | None = None,
        parallel_tool_calls: bool | None = None,
    ) -> None:
        super().__init__(
            callbacks=callbacks,
            use_native_function_calling=use_native_function_calling,
            native_response_types=native_response_types,
            use_json_adapter_fallback=False,
            parallel_tool_calls=parallel_tool_calls,
        )

    # The call. DSPy first plans native features; a signature that has no use for them need not wait for it.

    def __call__(
        self, lm: Any, lm_kwargs: dict[str, Any], signature: Any, demos: list[Any], inputs: dict[str, Any]
    ) -> list[dict[str, Any]]:
        if self.use_native_function_calling or not shape_of(signature).plain:
            return super().__call__(lm, lm_kwargs, signature, demos, inputs)
        messages = self.format(signature, demos, inputs)
        with adapter_message_call(lm, messages):
            outputs = lm(messages=messages, **_without_tools(lm_kwargs))
        return self._values(signature, outputs, lm, lm_kwargs)

    async def acall(
        self, lm: Any, lm_kwargs: dict[str, Any], signature: Any, demos: list[Any], inputs: dict[str, Any]
    ) -> list[dict[str, Any]]:
        if self.use_native_function_calling or not shape_of(signature).plain:
            return await super().acall(lm, lm_kwargs, signature, demos, inputs)
        messages = self.format(signature, demos, inputs)
        with adapter_message_call(lm, messages):
            outputs = await lm.acall(messages=messages, **_without_tools(lm_kwargs))
        return self._values(signature, outputs, lm, lm_kwargs)

    def _values(self, signature: Any, outputs: list[Any], lm: Any, lm_kwargs: Any) -> list[dict[str, Any]]:
        if not outputs:
            raise self._unparsed(signature, "", {}, "The LM gave no output at all")
        if all(type(output) is str and output for output in outputs):
            return [self.parse(signature, output) for output in outputs]
        return self._call_postprocess(signature, signature, outputs, lm, lm_kwargs)

    # The prompt.

    def format(self, signature: Any, demos: list[Any], inputs: dict[str, Any]) -> list[dict[str, Any]]:
        # Adapter's own and not super()'s: DSPy wraps `format` once a class, and callbacks would fire twice.
        return Adapter.format(self, signature, demos, inputs)

    def format_system_message(self, signature: Any) -> str:
        described = tuple([info.json_schema_extra["desc"] for info in signature.model_fields.values()])
        return _system_message(self, signature, signature.__doc__, described)

    def user_message_output_requirements(self, signature: Any) -> str:
        return shape_of(signature).requirements

    def format_user_message_content(
        self, signature: Any, inputs: Any, prefix: str = "", suffix: str = "", main_request: bool = False
    ) -> str:
        fields = shape_of(signature).inputs.items()
        parts = [section(name, info, inputs.get(name)) for name, info in fields if name in inputs]
        if main_request:
            parts.append(self.user_message_output_requirements(signature))
        return "\n\n".join([prefix, *parts, suffix]).strip()

    def format_assistant_message_content(
        self, signature: Any, outputs: Any, missing_field_message: str | None = None
    ) -> str:
        fields = shape_of(signature).outputs.items()
        parts = [section(name, info, outputs.get(name, missing_field_message)) for name, info in fields]
        return "\n\n".join(parts).strip() + "\n\n[[ ## completed ## ]]\n"

    def _get_history_field_name(self, signature: Any) -> str | None:
        return shape_of(signature).history

    # The reply.

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        shape = shape_of(signature)
        texts = shape.filled(sections(completion, shape.names))
        fields: dict[str, Any] = {}
        for name, info in shape.outputs.items():
            if name in texts:
                try:
                    fields[name] = parse_value(texts[name], info.annotation)
                except ValueError as error:
                    problem = f"The field {name} cannot be {texts[name]!r}: {error}"
                    raise self._unparsed(signature, completion, fields, problem) from error
        if len(fields) < len(shape.names):
            fields = apply_output_field_defaults(signature, fields)
        if len(fields) < len(shape.names):
            raise self._unparsed(signature, completion, fields)
        return fields

    def _unparsed(self, signature: Any, completion: str, fields: Any, problem: str | None = None) -> Exception:
        return dspy.AdapterParseError(type(self).__name__, signature, completion, problem, fields)


@lru_cache(maxsize=KEPT)
def _system_message(adapter: SearchAdapter, signature: Any, instructions: str, described: tuple[str, ...]) -> str:
    """ChatAdapter's, kept for as long as the instructions and the descriptions stay the same."""
    return dspy.ChatAdapter.format_system_message(adapter, signature)


def _without_tools(lm_kwargs: dict[str, Any]) -> dict[str, Any]:
    """Without native function calling DSPy sends no tools, whatever was configured."""
    for name in ("tools", "tool_choice", "parallel_tool_calls"):
        lm_kwargs.pop(name, None)
    return lm_kwargs


PLAIN = SearchAdapter()  # shared by all searches: nothing about it changes
_twins: WeakKeyDictionary[Any, SearchAdapter] = WeakKeyDictionary()


def search_adapter(configured: Any) -> Any:
    """The adapter to run roles under, given the user's own: `dspy.settings.adapter`.

    None and a plain ChatAdapter become a SearchAdapter with the same settings. Any other adapter is kept, as
    the user wants its prompts: XML, JSON, Refine's wrapper that brings the hint. Its silent second call
    through JSONAdapter is off; a TwoStepAdapter's second call, which is no secret, passes the gate.
    """
    if configured is None:
        return PLAIN
    if type(configured) is dspy.ChatAdapter:
        settings = {**vars(configured), "use_json_adapter_fallback": False}
        if settings == vars(PLAIN):
            return PLAIN
        twin = _twins.setdefault(configured, SearchAdapter())
        twin.__dict__.update(settings)
        return twin
    if isinstance(configured, dspy.TwoStepAdapter):
        kept = copy(configured)
        kept.extraction_model = gate(configured.extraction_model)
        return kept
    if isinstance(configured, dspy.JSONAdapter) or not getattr(configured, "use_json_adapter_fallback", False):
        return configured
    kept = copy(configured)
    kept.use_json_adapter_fallback = False
    return kept


def calls_of(adapter: Any) -> int:
    """The most LM calls that this adapter makes for one prediction: what a request must reserve."""
    return 2 if isinstance(adapter, dspy.TwoStepAdapter) else 1
