"""Numbers on the command line. What is wrong with one names the option (typer does that), the value and the mend."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import isfinite

import typer

ALL = "all"
LONGEST = 40  # characters of a wrong value that are shown


def count_or_all(text: str) -> str:
    """A count, or "all" where a knob may be without one. Kept as text until a controller takes it."""
    if text != ALL and not (text.isascii() and text.isdigit() and int(text)):
        raise _wrong(text, f"give a whole number of at least 1, or {ALL!r}")
    return text


def whole(least: float | None = None, most: float | None = None) -> Callable[[str], int]:
    """Of at least and at most so much; nothing counts beyond `sys.maxsize`."""
    mend = "give a whole number" + ("" if least is None else f" of at least {least:g}")
    limit = sys.maxsize if most is None else most

    def read(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            raise _wrong(text, mend) from None
        if least is not None and found < least:
            raise _wrong(text, mend)
        if abs(found) > limit:
            raise _wrong(text, f"give a whole number of at most {limit:,}")
        return found

    return read


def real(least: float | None = None) -> Callable[[str], float]:
    """Finite, and of at least so much."""
    mend = "give a finite number" + ("" if least is None else f" of at least {least:g}")
    return _real(lambda found: least is None or found >= least, mend)


def _real(right: Callable[[float], bool], mend: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            raise _wrong(text, mend) from None
        if not isfinite(found) or not right(found):
            raise _wrong(text, mend)
        return found

    return read


above_zero = _real(lambda found: found > 0, "give a finite number above 0, or leave it out")


def _wrong(text: str, mend: str) -> typer.BadParameter:
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return typer.BadParameter(f"{shown!r}: {mend}.")
