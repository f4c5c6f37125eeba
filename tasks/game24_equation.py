"""One equation of the Game of 24, found in the text around it and taken apart. No arithmetic yet."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..search.protocol import Illegal
from .notation import SIGNED, UNSIGNED, plain

NOT_A_MOVE = "no move"
SEVERAL = "more than one operation"
LONGEST = 1000  # characters that are read: a move is short, and what runs on for ever is none


@dataclass(frozen=True, slots=True)
class Said:
    """An equation taken apart.

    operands: as written, `operators` between them. result: as written, or None. left: the numbers that the
    text says remain, or None.
    """

    operands: tuple[str, ...]
    operators: tuple[str, ...]
    result: str | None
    left: tuple[str, ...] | None


_ENDLESS = re.compile(r"[0-9]{50}")
_OPERAND = rf"[\s(]*+(?:-[\s(]*+)?{UNSIGNED}[\s)]*+"  # possessive: never more than one way to match
_RUN = re.compile(rf"(?<![\w.^])[(]?-?{UNSIGNED}[\s)]*+(?:[-+*/^]{_OPERAND})+")
_ABOUT = r"(?:\(?\b(?:approx(?:imately)?|about|roughly)\b\.?\)?)"
_RESULT = re.compile(rf"[\s)]*+=[\s=]*+{_ABOUT}?\s*+[(]?({SIGNED})")
_MORE = re.compile(rf"[\s)]*+[-+*/^]{_OPERAND}")
_LEFT = re.compile(
    rf"\b(?:left|remaining|leaving)\b[^\w\-.]*(?:{_ABOUT}\s*)?"
    rf"((?>{SIGNED}(?:(?:[\s,;]|\band\b|{_ABOUT})+{SIGNED})*))(?!\s*[-+*/=^.]\s*\d|\s*=)",
    re.IGNORECASE,
)
_TOKEN = re.compile(rf"[(]\s*(-?{UNSIGNED}(?:/[0-9]+)?)\s*[)]|({UNSIGNED})|([-+*/^])|[()\s]")


def read_equation(text: str) -> Said | Illegal:
    """The first equation in `text`, or the first operation if nothing is said to equal anything."""
    text = plain(text[:LONGEST])
    if _ENDLESS.search(text):
        return Illegal(NOT_A_MOVE)
    remaining = _LEFT.search(text)
    left: tuple[str, ...] | None = None
    if remaining:
        left = tuple(re.findall(SIGNED, remaining[1]))
        text = text[: remaining.start()] + ";" + text[remaining.end() :]
    runs = list(_RUN.finditer(text))
    if not runs:
        return Illegal(NOT_A_MOVE)
    run = next((run for run in runs if _RESULT.match(text, run.end())), runs[0])
    if "^" in run[0]:
        return Illegal(NOT_A_MOVE)
    result = _RESULT.match(text, run.end())
    if result and _MORE.match(text, result.end()):
        return Illegal(SEVERAL)
    operands, operators = _tokens(run[0])
    return Said(operands, operators, result[1] if result else None, left)


def _tokens(run: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Operands and the operators between them; a bracketed number is one operand, its sign is part of it."""
    operands: list[str] = []
    operators: list[str] = []
    sign = ""
    for bracketed, number, operator in _TOKEN.findall(run):
        if bracketed or number:
            operands.append(_negated(bracketed) if sign and bracketed else sign + (bracketed or number))
            sign = ""
        elif operator and len(operators) < len(operands):
            operators.append(operator)
        elif operator:
            sign = operator
    return tuple(operands), tuple(operators)


def _negated(number: str) -> str:
    return number[1:] if number.startswith("-") else "-" + number
