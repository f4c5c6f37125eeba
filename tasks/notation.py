"""How people and models write numbers and operators, read as plain ASCII and exact values."""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction
from typing import TypeAlias

Number: TypeAlias = int | Fraction
"""An exact number: an int where it is whole (many times faster), else a Fraction."""

_PLAIN = str.maketrans(
    {
        **dict(zip("０１２３４５６７８９", "0123456789", strict=True)),
        **dict.fromkeys("＋", "+"),
        **dict.fromkeys("−－﹣‐‑–", "-"),
        **dict.fromkeys("×✕✖∗＊·⋅∙•", "*"),
        **dict.fromkeys("÷／∕⁄∶", "/"),
        **dict.fromkeys("＝≈≅→⇒", "="),
        **dict.fromkeys("（［｛[{", "("),
        **dict.fromkeys("）］｝]}", ")"),
        **dict.fromkeys("．", "."),
        **dict.fromkeys("，、", ","),
        **dict.fromkeys("：", ":"),
        **dict.fromkeys("\u00a0\u2009\u202f\u3000", " "),
        **dict.fromkeys("~`$", None),
    }
)
_LATEX = {r"\times": "*", r"\cdot": "*", r"\div": "/", r"\approx": "=", r"\left": "", r"\right": ""}
_GOES_ON = re.compile(r"(?<=\d)(?:\.{2,}|…)")  # 1.666...
_POWER = re.compile(r"(?<=[\d)])(\s?)\*\*\1(?=[\d(])")
_TIMES = re.compile(r"(?<=[\d)])(\s*)[xX](?=\s*[-(.\d])")

UNSIGNED = r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
SIGNED = rf"-?{UNSIGNED}(?:/[0-9]+)?"
_NUMBER = re.compile(rf"-?{UNSIGNED}(?:/[0-9]+)?")


def plain(text: str) -> str:
    """`text` with operators, brackets and digits in ASCII, and without the marks that mean nothing here."""
    for command, symbol in _LATEX.items():
        text = text.replace(command, symbol)
    text = _POWER.sub("^", text.translate(_PLAIN)).replace("**", "")  # what is left of ** is emphasis
    return _TIMES.sub(r"\1*", _GOES_ON.sub("", text))


def exact(number: Fraction | int) -> Number:
    """The same number, as an int where it is whole."""
    return number.numerator if number.denominator == 1 else number


def read_number(text: str) -> Number:
    """`-3`, `2.5`, `5/3`. ValueError for anything else, ZeroDivisionError for `1/0`."""
    if text.isascii() and text.isdigit():
        return int(text)
    text = "".join(text.split())
    if not _NUMBER.fullmatch(text):  # Fraction itself also reads 1e999999999, and would build it
        raise ValueError(f"text={text!r} is not a number such as -3, 2.5 or 5/3")
    return exact(Fraction(text))


def places(text: str) -> int:
    """Digits after the decimal point."""
    return len(text.partition(".")[2])


def nearest(said: str, numbers: Collection[Number]) -> Number | None:
    """The number that `said` stands for: the very one, else the nearest that it may be a decimal of.

    A decimal may be rounded or cut off: `1.67` and `1.66` are both 5/3.
    """
    value, digits = read_number(said), places(said)
    if value in numbers:
        return value
    if not digits:
        return None
    distance, number = min(((abs(Fraction(number - value)), number) for number in numbers), default=(1, None))
    return number if distance < Fraction(1, 10**digits) else None


def stands_for(said: str, number: Number) -> bool:
    """Is `said` this number, or a decimal of it?"""
    return nearest(said, (number,)) is not None
