"""What a sandboxed run came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

NOT_REACHED = "not reached"  # what is said of a check when the run was over before it


class Why(StrEnum):
    """Why a run was over."""

    END = "ran to its end"
    ERROR = "error"  # it raised, and nothing caught it
    EXIT = "exit"  # it left before its end: sys.exit, os._exit
    SIGNAL = "killed"  # by a signal: its own, or the kernel's at a crash
    CPU = "cpu time"
    WALL = "wall time"
    MEMORY = "memory"
    OUTPUT = "output"
    FILES = "file size"
    PROCESSES = "processes"


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a program: Python that runs in the program's names, and fails by raising.

    want: what an interactive interpreter is to answer to `code`, as text, as in a docstring's example; None: nothing
    in particular. shown: the check as a reader is shown it (default: its code).
    """

    code: str
    want: str | None = None
    shown: str = ""

    def __str__(self) -> str:
        return self.shown or self.code


@dataclass(frozen=True, slots=True)
class Checked:
    """passed: whether a check did; text: why not, "" if it did."""

    passed: bool
    text: str = ""


@dataclass(frozen=True, slots=True)
class Isolation:
    """What a run was kept in. held: each protection, and by what means; lacking: each missing one, and why.

    The protections: user, processes, network, files, calls.
    """

    held: Mapping[str, str] = field(default_factory=dict)
    lacking: Mapping[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return not self.lacking

    @property
    def gaps(self) -> str:
        """What is lacking, in words; "" if nothing is."""
        return "; ".join(f"{what} NOT isolated: {why}" for what, why in self.lacking.items())

    def __str__(self) -> str:
        held = "; ".join(f"{what}: {how}" for what, how in self.held.items())
        return "; ".join(part for part in (self.gaps, held) if part)


@dataclass(frozen=True, slots=True)
class SandboxResult:
    """One run.

    ok: the program ran to its end, within its limits, without an error. exit: its exit code, or minus the signal that
    ended it. stdout, stderr: text, cut at the limit. why: what ended it. checks: what came of each check, in order.
    seconds: wall time of the program alone. cpu_seconds: of it and all that it started. isolation: what it was kept in.
    """

    ok: bool
    exit: int
    stdout: str
    stderr: str
    why: Why
    seconds: float
    cpu_seconds: float
    isolation: Isolation
    checks: tuple[Checked, ...] = ()

    @property
    def error(self) -> str:
        """What went wrong in one line; "" if nothing did. An error's own last line, where there is one."""
        if self.why is Why.END:
            return ""
        last = self.stderr.strip().rpartition("\n")[2]
        return last if self.why is Why.ERROR and last else f"ended: {self.why}"
