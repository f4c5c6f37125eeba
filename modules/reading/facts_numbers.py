"""What a world model says where a state is a few numbers, or one: what is left of them, and a final answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from . import facts_verdict as verdict
from .facts import Error
from .facts_parts import predicted
from .text import clean, plain
from .values import Value, values

_NUMBER = r"-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,15})(?:\.[0-9]{1,15})?(?:/[0-9]{1,9})?"
_LONE = re.compile(rf"(?<![\w.,/])[$€£]?\s?({_NUMBER})(?![\w/]|[.,][0-9])")
# A row of numbers. Each is one as a whole, and none is part of a sum.
_ITEM = rf"(?<![\w./])[$€£]?{_NUMBER}(?![\w/]|\.[0-9]|\s?[-+*=]\s?[0-9])"
_ITEMS = rf"{_ITEM}(?:(?:\s?[,;&]\s?(?:and\s)?|\s(?:and\s)?){_ITEM}){{0,30}}+"
_LEFT = re.compile(
    r"(?:\b(?:left|remain(?:ing|s)?|leaves|leaving|(?:new |next )?state|(?:new )?numbers(?: are)?(?: now)?)\b"
    r"(?:\s(?:numbers?|over|us|me|you|with|are|is|now|the|of))*\s?[:=]?)",
    re.IGNORECASE,
)
_BEFORE = re.compile(rf"({_ITEMS})\s?(?:are |is )?(?:left|remain\w{{0,3}})\b", re.IGNORECASE)
_ROW = re.compile(rf"[\s\[({{*:=]{{0,9}}({_ITEMS})")
_KEYS = ("left", "remaining", "remainingnumbers", "numbers", "state", "newstate", "nextstate", "result", "facts")


@dataclass(frozen=True, slots=True)
class Left:
    """numbers: as the reply writes them, in its order; those from before where the step is illegal; None: unread."""

    valid: bool
    numbers: tuple[str, ...] | None
    reason: str | None = None
    error: Error | None = None


def numbers_left(reply: str | None, given: Sequence[str] = (), action: str = "") -> Left:
    """The numbers that a reply says remain after a step that joins two of `given`.

    One fewer than before must be left, and at most one may be new: anything else is a contradiction. given: left out,
    nothing is checked.
    """
    said = plain(reply)
    if not said:
        return Left(False, None, "the reply is empty", "unread")
    if (why := verdict.illegal(said)) is not None:
        return Left(False, tuple(given), why)
    found = _in_object(said) or _told(predicted(said, action).text) or _mentioned(said, len(given) - 1)
    if found is None:
        if (why := verdict.unable(said)) is not None:
            return Left(False, tuple(given), why)
        return Left(False, None, "the reply does not say what is left", "unread")
    new = Counter(map(_value, found)) - Counter(map(_value, given))
    if given and (len(found) != len(given) - 1 or new.total() > 1):
        return Left(False, None, f"of {' '.join(given)}, {' '.join(found)} cannot be left", "contradiction")
    return Left(True, found)


def _in_object(said: str) -> tuple[str, ...] | None:
    for value, _, _ in values(said):
        if isinstance(value, dict):
            named: dict[str, Value] = {re.sub(r"[^a-z]", "", key.lower()): part for key, part in value.items()}
            value = next((named[key] for key in _KEYS if key in named), None)
        if isinstance(value, list):
            found = tuple(f"{part:g}" if isinstance(part, float) else str(part) for part in value)
            return found if found and all(re.fullmatch(_NUMBER, part) for part in found) else None
        if isinstance(value, str):
            return _row(value)
    return None


def _told(said: str) -> tuple[str, ...] | None:
    """`left: 3 8 24`, `3, 8 and 24 remain`, or a line of nothing but numbers."""
    for heading in _LEFT.finditer(said):
        if found := _row(said[heading.end() :]):
            return found
    if before := _BEFORE.search(said):
        return _row(before[1])
    rows = [row for line in said.split("\n") if (row := _row(line)) and _ROW.fullmatch(line.rstrip(" .)]}*"))]
    return rows[0] if len(rows) == 1 else None


def _mentioned(said: str, count: int) -> tuple[str, ...] | None:
    """All the numbers of the last sentence, if they are as many as can be left."""
    sentence = re.split(r"(?<=[.!?])\s|\n", said)[-1]
    found = tuple(map(digits, _LONE.findall(sentence)))
    return found if "=" not in sentence and len(found) == count > 0 else None


def _row(text: str) -> tuple[str, ...] | None:
    row = _ROW.match(text)
    return tuple(map(digits, re.findall(_NUMBER, row[1]))) if row else None


def _value(number: str) -> float:
    over, _, under = number.replace(",", "").partition("/")
    return round(float(over) / (float(under or 1) or 1), 2)


# -- a final answer

_ANSWER = re.compile(
    r"(?:\b(?:final |correct )?answer\b(?: to the [^.:\n]{1,60})?\s?(?:is|=|:|would be|comes to)+|####"
    r"|\btherefore,? (?:it is|we get)\b)"
    rf"[\s*_:$€£(\\a-z]{{0,24}}?({_NUMBER})",
    re.IGNORECASE,
)
# Made up after the answer.
_NEXT = re.compile(r"(?<=\S)\s*\n\W{0,4}(?:question|problem|q)\s?[0-9]{0,3}\s?[:.]", re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{[^0-9{}-]{0,12}(" + _NUMBER + r")[^{}]{0,20}\}")


def final_number(reply: str | None) -> str | None:
    """The number that a reply ends on, in plain digits: `1250` of `the answer is $1,250.00`. None where there is none.

    In this order: the last one that it calls its answer; a field of JSON; the last result of an equation, or the only
    number, in its last sentence that has any.
    """
    text = _NEXT.split(clean(reply), maxsplit=1)[0]
    marked = _BOXED.findall(text) or _ANSWER.findall(plain(text))
    if marked:
        return digits(marked[-1])
    for value, _, _ in values(text):
        if isinstance(value, dict):
            said = next((part for key, part in value.items() if re.search("answer|result", key.lower())), None)
            if isinstance(said, str | float) and not isinstance(said, bool):
                said = f"{said:g}" if isinstance(said, float) else said
                found = _LONE.findall(said)
                return digits(found[-1]) if found else None
    for sentence in reversed(re.split(r"(?<=[.!?])\s|\n", plain(text))):
        found = _LONE.findall(re.sub(r"\A\s*[0-9]{1,2}[.)]\s", "", sentence))
        if found:
            results = re.findall(rf"=\s?[$€£]?\s?({_NUMBER})", sentence)
            if results or len(found) == 1:
                return digits((results or found)[-1])
            return None
    return None


def digits(number: str) -> str:
    """A number in one spelling: no separators of thousands, no zeros after the last decimal. Fractions stay."""
    plainly = number.replace(",", "").replace(" ", "")
    if "/" in plainly:
        return plainly
    whole, point, decimals = plainly.partition(".")
    decimals = decimals.rstrip("0")
    sign = "-" if whole.startswith("-") else ""
    return sign + (whole.lstrip("-").lstrip("0") or "0") + (point + decimals if decimals else "")
