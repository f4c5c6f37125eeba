"""A program that nobody trusts, run in a process of its own within limits."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

from .process import run_launcher
from .reply import read_reply
from .result import Check, SandboxResult

MEGABYTE = 1 << 20
LEAST_MEMORY_MB = 64  # below it, not even the interpreter starts
PROTECTIONS = frozenset({"namespaces", "root folder", "landlock", "filter"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Runs Python programs, each in a new process with no environment, no network and an empty folder. Linux only.

    cpu_seconds: of the program and all that it starts, together. wall_seconds: from its first line on. memory_mb: of
    address space for each process, and of memory for all together. output_bytes: of stdout and stderr together.
    file_mb: of all files that it writes, 4096 of them at most. processes: how many it may be at once, threads counted.
    paths: more folders that it may read and import from; without them, it has Python's standard library. examiner:
    checks are run by a process that the program cannot reach; see below. strict: refuse to run where the system does
    not isolate it in full (else the result's `isolation` says what was lacking). without: protections to
    leave out (namespaces, root folder, landlock, filter), as on a system that refuses them.

    What a run is kept in depends on the system: see `Isolation`. Where namespaces are allowed, all of it holds.

    An examiner is another process, which alone has the checks. It asks the program's for what they name and call, and
    compares the values that come back in its own, so that nothing a program does to its interpreter makes a failing
    check pass. Plain values and those of the library's kinds are handed over, arguments are changed as the program
    changes them, and other objects have stand-ins, which pass on what is done with them. An object of a class that no
    check names equals no plain value, whatever it says; one of a class that they do name is asked about 15 others too,
    and is not believed if it cannot tell them apart. What cannot be done from another process fails: deriving from a
    class of the program, or patching its modules. examiner=False runs such checks in the program's own interpreter,
    where a program that sets out to deceive them can.

    Safe to share between threads.
    """

    cpu_seconds: float = 5.0
    wall_seconds: float = 10.0
    memory_mb: int = 512
    output_bytes: int = 1_000_000
    file_mb: int = 16
    processes: int = 16
    paths: tuple[str, ...] = ()
    examiner: bool = True
    strict: bool = False
    without: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name in ("cpu_seconds", "wall_seconds"):
            seconds = getattr(self, name)
            is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
            if not is_number or not isfinite(seconds) or seconds <= 0:
                raise ValueError(f"Sandbox({name}={seconds!r}): must be a positive, finite number of seconds")
        leasts = {"memory_mb": LEAST_MEMORY_MB, "output_bytes": 0, "file_mb": 1, "processes": 1}
        for name, least in leasts.items():
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                raise ValueError(f"Sandbox({name}={number!r}): must be a whole number, at least {least}")
        if isinstance(self.paths, str) or not all(os.path.isabs(path) for path in self.paths):
            raise ValueError(f"Sandbox(paths={self.paths!r}): must be a tuple of absolute paths")
        object.__setattr__(self, "paths", tuple(self.paths))
        if isinstance(self.without, str) or not PROTECTIONS.issuperset(self.without):
            known = ", ".join(sorted(PROTECTIONS))
            raise ValueError(f"Sandbox(without={self.without!r}): must be a set of some of these: {known}")
        object.__setattr__(self, "without", frozenset(self.without))

    def run(
        self, code: str, stdin: str = "", checks: Iterable[Check] = (), setup: str = "", name: str = "__main__"
    ) -> SandboxResult:
        """Runs `setup`, then `code` as a script in the same names, then `checks`, one after another.

        name: its `__name__`; with another than a script's, what it guards by `if __name__ == "__main__"` is left out.

        A check that fails does not make the result less `ok`: `result.checks` tells. A run that ends early leaves the
        check that it was at, and those after it, failed. SandboxUnavailable if the program could not be started.
        """
        for given, text in (("code", code), ("stdin", stdin), ("setup", setup), ("name", name)):
            if not isinstance(text, str):
                raise TypeError(f"Sandbox.run({given}=...): must be text, not {type(text).__name__}")
        asked = tuple(checks)
        checks_of = [(check.code, check.want) for check in asked]
        apart = self.examiner and bool(asked)
        order = {
            "setup": setup,
            "code": code,
            "name": name,
            "checks": None if apart else checks_of,
            "stdin": stdin.encode("utf-8", "surrogatepass"),
            "cpu": float(self.cpu_seconds),
            "wall": float(self.wall_seconds),
            "memory": self.memory_mb * MEGABYTE,
            "output": self.output_bytes,
            "files": self.file_mb * MEGABYTE,
            "processes": self.processes,
            "paths": list(self.paths),
            "strict": self.strict,
            "without": sorted(self.without),
        }
        return read_reply(run_launcher(order, checks_of if apart else (), self.wall_seconds), len(asked))
