"""Is this the answer to a Game of 24? Exact, and sharing no code with the task that a search trusts."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction


def proves(expression: str, numbers: Iterable[int], target: int = 24) -> bool:
    """Does the expression use each of the whole numbers once, and come to the target? False if unreadable."""
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        value, used = _value(tree)
    except (SyntaxError, TypeError, ZeroDivisionError):
        return False
    return value == target and Counter(used) == Counter(numbers)


def _value(node: ast.expr) -> tuple[Fraction, list[int]]:
    """The exact value, and the whole numbers in it. TypeError for anything but whole numbers and + - * /."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Fraction(node.value), [node.value]
    if not isinstance(node, ast.BinOp):
        raise TypeError(ast.dump(node))
    (a, left), (b, right) = _value(node.left), _value(node.right)
    match node.op:
        case ast.Add():
            value = a + b
        case ast.Sub():
            value = a - b
        case ast.Mult():
            value = a * b
        case ast.Div():
            value = a / b
        case _:
            raise TypeError(ast.dump(node))
    return value, left + right
