"""What a recording says of an LM, so that a ReplayLM asks as it did: its name, its API, its settings, what it can do.

Adapters ask an LM what it can do, and ask otherwise if it can: what is recorded holds even if DSPy's catalog changes.
"""

from __future__ import annotations

import json
from typing import Any

from ..calls.redaction import hide, secrets_of, telling
from ..likelihood import gives_probabilities
from .errors import RecordingError
from .hidden import is_secret, without_secrets

ABLE = ("supports_function_calling", "supports_reasoning", "supports_response_schema")


def settings_of(lm: Any) -> dict[str, Any]:
    """The settings that are sent with a request, where they are plain data; without the provider's prompt cache."""
    found: dict[str, Any] = {}
    for name, value in lm.kwargs.items():
        if value is None or is_secret(name) or name == "prompt_cache":
            continue
        try:
            found[name] = json.loads(json.dumps(without_secrets(value), allow_nan=False))
        except (TypeError, ValueError, RecursionError):
            continue  # a class for response_format, say: a ReplayLM is given it again
    return hide(found, telling(secrets_of(lm)))


def definition_of(lm: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """What is recorded of `lm`, whose settings were `settings` before anybody made numbered copies of it."""
    return {
        "model": lm.model,
        "model_type": lm.model_type,
        "use_developer_role": bool(getattr(lm, "use_developer_role", False)),
        "settings": settings,
        **{name: bool(getattr(lm, name)) for name in ABLE},
        # A ReplayLM asks for what the recorded one was asked for.
        "supported_params": sorted({*lm.supported_params, *(["logprobs"] if gives_probabilities(lm) else ())}),
    }


def chosen(recording: Any, model: str | None, settings: dict[str, Any]) -> dict[str, Any]:
    """The recorded LM to take the place of: by its name and by those settings that tell several apart."""
    known = recording.lms
    found = [lm for lm in known if model is None or lm["model"] == model]
    if len(found) > 1:
        agreeing = [lm for lm in found if all(lm["settings"].get(name) == value for name, value in settings.items())]
        found = agreeing or found
    if len(found) == 1:
        return found[0]
    told = "; ".join(dict.fromkeys(map(_named, known)))
    if not known:
        raise RecordingError(f"recording {recording.path}: it holds no reply yet; make some with RecordLM")
    if not found:
        raise RecordingError(f"ReplayLM(model={model!r}): recording {recording.path} has replies of {told}")
    raise RecordingError(
        f"recording {recording.path} has replies of several LMs ({told}); say which, "
        "by ReplayLM(path, model=...) or by a setting that tells them apart"
    )


def _named(lm: dict[str, Any]) -> str:
    settings = ", ".join(f"{name}={value!r}" for name, value in lm["settings"].items())
    return f"{lm['model']} ({settings})" if settings else str(lm["model"])
