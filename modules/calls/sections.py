"""Cutting a reply into its fields at `[[ ## name ## ]]` markers: strictly first, then tolerantly.

Strictly is ChatAdapter's reading: a marker opens a section where it begins a line. Only if that leaves a
field out are markers also seen within a line, with other case, spacing and emphasis, and with signs missing on
a line of their own. So a reply that ChatAdapter reads is read alike, but for slips that belong to no value: a
`completed` marker at the end of a value's line, the indentation of a marker, and the mark that ends a turn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_STRICT = re.compile(r"^[^\S\n]*\[\[ ## (\w+) ## \]\]", re.M)
# What weak models do to markers, and a line of the prompt that they say again.
_MANGLED = re.compile(r"^[^\S\n]*\[{1,2}[^\S\n]?##[^\S\n]?(\w{1,64})[^\S\n]?#{0,3}[^\S\n]?\]{0,2}[^\S\n]*$", re.M)
_REPEATED = re.compile(r"^.{0,200}\bwith the corresponding output fields, starting with the field\b.*$", re.M)
_TURN = re.compile(r"<\|(?:im_end|im_start|eot_id|end|endoftext|end_of_text)\|>|<(?:end|start)_of_turn>|</s>")
_CLOSING = re.compile(r"\[\[ ## completed ## \]\][^\S\n]*$", re.M)


def sections(reply: str, names: Sequence[str]) -> dict[str, str]:
    """The text of each field in `names` that the reply has, and under "" the text before the first marker."""
    reply = one_turn("\n".join(reply.splitlines()))
    found = _cut(reply, _STRICT, {})
    if any(name not in found for name in names):
        reply = _MANGLED.sub(r"[[ ## \1 ## ]]", _REPEATED.sub("", reply))
        found = _cut(reply, _loose(tuple(names)), {name.lower(): name for name in names})
    return found


def one_turn(reply: str) -> str:
    """The reply up to the mark at which a model ends its turn; what follows are turns that it made up."""
    if "<" not in reply:
        return reply
    start = 0
    for mark in _TURN.finditer(reply):
        if reply[start : mark.start()].strip():
            return reply[start : mark.start()]
        start = mark.end()
    return reply[start:]


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
