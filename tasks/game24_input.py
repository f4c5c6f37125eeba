"""What a Game of 24 is given: its target and its numbers, or an error that says what to give instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from numbers import Rational
from typing import Any

from .layout import brief
from .notation import Number, exact, plain, read_number

MOST_NUMBERS = 20  # with MOST_DIGITS, every answer fits into what the checker reads
MOST_DIGITS = 12
MEND = "give whole numbers, such as '4 9 10 13'"


def read_target(target: Any) -> Number:
    if isinstance(target, Rational) and not isinstance(target, bool):
        return exact(Fraction(target))
    try:
        return read_number(target)
    except (AttributeError, TypeError, ValueError, ZeroDivisionError) as error:
        mend = 'give an int, a Fraction, or text such as "3/2"'
        raise ValueError(f"target={brief(target)} is no exact number; {mend}") from error


def read_numbers(inputs: Mapping[str, Any], count: int | None = None) -> tuple[int, ...]:
    """The puzzle in `inputs["numbers"]`: whole numbers in text or in a list. ValueError for anything else."""
    if "numbers" not in inputs:
        raise ValueError(f"inputs={brief(dict(inputs))} has no field `numbers`; give numbers='4 9 10 13'")
    given = inputs["numbers"]
    if isinstance(given, str):
        tokens: list[Any] = re.sub(r"[(),;]", " ", plain(given)).split()
    elif isinstance(given, Iterable) and not isinstance(given, Mapping | bytes):
        tokens = list(given)
    else:
        tokens = [given]
    puzzle = tuple(_whole(token, given) for token in tokens)
    if not puzzle:
        raise ValueError(f"numbers={brief(given)}: no numbers; give some, such as '4 9 10 13'")
    if len(puzzle) > MOST_NUMBERS:
        raise ValueError(f"numbers={brief(given)}: too many numbers ({len(puzzle)}); give at most {MOST_NUMBERS}")
    if count is not None and len(puzzle) != count:
        amount = "few" if len(puzzle) < count else "many"
        raise ValueError(f"numbers={brief(given)}: too {amount} numbers ({len(puzzle)}); give exactly {count}")
    return puzzle


def _whole(token: Any, given: Any) -> int:
    try:
        number = Fraction(read_number(token) if isinstance(token, str) else token)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):  # OverflowError: infinity
        number = None
    if number is None or isinstance(token, bool) or number.denominator != 1:
        raise ValueError(f"numbers={brief(given)}: {brief(token)} is not a whole number; {MEND}")
    if abs(number) >= 10**MOST_DIGITS:
        raise ValueError(f"numbers={brief(given)}: {brief(token)} has more than {MOST_DIGITS} digits; {MEND}")
    return int(number)
