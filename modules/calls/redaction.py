"""Keeping keys out of messages: errors travel into journals, results and issue trackers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

HIDDEN = "[redacted]"
SHORTEST = 8  # characters; a shorter value is no key, and would black out ordinary words

_SECRET_NAME = re.compile(r"_(?:KEY|TOKEN|SECRET|PASSWORD)$", re.I)
_SHAPES = [
    re.compile(r"\b(?P<keep>)(?:sk|pk|rk|gsk|xai|hf|ghp|gho|key)[-_][A-Za-z0-9_\-]{8,}"),
    re.compile(r"\b(?P<keep>)AIza[A-Za-z0-9_\-]{20,}"),
    re.compile(
        r"(?P<keep>\b(?:proxy-)?authorization['\"]?\s*[:=]\s*['\"]?)(?:(?:bearer|basic)\s+)?[^\s'\",;}]+",
        re.I,
    ),
    re.compile(r"(?P<keep>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=\-]{8,}", re.I),
    re.compile(
        r"(?P<keep>(?:api[-_]?key|access[-_]?token|auth[-_]?token|password|secret)['\"]?(?:\s*:\s*|\s?=)['\"]?)"
        r"[^\s'\",;&}]{4,}",
        re.I,
    ),
    re.compile(r"(?P<keep>://)[^\s/:@]+:[^\s/@]+(?=@)"),  # user:password in an address
]


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` without what looks like a key, without `secrets`, and without the environment's keys."""
    known = {value for name, value in os.environ.items() if _SECRET_NAME.search(name)}
    for secret in sorted(known.union(secrets), key=len, reverse=True):  # the longest first: one may hold another
        if len(secret) >= SHORTEST:
            text = text.replace(secret, HIDDEN)
    for shape in _SHAPES:
        text = shape.sub(rf"\g<keep>{HIDDEN}", text)
    return text


def secrets_of(lm: Any) -> set[str]:
    """The keys and header values that this LM sends."""
    kwargs: dict[str, Any] = getattr(lm, "kwargs", {})
    found = [kwargs.get("api_key"), kwargs.get("azure_ad_token")]
    for name in ("headers", "extra_headers"):
        found.extend((kwargs.get(name) or {}).values())
    return {value for value in found if isinstance(value, str)}
