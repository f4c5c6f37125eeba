"""Time to import thoughtree over the time to import DSPy, which it cannot do without."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from .report import Report, Row, at_most, beside

STATEMENTS = {"dspy": "import dspy", "thoughtree": "from thoughtree import TreeOfThoughts"}
TIMED = "from time import perf_counter as now; t = now(); {}; print(now() - t)"
REPEATS = 15
AT_MOST = 1.15


def seconds(statement: str, environment: Mapping[str, str]) -> float:
    """How long `statement` takes in a fresh interpreter, whose own start does not count."""
    command = [sys.executable, "-c", TIMED.format(statement)]
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def run() -> list[Row]:
    """The least of `REPEATS` imports each, taken in turns so that both meet the same machine."""
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    with tempfile.TemporaryDirectory() as bytecode:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once, then read
        for statement in STATEMENTS.values():
            seconds(statement, environment)  # compiles
        for _ in range(REPEATS):
            for name, statement in STATEMENTS.items():
                times[name].append(seconds(statement, environment))
    return list(_rows({name: min(taken) for name, taken in times.items()}))


def _rows(least: Mapping[str, float]) -> Iterator[Row]:
    for name, statement in STATEMENTS.items():
        yield beside(statement, 1e3 * least[name], "ms")
    yield at_most("ratio", least["thoughtree"] / least["dspy"], AT_MOST)


def measure(data: Path | None = None) -> Report:
    return Report(
        "imports",
        "time to import thoughtree over the time to import dspy",
        run(),
        [f"Each time is the least of {REPEATS} fresh interpreters, bytecode compiled before."],
    )
