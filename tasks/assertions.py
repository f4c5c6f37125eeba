"""Asserts that say more: what was expected, and what came."""

from __future__ import annotations

import ast

MOST_SHOWN = 300  # characters of a value
_SHOWN = "repr({})[:%d]" % MOST_SHOWN  # noqa: UP031  the braces are filled in later


def assertion(node: ast.Assert) -> str:
    """Code that holds when `node` does, evaluates the same once, in order, and tells the values when it does not."""
    test = node.test
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _comparison(test)
    if node.msg is not None:
        return ast.unparse(node)
    inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    negation = "not " if inner is not test else ""
    return f"_got = {ast.unparse(inner)}\nassert {negation}_got, 'got ' + {_SHOWN.format('_got')}"


def equation(call: str, literal: str) -> str:
    """Code that holds when `call` gives the value of `literal`."""
    return _equal(call, literal, "==")


def _comparison(test: ast.Compare) -> str:
    left, right = ast.unparse(test.left), ast.unparse(test.comparators[0])
    operator = ast.unparse(ast.Compare(ast.Name("a"), test.ops, [ast.Name("b")]))[2:-2]
    if operator in ("==", "is"):
        if is_literal(test.left) and not is_literal(test.comparators[0]):
            left, right = right, left
        return _equal(left, right, operator)
    told = f"{_SHOWN.format('_left')} + ' {operator} ' + {_SHOWN.format('_right')} + ' does not hold'"
    return f"_left = {left}\n_right = {right}\nassert _left {operator} _right, {told}"


def _equal(got: str, want: str, operator: str) -> str:
    told = f"'expected ' + {_SHOWN.format('_want')} + ', got ' + {_SHOWN.format('_got')}"
    return f"_got = {got}\n_want = {want}\nassert _got {operator} _want, {told}"


def is_literal(node: ast.expr) -> bool:
    """Is it a value written out, of numbers, text and the like?"""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        return False
    return True
