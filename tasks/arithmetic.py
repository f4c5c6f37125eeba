"""Arithmetic without eval: expressions built step by step, and a checker that shares nothing with them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

from ..search.protocol import Illegal
from .notation import UNSIGNED, Number, exact, plain, read_number

Expression: TypeAlias = "int | Fraction | tuple[Expression, str, Expression]"
"""A number, or (left, operator, right)."""

LONGEST = 500  # characters that the checker reads
DEEPEST = 50  # brackets and signs inside each other


def combine(left: Number, op: str, right: Number) -> Number:
    """`left op right`, exactly. ZeroDivisionError for a division by zero."""
    if op == "+":
        return exact(left + right)
    if op == "-":
        return exact(left - right)
    if op == "*":
        return exact(left * right)
    return exact(Fraction(left, right))


def value_of(expression: Expression) -> Number:
    if not isinstance(expression, tuple):
        return exact(expression)
    left, op, right = expression
    return combine(value_of(left), op, value_of(right))


def written(expression: Expression) -> str:
    """The expression as text, with no bracket that could be left out."""
    if not isinstance(expression, tuple):
        return str(expression)
    left, op, right = expression
    before, after = written(left), written(right)
    if _binding(left) < _binding(expression):
        before = f"({before})"
    loose = _binding(right) < _binding(expression)
    if loose or (op in "-/" and _binding(right) == _binding(expression)) or after.startswith("-"):
        after = f"({after})"
    return f"{before} {op} {after}"


def _binding(expression: Expression) -> int:
    """How strongly the outermost operator binds: 1 for a sum, 2 for a product, 3 for a number."""
    if isinstance(expression, tuple):
        return 1 if expression[1] in "+-" else 2
    return 3 if expression.denominator == 1 else 2  # 5/3 is written as a division


def check_expression(text: str, numbers: Iterable[int], target: Number) -> bool | Illegal:
    """Does `text` use each of the whole `numbers` exactly once, and come to `target`?

    A closing `= 24` is read too, and must be true. True or False is the verdict on a well-formed
    expression of the right numbers; Illegal says why `text` is none.
    """
    if len(text) > LONGEST:
        return Illegal("too long")
    sides = plain(text).strip(" \n\t*").rstrip(" *.").split("=")
    if len(sides) > 2:
        return Illegal("not an expression")
    try:
        value = _Checker(sides[0], numbers).value()
        if len(sides) == 2 and read_number(sides[1]) != value:
            return Illegal("wrong result")
    except Illegal as verdict:
        return verdict
    except ZeroDivisionError:
        return Illegal("division by zero")
    except ValueError:
        return Illegal("not an expression")
    return value == target


class _Checker:
    """Recursive descent, one method a rule.

    sum: product, then any number of + or - product. product: factor, then any number of * or / factor.
    factor: - factor, or ( sum ), or a number.
    """

    TOKEN = re.compile(rf"\s*({UNSIGNED}|[-+*/()])")

    def __init__(self, text: str, numbers: Iterable[int]) -> None:
        self.unused = Counter(map(Fraction, numbers))
        self.tokens: list[str] = []
        text, at = text.rstrip(), 0
        while at < len(text):
            token = self.TOKEN.match(text, at)
            if token is None:
                raise Illegal("not an expression")
            self.tokens.append(token[1])
            at = token.end()
        self.tokens.reverse()  # so that the next one is the last
        self.depth = 0

    def value(self) -> Fraction:
        value = self.sum()
        if self.tokens:
            raise Illegal("not an expression")
        if self.unused.total():
            raise Illegal("number not used")
        return value

    def next_is(self, symbols: str) -> bool:
        return bool(self.tokens) and self.tokens[-1] in symbols

    def sum(self) -> Fraction:
        value = self.product()
        while self.next_is("+-"):
            value = value + self.product() if self.tokens.pop() == "+" else value - self.product()
        return value

    def product(self) -> Fraction:
        value = self.factor()
        while self.next_is("*/"):
            value = value * self.factor() if self.tokens.pop() == "*" else value / self.factor()
        return value

    def factor(self) -> Fraction:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Illegal("too deep")
        token = self.tokens.pop() if self.tokens else ""
        if token == "-":
            value = self.negative()
        elif token == "(":
            value = self.sum()
            if not self.next_is(")"):
                raise Illegal("not an expression")
            self.tokens.pop()
        else:
            value = self.number(token)
        self.depth -= 1
        return value

    def negative(self) -> Fraction:
        """A puzzle may give -3 itself: `-3` is that number while it is unused, and else minus a 3."""
        number = self.tokens and self.tokens[-1] not in "-+*/()"
        if number and self.unused[-Fraction(self.tokens[-1])] > 0:
            return self.number("-" + self.tokens.pop())
        return -self.factor()

    def number(self, token: str) -> Fraction:
        if not token or token in "+*/)":
            raise Illegal("not an expression")
        value = Fraction(token)
        if self.unused[value] <= 0:
            raise Illegal("number not available")
        self.unused[value] -= 1
        return value
