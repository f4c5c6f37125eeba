"""Checks of a program that has run: each is code run in the program's names, and fails by raising.

Needs no other file, so that it can be given to any interpreter that takes code as text.
"""

from __future__ import annotations

import io
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

FILE = "<test>"
RAISES = "Traceback (most recent call last)"


def run_checks(
    checks: Sequence[tuple[str, str | None]], scope: dict[str, Any], say: Callable[[str, str, str], None]
) -> None:
    """Runs `checks`, pairs of code and of what it is to show (None: nothing in particular), in the order given.

    Says "passed" or "failed", its number, and why; and before each "begin" and its number, so that of one which
    never comes back it is known which it was. All share `scope`: what one assigns, the next ones see.
    """
    for number, (code, want) in enumerate(checks):
        say("begin", str(number), "")
        try:
            why = _run(code, scope) if want is None else _example(code, want, scope)
        except BaseException as error:  # SystemExit too: it ends the check, and not those after it
            why = _told(error)
        say("passed" if why is None else "failed", str(number), why or "")


def _run(code: str, scope: dict[str, Any]) -> str | None:
    exec(compile(code, FILE, "exec", dont_inherit=True), scope)
    return None


def _told(error: BaseException) -> str:
    kind = type(error).__name__
    try:
        text = str(error)
    except BaseException:  # its own code, which may do anything
        text = "(its text cannot be made)"
    if kind == "AssertionError":
        return text or "does not hold"
    return f"{kind}: {text}" if text else kind


def _example(code: str, want: str, scope: dict[str, Any]) -> str | None:
    """Why the interpreter's answer to `code` is not `want`; None if it is. As a value or as text, spacing aside."""
    values: list[Any] = []
    raised: Exception | None = None
    stdout, hook = sys.stdout, sys.displayhook
    sys.stdout = printed = io.StringIO()
    sys.displayhook = values.append
    try:
        exec(compile(code + "\n", FILE, "single", dont_inherit=True), scope)
    except Exception as error:
        raised = error
    finally:
        sys.stdout, sys.displayhook = stdout, hook
    want = want.strip()
    if want.startswith(RAISES):
        return _raises(raised, want.splitlines()[-1])
    if raised is not None:
        return f"expected {want or 'no error'}, got {_told(raised)}"
    text = printed.getvalue()
    got = "\n".join([*text.splitlines(), *(repr(value) for value in values if value is not None)])
    if got.split() == want.split() or (not text and _means(want, values, scope)):
        return None
    return f"expected {want or 'nothing'}, got {got[:1000] or 'nothing'}"


def _means(want: str, values: list[Any], scope: dict[str, Any]) -> bool:
    """Is `want`, read as an expression, equal to the one value shown? So 'a' is "a", and a set has no order."""
    try:
        return len(values) == 1 and bool(eval(want, scope.copy()) == values[0])
    except Exception:  # no expression: what is expected is text
        return False


def _raises(raised: Exception | None, line: str) -> str | None:
    """Why what was raised is not what a traceback's last line says; None if it is. Its text counts if it is given."""
    kind, _, text = (part.strip() for part in line.partition(":"))
    if raised is not None and type(raised).__name__ == kind.rpartition(".")[2] and text in ("", "...", str(raised)):
        return None
    return f"expected {line}, got {'no error' if raised is None else _told(raised)}"
