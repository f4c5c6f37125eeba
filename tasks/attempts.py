"""The state of a programming search: the problem's tests, and the programs tried so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from .codec import texts
from .sandbox.result import NOT_REACHED, Check, Checked, SandboxResult, Why

MOST_TRACE = 1200  # characters of a traceback


@dataclass(frozen=True, slots=True)
class Attempt:
    """A program and what came of it. passed: for each visible test, in order. solved: all of them, and a clean end.

    outcome: which tests passed, and why the first other one failed, in words.
    """

    program: str
    passed: tuple[bool, ...]
    solved: bool
    outcome: str

    @property
    def rate(self) -> float | None:
        """The share of visible tests passed, from 0 to 1; None without tests."""
        return sum(self.passed) / len(self.passed) if self.passed else None


@dataclass(frozen=True, slots=True)
class Attempts:
    """A sequence of attempts, the newest last. tests, setup: of the problem, the same in all of its states."""

    tests: tuple[Check, ...] = ()
    setup: str = ""
    made: tuple[Attempt, ...] = ()

    def __len__(self) -> int:
        return len(self.made)

    def __getitem__(self, index: int) -> Attempt:
        return self.made[index]

    def __iter__(self) -> Iterator[Attempt]:
        return iter(self.made)

    def after(self, attempt: Attempt) -> Attempts:
        return replace(self, made=(*self.made, attempt))

    def json(self) -> dict[str, Any]:
        """All of it as a JSON value; `read` is its inverse."""
        return {
            "tests": [[test.code, test.want, test.shown] for test in self.tests],
            "setup": self.setup,
            "made": [[made.program, list(made.passed), made.solved, made.outcome] for made in self.made],
        }

    @classmethod
    def read(cls, value: dict[str, Any]) -> Attempts:
        """ValueError, TypeError or KeyError for what `json` did not write."""
        tests = tuple(Check(code, want, shown) for code, want, shown in value["tests"])
        made = tuple(Attempt(program, tuple(passed), solved, told) for program, passed, solved, told in value["made"])
        said = [value["setup"], *(text for test in tests for text in (test.code, test.want or "", test.shown))]
        texts([*said, *(text for attempt in made for text in (attempt.program, attempt.outcome))])
        flags = [flag for attempt in made for flag in (attempt.solved, *attempt.passed)]
        if not all(isinstance(flag, bool) for flag in flags):
            raise ValueError(f"{flags!r} are not true or false, each")
        return cls(tests, value["setup"], made)


def judged(program: str, tests: tuple[Check, ...], result: SandboxResult) -> Attempt:
    """What a run says of a program."""
    passed = tuple(check.passed for check in result.checks)
    solved = result.ok and bool(tests) and all(passed)
    return Attempt(program, passed, solved, _outcome(tests, result))


def _outcome(tests: tuple[Check, ...], result: SandboxResult) -> str:
    if not tests:
        return "It ran to its end; there are no tests." if result.ok else _broke_off(result)
    if not result.ok and not any(_reached(check) for check in result.checks):
        return f"No test was reached. {_broke_off(result)}"
    failed = [number for number, check in enumerate(result.checks) if not check.passed]
    counted = f"{len(tests) - len(failed)} of {len(tests)} tests passed"
    if failed:
        passed = ", ".join(str(number + 1) for number, check in enumerate(result.checks) if check.passed)
        first = failed[0]
        which = f" ({passed})" if passed else ""
        return f"{counted}{which}.\nTest {first + 1} failed: {tests[first]}\n{result.checks[first].text}"
    return f"{counted}." if result.ok else f"{counted}, but the program did not come to its end. {_broke_off(result)}"


def _reached(check: Checked) -> bool:
    return check.passed or check.text != NOT_REACHED


def _broke_off(result: SandboxResult) -> str:
    """Why a program did not come to its end."""
    if result.why in (Why.ERROR, Why.MEMORY, Why.FILES, Why.PROCESSES) and result.stderr.strip():
        return f"The program failed:\n{result.stderr.strip()[-MOST_TRACE:]}"
    if result.why is Why.EXIT:
        return "The program left before its end, by sys.exit or the like."
    if result.why is Why.SIGNAL:
        return f"The program was ended by signal {-result.exit}."
    return f"The program met its limit: {result.why}."
