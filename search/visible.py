"""Text from models and files made safe to print: what a terminal would obey is shown as an escape."""

from __future__ import annotations

import json
import re
import unicodedata

JOINERS = "\u200c\u200d"  # parts of ordinary words and emoji, though they are format characters
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, direction marks, lone surrogates, separators
_SUSPECT = re.compile(r"[^\x20-\x7e]")


def visible(text: str) -> str:
    """`text` with its control characters as escapes; line ends and tabs stay."""
    return _SUSPECT.sub(_shown, text.replace("\r\n", "\n"))


def one_line(text: str, most: int | None = None) -> str:
    """The same on one line: every run of white space is one space. most: characters that are kept."""
    line = visible(" ".join(text.split()))
    return line if most is None or len(line) <= most else f"{line[:most]} ... ({len(line) - most:,} more characters)"


def in_json(text: str) -> str:
    """What `json.dumps(ensure_ascii=False)` has written, for people: words of all languages stay as they are."""
    return _SUSPECT.sub(lambda found: found[0] if _shown(found) == found[0] else json.dumps(found[0])[1:-1], text)


def _shown(found: re.Match[str]) -> str:
    character = found[0]
    if character in "\n\t" or character in JOINERS or unicodedata.category(character) not in HIDDEN:
        return character
    return character.encode("unicode_escape").decode("ascii")
