"""Ratings of several candidates in one reply, each under its number or letter.

A rating belongs to the label it stands under. Without labels the order counts, and only if every candidate
has a rating: a missing one must not shift the others onto their neighbours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

from .numbers import Reading, number
from .text import plain
from .values import Value, values
from .verdicts import verdict
from .votes import NOUN

R = TypeVar("R")

_HEADER = re.compile(
    rf"[^\w#(\[\n]{{0,6}}(?i:{NOUN}\s?)[#(\[]?(?P<label>[0-9]{{1,3}}|[A-Za-z])\b[)\]]?"
    r"\s?(?:[.:=|–—-]|\Z|(?=[\s(]))"
)
_LINE = re.compile(
    r"[^\w#(\[\n]{0,6}[#(\[]?(?P<label>[0-9]{1,3}|[A-Z])"
    r"(?:\s?[)\]][.:]?|\s?[:=|→]|\s?[.](?!\S)|\.(?=[^\W\d])|\s[-–—](?=\s)|\s(?=[0-9.%]+\s*\Z)|\t)"
)
_NEXT = re.compile(rf"(?:[,;|]|\s)\s?(?=(?i:{NOUN}\s?)?[#(\[]?(?:[0-9]{{1,3}}|[A-Z])(?:[)\]]|\s?[:=])\s?\S)")
_TRAILING = re.compile(r"(?:[:–—→|]|->|\s-)\s{0,3}(?P<tail>[^:–—→|=\n]{1,80})\Z")
_ID_KEYS = ("id", "index", "candidate", "number", "label", "choice", "option", "step", "name", "key")


def scores(text: str | None, count: int, low: float, high: float) -> list[Reading | None]:
    """One score a candidate on the scale `low` to `high`; None where the reply gives none."""
    if not low < high:
        raise ValueError(f"low must be below high, got low={low!r} and high={high!r}")

    def score(body: str) -> Reading | None:
        return number(body, low, high)

    return _by_candidate(text, count, score)


def verdicts(text: str | None, count: int, labels: Sequence[str]) -> list[str | None]:
    """One of `labels` a candidate; None where the reply gives none."""

    def judge(body: str) -> str | None:
        return verdict(body, labels)

    return [None] * count if _choices(plain(text), labels) else _by_candidate(text, count, judge)


def _choices(said: str, labels: Sequence[str]) -> bool:
    """Whether a reply is the choices echoed back, in the order given: `sure, likely, impossible`."""
    places = {label.casefold(): place for place, label in enumerate(labels)}
    found = [places.get(part.strip(" .\"'").casefold(), -1) for part in re.split(r"[,/|]", said[:1000])]
    return len(found) > 1 and -1 not in found and all(a < b for a, b in pairwise(found))


def _by_candidate(text: str | None, count: int, read: Callable[[str], R | None]) -> list[R | None]:
    said = plain(text)
    bodies = _in_values(said, count) or _in_lines(said)
    if 0 in bodies and count not in bodies:  # the reply counts from 0
        bodies = {place + 1: found for place, found in bodies.items()}
    if bodies:
        return [_last(bodies.get(place, []), read) for place in range(1, count + 1)]
    parts = [part for part in re.split(r"\n|(?<=[^0-9]),|,(?=[^0-9])|[;|]", said.strip("[]() \n")) if part.strip()]
    if len(parts) == 1 and count > 1:
        parts = parts[0].split()
    found = [read(part.strip()) for part in parts]
    return found if len(parts) == count and None not in found else [None] * count


def _last(bodies: list[str], read: Callable[[str], R | None]) -> R | None:
    """The last readable rating under one label: reasoning by number may come before the ratings."""
    for body in reversed(bodies):
        tail = _TRAILING.search(body.rstrip(" .").split("\n", 1)[0])
        for part in (body, tail["tail"] if tail else "", f"it {body}"):
            if (found := read(part)) is not None:
                return found
    return None


# -- labelled lines


def _in_lines(said: str) -> dict[int, list[str]]:
    """What is said under each label. Headers with a noun (`Candidate 2:`) rule out bare numbers as labels."""
    lines = [part for line in said.split("\n") for part in _parts(line.strip())]
    pattern = _HEADER if any(_HEADER.match(line) for line in lines) else _LINE
    found: dict[int, list[str]] = {}
    place: int | None = None
    for line in lines:
        header = pattern.match(line)
        if header:
            place = _number_of(header["label"])
            found.setdefault(place, []).append(line[header.end() :].strip())
        elif place is not None and line:
            found[place][-1] += "\n" + line
    return found


def _parts(line: str) -> list[str]:
    """`1: 0.8, 2: 0.4` as two lines; a line whose labels do not run up stays whole."""
    if not (_LINE.match(line) or _HEADER.match(line)):
        return [line]
    cuts = [0] + [cut.end() for cut in _NEXT.finditer(line)] + [len(line)]
    parts = [line[a:b].strip(" ,;|") for a, b in pairwise(cuts)]
    marks = [_HEADER.match(part) or _LINE.match(part) for part in parts]
    places = [_number_of(mark["label"]) for mark in marks if mark]
    runs = len(places) == len(parts) and all(b == a + 1 for a, b in pairwise(places))
    return parts if runs else [line]


def _number_of(label: str) -> int:
    return int(label) if label.isdecimal() else ord(label.upper()) - ord("A") + 1


# -- JSON


def _in_values(said: str, count: int) -> dict[int, list[str]]:
    for value, _, end in values(said):
        found = _of_value(value, count)
        if found or not said[end:].strip():
            return found
    return {}


def _of_value(value: Value, count: int) -> dict[int, list[str]]:
    if isinstance(value, list):
        labelled = [_labelled(part) for part in value]
        if labelled and all(part is not None for part in labelled):
            return {place: [body] for place, body in [part for part in labelled if part is not None]}
        return {k: [_text(part)] for k, part in enumerate(value, 1)} if len(value) == count else {}
    if not isinstance(value, dict):
        return {}
    found = {place: [_text(part)] for key, part in value.items() if (place := _place(key)) is not None}
    if found:
        return found
    inner = [part for part in value.values() if isinstance(part, list | dict)]
    return _of_value(inner[0], count) if len(inner) == 1 else {}


def _labelled(value: Value) -> tuple[int, str] | None:
    """(place, rating) of an object that names its candidate."""
    if not isinstance(value, dict):
        return None
    for key in _ID_KEYS:
        name = next((part for k, part in value.items() if k.lower() == key), None)
        place = int(name) if isinstance(name, float) else _place(name) if isinstance(name, str) else None
        if place is not None:
            return place, _text({k: part for k, part in value.items() if k.lower() != key})
    return None


def _place(key: str) -> int | None:
    found = re.fullmatch(rf"\s*(?i:{NOUN}[\s_-]?)?[#(\[]?(?P<label>[0-9]{{1,3}}|[A-Z])[)\]:.]?\s*", key)
    return _number_of(found["label"]) if found else None


def _text(value: Value) -> str:
    """A value as a reply of its own."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
