"""What a call asks for, and the key under which its reply is kept.

The whole request as the model gets it (model, messages, tools, settings; media by their content), the rollout id,
how many candidates, and by which API. Not: where the model is reached, with which key, within which time, and
whether the provider keeps a prompt cache. So sync and async, text and dicts and lm15.Request have one key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from dspy._vendor.lm15.serde import request_to_dict
from dspy.clients.cache import _transform_value
from dspy.clients.execution import _canonical
from dspy.lm15 import LM15Error

from ..calls.redaction import redact, secrets_of
from .errors import RecordingError
from .hidden import is_secret, without_secrets

_BETWEEN = "\n\0\n"
LONG = 512  # characters of base64 that are worth keeping; media are shown by their digest
LEGACY = ("messages", "response_format", "tools")  # of a request in OpenAI's form: no settings, so names are the user's


@dataclass(frozen=True, slots=True)
class Asked:
    """key: SHA-256, in hexadecimal digits, of the JSON of `whole`: request, rollout_id, n and model_type."""

    key: str
    whole: dict[str, Any]

    def shown(self, lm: Any) -> dict[str, Any]:
        """`whole` for people: without what looks like a key, and media by their digest."""
        bare = _digested(self.whole)
        texts = list(_texts(bare))
        redacted = redact(_BETWEEN.join(texts), secrets_of(lm)).split(_BETWEEN)  # looks for keys once, not once a text
        if len(redacted) != len(texts):
            redacted = [redact(text, secrets_of(lm)) for text in texts]
        shown: dict[str, Any] = _written(bare, iter(redacted))
        return shown


def asked_of(lm: Any, call: Any) -> Asked:
    """From DSPy's prepared call. RecordingError for one that has no JSON form."""
    own = None if call.request is None else lm.kwargs.get("rollout_id")  # it is in the others' settings already
    whole = {
        "request": _request(call),
        "rollout_id": (call.kwargs if call.request is not None else call.legacy).get("rollout_id", own),
        "n": call.n,
        "model_type": lm.model_type,
    }
    try:
        text = json.dumps(whole, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordingError(
            f"this request has no JSON form, so its reply cannot be recorded or found ({error}); "
            "give settings of plain data",
            model=lm.model,
        ) from error
    return Asked(hashlib.sha256(text.encode()).hexdigest(), whole)


def _request(call: Any) -> dict[str, Any]:
    bare = {name: value for name, value in call.legacy.items() if name in LEGACY or not is_secret(name)}
    try:
        request: dict[str, Any] = request_to_dict(_canonical(replace(call, legacy=bare)))
    except (LM15Error, TypeError, ValueError):  # what only LiteLLM can send has no canonical form
        settings = {name: value for name, value in bare.items() if name not in (*LEGACY, "rollout_id", "n")}
        request = without_secrets({name: value for name, value in settings.items() if value is not None})
        return request | {name: _transform_value(bare[name]) for name in LEGACY if bare.get(name)}
    config = request.pop("config", {})
    config.pop("cache", None)  # it changes what a reply costs, and not what it says
    extensions = without_secrets(config.pop("extensions", {}))
    config |= {"extensions": extensions} if extensions else {}
    return request | ({"config": config} if config else {})


def _digested(value: Any) -> Any:
    """Plain data whose media are digests."""
    if isinstance(value, dict):
        return {key: _digest(item) if key == "data" else _digested(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_digested(item) for item in value]
    return value


def _texts(value: Any) -> Iterator[str]:
    """All texts in plain data, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _written(value: Any, texts: Iterator[str]) -> Any:
    """Plain data with other texts, in the order of `_texts`."""
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, dict):
        return {key: _written(item, texts) for key, item in value.items()}
    return [_written(item, texts) for item in value] if isinstance(value, list) else value


def _digest(data: Any) -> Any:
    """Base64, or a data URI, gives way to its digest, which tells it apart."""
    if not isinstance(data, str) or len(data) <= LONG:
        return data
    return f"sha256:{hashlib.sha256(data.encode()).hexdigest()}"
