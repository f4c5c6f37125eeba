"""Texts of several lines in a list of a prompt: no line of an item begins where an item or a label of ours does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MOST = 20_000  # characters of a text among others
MOST_SHOWN = 300  # of a wrong value in an error


def numbered(items: Iterable[str], separator: str = "\n") -> str:
    """`1. ...`, and so on. Further lines of an item are indented."""
    return separator.join(f"{i}. {hanging(item)}" for i, item in enumerate(items, 1))


def items(shown: str) -> int:
    """How many items `numbered` has put into this text."""
    found = 0
    for line in shown.split("\n"):
        found += line.startswith(f"{found + 1}. ")
    return found


def bulleted(items: Iterable[str]) -> str:
    return "\n".join(f"- {hanging(item, '  ')}" for item in items)


def labelled(label: str, text: str) -> str:
    """`label: text`; a text of several lines follows in a block, so that a program keeps its shape."""
    if len(lines := text.splitlines()) < 2:
        return f"{label}: {text}"
    return "\n".join([f"{label}:", *(f"    {line}" if line else "" for line in lines)])


def hanging(text: str, margin: str = "   ") -> str:
    """`text` with its lines from the second on behind a margin. A line ends where any reader may see an end."""
    first, *rest = text.splitlines() or [""]
    if not rest:
        return first
    return "\n".join([first, *(margin + line if line else "" for line in rest)])


def brief(value: Any) -> str:
    """A wrong value as an error names it: whole, unless it would crowd out what is wrong of it."""
    return cut(repr(value), MOST_SHOWN)


def cut(text: str, most: int = MOST) -> str:
    """`text`, or its beginning and how much is left out."""
    return text if len(text) <= most else f"{text[:most]} ... ({len(text) - most:,} more characters)"
