"""The record of one LM call: plain data for the journal, the viewer, the statistics and training data.

model, response_model, messages (role and content), outputs (texts), usage (the provider's counters), cost
(dollars; None: unknown), seconds, finish_reason, cache_hit. Nothing else is copied, so no key, header or
client setting can get in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from math import isfinite
from sys import float_info
from typing import Any

from pydantic import BaseModel

from .meter import count_of

_PLAIN = (int, str)
MEDIA = 512  # characters of a data URI that are worth keeping; longer ones are replaced by their digest


def entry_of(lm: Any, call: Any, result: Any, seconds: float, prices: Mapping[str, Any]) -> dict[str, Any]:
    """From DSPy's prepared call and its result. A cache hit has no usage, and costs nothing."""
    usage = counters(result.usage)
    cost = 0.0 if result.cache_hit else _dollars(result.cost)
    return {
        "model": lm.model,
        "response_model": result.response_model,
        "messages": _messages(call),
        "outputs": texts(result.outputs),
        "usage": usage,
        "cost": priced(lm.model, usage, prices) if cost is None else cost,
        "seconds": seconds,
        "finish_reason": _finish_reason(result),
        "cache_hit": result.cache_hit,
    }


def entry_of_history(lm: Any, entry: Mapping[str, Any], seconds: float, prices: Mapping[str, Any]) -> dict[str, Any]:
    """From an entry of DSPy's history, or from the bare outputs where an LM writes none."""
    usage = counters(entry.get("usage") or {})
    cost = _dollars(entry.get("cost"))
    return {
        "model": lm.model,
        "response_model": entry.get("response_model"),
        "messages": _plain(entry.get("messages") or [{"role": "user", "content": entry.get("prompt")}]),
        "outputs": texts(entry.get("outputs") or []),
        "usage": usage,
        "cost": priced(lm.model, usage, prices) if cost is None else cost,
        "seconds": seconds,
        "finish_reason": None,
        "cache_hit": False,
    }


def texts(outputs: list[Any]) -> list[str]:
    """What the model said: one text a candidate, '' where it said nothing (a tool call, hidden reasoning)."""
    said = [(out.get("text") if isinstance(out, dict) else out) or "" for out in outputs]
    return [text if isinstance(text, str) else str(text) for text in said]


def counters(usage: Mapping[str, Any]) -> dict[str, Any]:
    """A provider's counters as JSON. What is none of it, such as NaN, is left out: the reply is good without it."""
    found: dict[str, Any] = {}
    for name, value in dict(usage).items():
        if _is_plain(value):
            found[str(name)] = value
            continue
        held = value.model_dump() if isinstance(value, BaseModel) else value
        if isinstance(held, Mapping):
            found[str(name)] = counters(held)
        elif _is_plain(held):
            found[str(name)] = held
    return found


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, _PLAIN) or (isinstance(value, float) and isfinite(value))


def _dollars(told: Any) -> float | None:
    """A cost, or None where it is none: unknown, and never one that would lift a ceiling."""
    return float(told) if isinstance(told, int | float) and 0 <= told <= float_info.max else None


def priced(model: str, usage: Mapping[str, Any], prices: Mapping[str, Any]) -> float | None:
    """Dollars at the given prices per million tokens (in, out), or None if the model has none."""
    if model not in prices:
        return None
    given, made = prices[model]
    tokens = [count_of(usage.get(name)) or 0 for name in ("prompt_tokens", "completion_tokens")]
    return (tokens[0] * given + tokens[1] * made) / 1e6


def _messages(call: Any) -> list[dict[str, Any]]:
    if call.request is not None:
        from dspy.clients.lm15_boundary import history_messages

        messages = history_messages(call.request)
    else:
        messages = call.legacy["messages"]
    return _plain(messages)


def _plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"role": m["role"], "content": _shortened(m.get("content"))} for m in messages]


def _shortened(content: Any) -> Any:
    """Content without its megabytes: a long data URI gives way to its digest, which tells it apart."""
    if isinstance(content, str):
        if len(content) > MEDIA and content.startswith("data:"):
            head, _, data = content.partition(",")
            return f"{head},sha256:{hashlib.sha256(data.encode()).hexdigest()}"
        return content
    if isinstance(content, dict):
        return {key: _shortened(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_shortened(value) for value in content]
    return content


def _finish_reason(result: Any) -> str | None:
    if result.responses:
        return str(result.responses[-1].finish_reason)
    choices = getattr(result.raw, "choices", None)
    if not choices:
        return None
    return getattr(choices[-1], "finish_reason", None)
