"""Roles of which no reply was of any use: a search without its ratings, say, is not the one that was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .budget import Ended
from .result import LONGEST, SearchResult
from .visible import one_line

# What to change where many replies of a role could not be read.
FORMATS = {
    "propose": "the proposals' format: many could not be read (look at the replies in the journal).",
    "rate": "the ratings' format: many could not be read (another scale, or a model that follows it).",
    "answer": "the answer's format: it could not be read (simpler output types, or answer='path').",
}


def warnings(result: SearchResult[Any, Any]) -> Iterator[str]:
    for role, (count, error) in _told(result).items():
        if error is None:
            yield f"{role}: no reply could be read, of {count}: the search went without"
        else:
            yield f"{role}: every request failed, of {count}; first: {one_line(error, LONGEST)}"


def advice(result: SearchResult[Any, Any]) -> str | None:
    """What comes before all else; None: every role was of some use."""
    for role, (count, error) in _told(result).items():
        if error is not None:
            return f"{role}: every request failed, of {count} ({one_line(error, LONGEST)})."
        return FORMATS.get(role, f"{role}: no reply could be read, of {count}.")
    return None


def _told(result: SearchResult[Any, Any]) -> dict[str, tuple[int, str | None]]:
    """Without what the result says anyway: that failing calls ended it, and what came of the closing call."""
    known = set(result.lost) - {"reward"} if result.ended is Ended.ERROR else set[str]()
    if result.unclosed is not None:
        known.add("answer")
    return {role: fault for role, fault in result.lost.items() if role not in known}
