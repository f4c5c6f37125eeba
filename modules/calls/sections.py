"""Cutting a reply into its fields at `[[ ## name ## ]]` markers: strictly first, then tolerantly.

Strictly is ChatAdapter's reading: a marker opens a section where it begins a line. Only if that leaves a
field out are markers also seen within a line, and with other case, spacing and emphasis. So a reply that
ChatAdapter reads is read alike, but for two slips that belong to no value: a `completed` marker at the end
of a value's line, and the indentation of a marker.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_STRICT = re.compile(r"^[^\S\n]*\[\[ ## (\w+) ## \]\]", re.M)
_CLOSING = re.compile(r"\[\[ ## completed ## \]\][^\S\n]*$", re.M)


def sections(reply: str, names: Sequence[str]) -> dict[str, str]:
    """The text of each field in `names` that the reply has, and under "" the text before the first marker."""
    reply = "\n".join(reply.splitlines())
    found = _cut(reply, _STRICT, {})
    if any(name not in found for name in names):
        found = _cut(reply, _loose(tuple(names)), {name.lower(): name for name in names})
    return found


def _cut(reply: str, marker: re.Pattern[str], spelling: dict[str, str]) -> dict[str, str]:
    """From each marker to the next, the first section of each name. `spelling`: names by their lower case."""
    found: dict[str, str] = {}
    name, start = "", 0
    for match in marker.finditer(reply):
        found.setdefault(name, _value(reply[start : match.start()]))
        name, start = match[match.lastindex or 0], match.end()
        name = spelling.get(name.lower(), name)
    found.setdefault(name, _value(reply[start:]))
    return found


def _value(text: str) -> str:
    first, newline, rest = text.partition("\n")
    if "[[ ## completed" in text and (closing := _CLOSING.search(text)):
        return text[: closing.start()].strip()
    return (first.strip() + newline + rest).strip()


@lru_cache(maxsize=256)
def _loose(names: tuple[str, ...]) -> re.Pattern[str]:
    """Markers as ChatAdapter sees them, and those of known names anywhere and however they are written."""
    known = "|".join(map(re.escape, sorted((*names, "completed"), key=len, reverse=True)))
    # Possessive, and emphasis only from where it begins: a model that repeats one sign for ever costs no more time.
    loose = rf"(?:(?<![*_`])[*_`]++)?\[\[\s*+#*+\s*+((?i:{known}))\s*+#*+\s*+\]\][*_`]*+:?"
    return re.compile(rf"{_STRICT.pattern}:?|{loose}", re.M)
