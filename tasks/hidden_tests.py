"""Tests that a search never sees: the metric of a final program, run once on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from .program_runner import MODULE, runner_of
from .program_text import program_text
from .sandbox import Check


def passes(
    program: str | None, tests: str | Sequence[str], runner: Any = None, *, entry: str | None = None, setup: str = ""
) -> bool:
    """Does `program` run to its end, and does every text of `tests`, run after it in its names, raise nothing?

    tests: Python. If it defines `check(candidate)` and does not call it, as HumanEval's do, it is called with `entry`.
    runner: as for Programming. No program (None, or no text): False. EnvironmentFault if it could not be run.
    """
    code = program_text(program) if program else ""
    if not code:
        return False
    texts = [tests] if isinstance(tests, str) else list(tests)
    if not any(text.strip() for text in texts):
        raise ValueError(f"tests={tests!r}: there is no test, so nothing can fail")
    checks = [Check(_called(text, entry)) for text in texts]
    result = runner_of(runner).run(code, checks=checks, setup=setup, name=MODULE)
    return result.ok and all(check.passed for check in result.checks)


def _called(tests: str, entry: str | None) -> str:
    if not re.search(r"^def check\(", tests, re.MULTILINE) or re.search(r"^check\(", tests, re.MULTILINE):
        return tests
    if entry is None:
        raise ValueError("entry=None: the tests define check(candidate) and do not call it; say which function to give")
    return f"{tests}\ncheck({entry})\n"


def hidden_metric(
    field: str = "hidden_tests",
    output: str = "program",
    *,
    entry: str | None = None,
    setup: str | None = None,
    runner: Any = None,
) -> Callable[..., bool]:
    """A metric, `metric(example, prediction, trace=None)`: does the final program pass the example's hidden tests?

    field: of the example, with the tests. output: of the prediction, with the program. entry, setup: the fields of the
    example that name the function under test, and that hold code to run before the program, where there are any.
    """
    run = runner_of(runner)

    def metric(example: Any, prediction: Any, trace: Any = None) -> bool:
        return passes(
            prediction[output],
            example[field],
            run,
            entry=example[entry] if entry is not None else None,
            setup=example[setup] if setup is not None else "",
        )

    return metric
