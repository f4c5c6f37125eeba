"""Text of others made inert: in a prompt it opens no field, and every provider can receive it.

A problem, a thought, an observation may hold `[[ ## verdict ## ]]`: by chance, or to be taken for the search's own
words. What holds nothing of the kind stays as it is, to the byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import dspy

from .texts import changed

_MARKER = re.compile(r"\[(?=\[\s*+#++\s*+\w++\s*+#++\s*+\]\])")  # as loosely as replies are read: see `sections`


def inert(fields: dict[str, Any], tags: Iterable[str] = ()) -> dict[str, Any]:
    """Input fields for a predictor. tags: names that the adapter writes as XML tags."""
    tag = _tag(tuple(tags))

    def closed(text: str) -> str:
        if "[[" in text:
            text = _MARKER.sub(r"[\\", text)
        if tag is not None and "<" in text:
            text = tag.sub(r"<\\", text)
        return encodable(text)

    def shown(value: Any) -> Any:  # objects are written as JSON, on one line
        if isinstance(value, dspy.History):
            return value.model_copy(update={"messages": changed(value.messages, closed)})
        return changed(value, closed)

    return {name: closed(value) if type(value) is str else shown(value) for name, value in fields.items()}


def encodable(text: str) -> str:
    """`text` with lone surrogates as escapes: DSPy refuses a whole prompt for one of them."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()
    return text


@lru_cache(maxsize=64)
def _tag(names: tuple[str, ...]) -> re.Pattern[str] | None:
    known = "|".join(map(re.escape, names))
    return re.compile(rf"<(?=/?\s*(?:{known})\b)", re.I) if names else None
