"""`--space NAME=RANGE`: what a user says of the search space."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from .mistake import Mistake

RANGE = re.compile(r"(?P<low>-?[\d.e+-]+?)\.\.(?P<high>-?[\d.e+-]+)", re.IGNORECASE)


def space_said(pairs: Sequence[str]) -> dict[str, Any]:
    """`width=1..8` is a range, `controller=beam,dfs` choices, `samples=1` one value. Numbers, true, false and null are
    read as JSON has them, all else is text. Raises Mistake."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not (name and equals and value):
            raise Mistake(f"--space {pair!r}: write it as name=low..high, name=one,other or name=value")
        if name in found:
            raise Mistake(f"--space {name!r} is given twice")
        found[name] = _range(pair, value)
    return found


def _range(pair: str, text: str) -> Any:
    if ".." in text:
        bounds = RANGE.fullmatch(text)
        ends = [] if bounds is None else [_value(bounds["low"]), _value(bounds["high"])]
        if not ends or any(isinstance(end, str) for end in ends):
            raise Mistake(f"--space {pair!r}: a range is two numbers, such as 1..8")
        return tuple(ends)
    if "," in text:
        return [_value(part.strip()) for part in text.split(",") if part.strip()]
    return _value(text)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
