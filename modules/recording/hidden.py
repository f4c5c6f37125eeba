"""What a recording leaves out of a request: keys, tokens, headers and whatever else only the connection needs.

By name here, so that a key is no part of what is asked, and another key finds the same reply. What else has a known
key in its text is written without it (`calls.redaction`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dspy.clients.backend_selection import CLIENT_KEYS

# `max_tokens` and `prompt_cache_retention` are none of these.
_NAME = re.compile(
    r"(?:^|[_.-])(?:api_?keys?|keys?|token|secrets?|passw(?:or)?d|credentials?|auth|authorization|headers?|cookies?)$"
    r"|^(?:aws|azure|vertex|watsonx|sagemaker)_",
    re.I,
)


def is_secret(name: str) -> bool:
    """Whether a setting of this name is the connection's, and no part of what is asked."""
    return name in CLIENT_KEYS or _NAME.search(name) is not None


def without_secrets(settings: Any) -> Any:
    """Settings, in whatever depth, less those whose names say that they are secret."""
    if isinstance(settings, Mapping):
        return {str(name): without_secrets(value) for name, value in settings.items() if not is_secret(str(name))}
    if isinstance(settings, list | tuple):
        return [without_secrets(value) for value in settings]
    return settings


def bare_address(url: str) -> str:
    """An address without the user and the password in it."""
    return re.sub(r"(?<=://)[^/?#\s]*@", "", url)
