"""A move of the Game of 24, and how one is read from what a model writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from ..search.protocol import Illegal
from .arithmetic import combine
from .game24_equation import SEVERAL, Said, read_equation
from .notation import Number, nearest, places, read_number, stands_for

NOT_AVAILABLE = "operand not available"
BY_ZERO = "division by zero"
WRONG_RESULT = "wrong result"
WRONG_REMAINDER = "wrong remaining numbers"


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """One operation on two of the numbers. `4+6` and `6+4` are the same move."""

    left: Number
    op: str
    right: Number

    def __post_init__(self) -> None:
        if self.op not in ("+", "-", "*", "/"):
            raise ValueError(f"op={self.op!r} is not one of + - * /")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Move):
            return NotImplemented
        if self.op != other.op:
            return False
        if self.left == other.left and self.right == other.right:
            return True
        return self.op in "+*" and self.left == other.right and self.right == other.left

    def __hash__(self) -> int:
        pair = hash(self.left), hash(self.right)
        return hash((self.op, *(sorted(pair) if self.op in "+*" else pair)))

    def __str__(self) -> str:
        """`10-4=6`. In brackets: a fraction that divides or is divided, a negative number on the right."""
        return self._written("")

    def spaced(self) -> str:
        """`10 - 4 = 6`."""
        return self._written(" ")

    def _written(self, gap: str) -> str:
        left, right = str(self.left), str(self.right)
        if self.op == "/" and "/" in left:
            left = f"({left})"
        if (self.op == "/" and "/" in right) or right.startswith("-"):
            right = f"({right})"
        if self.op == "/" and not self.right:
            return f"{left}{gap}/{gap}{right}"
        return f"{left}{gap}{self.op}{gap}{right}{gap}={gap}{combine(self.left, self.op, self.right)}"


def read_move(text: str, numbers: Sequence[Number], strict: bool = False) -> Move | Illegal:
    """The move on `numbers` that `text` states, or the rule that it breaks.

    The operands must be there, as they are or as decimals of a fraction. If `strict`, the result must be
    stated and right, and so must the numbers that remain if they are stated; else neither counts.
    """
    said = read_equation(text)
    if isinstance(said, Illegal):
        return said
    try:
        found = _operands(said, numbers)
        if isinstance(found, Illegal):
            return found
        if found.move.op == "/" and not found.move.right:
            return Illegal(BY_ZERO)
        broken = _misstated(said, found) if strict else None
    except ZeroDivisionError:  # somewhere the text says (1/0)
        return Illegal(BY_ZERO)
    return Illegal(broken) if broken else found.move


@dataclass(frozen=True, slots=True)
class Found:
    """A move, the operands that it was read from, and the numbers that it leaves alone."""

    move: Move
    left: str
    right: str
    rest: list[Number]


def _operands(said: Said, numbers: Sequence[Number]) -> Found | Illegal:
    """The two numbers that are meant. `10/9 + 6` is one operation where 10/9 is a number."""
    for i, op in enumerate(said.operators):
        left = _fraction(said.operands[: i + 1], said.operators[:i])
        right = _fraction(said.operands[i + 1 :], said.operators[i + 1 :])
        if left is None or right is None:
            continue
        rest = list(numbers)
        taken: list[Number] = []
        for operand in (left, right):
            number = nearest(operand, rest)
            if number is not None:
                rest.remove(number)
                taken.append(number)
        if len(taken) == 2:
            return Found(Move(taken[0], op, taken[1]), left, right, rest)
    return Illegal(NOT_AVAILABLE if len(said.operators) == 1 else SEVERAL)


def _fraction(operands: tuple[str, ...], operators: tuple[str, ...]) -> str | None:
    """The one number that these operands write: one operand, or a fraction in lowest terms."""
    if not operators:
        return operands[0]
    if operators != ("/",) or not all(operand.lstrip("-").isdigit() for operand in operands):
        return None
    over, under = map(int, operands)
    return f"{over}/{under}" if under > 1 and gcd(over, under) == 1 else None


def _misstated(said: Said, found: Found) -> str | None:
    """The rule that the stated result or the stated remaining numbers break.

    Decimals may be rounded or cut off, and a result may be that of decimal operands as they were written.
    """
    move = found.move
    result = combine(move.left, move.op, move.right)
    if said.result is None:
        return WRONG_RESULT
    if not stands_for(said.result, result):
        as_written = read_number(found.left), move.op, read_number(found.right)
        if (move.op == "/" and not as_written[2]) or not stands_for(said.result, combine(*as_written)):
            return WRONG_RESULT
    if said.left is None:
        return None
    left = list(said.left)
    if said.result in left:
        left.remove(said.result)
        return None if _are(left, found.rest) else WRONG_REMAINDER
    return None if _are(left, [*found.rest, result]) else WRONG_REMAINDER


def _are(said: Sequence[str], numbers: Sequence[Number]) -> bool:
    """Are these, in some order, the numbers that `said` writes? What is written exactly chooses first."""
    unmatched = list(numbers)
    for text in sorted(said, key=lambda text: (read_number(text) not in numbers, -places(text))):
        number = nearest(text, unmatched)
        if number is None:
            return False
        unmatched.remove(number)
    return not unmatched
