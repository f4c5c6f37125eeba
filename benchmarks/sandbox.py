"""Time of a trivial program in the sandbox over a bare interpreter's: what the limits and the isolation cost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

from thoughtree.tasks.sandbox import Check, Sandbox

from .report import Report, Row, at_most, beside

REPEATS = 60
AT_ONCE = 8
AT_MOST = 2.0
BARE = [sys.executable, "-I", "-c", "pass"]


def seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def trivial(sandbox: Sandbox) -> None:
    result = sandbox.run("pass")
    if not result.ok:
        raise RuntimeError(f"a trivial program did not run: {result}")


def examined(sandbox: Sandbox) -> None:
    result = sandbox.run("x = 1", checks=[Check("assert x == 1")])
    if not (result.ok and result.checks[0].passed):
        raise RuntimeError(f"a trivial check did not pass: {result}")


def together(sandbox: Sandbox, pool: ThreadPoolExecutor) -> None:
    for done in [pool.submit(trivial, sandbox) for _ in range(AT_ONCE)]:
        done.result()


def run() -> Iterator[Row]:
    """The least of `REPEATS` each, taken in turns so that both meet the same machine."""
    sandbox = Sandbox()
    bare, boxed, checked, eight = [], [], [], []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for repeat in range(REPEATS):
            bare.append(seconds(lambda: subprocess.run(BARE, check=True)))
            boxed.append(seconds(lambda: trivial(sandbox)))
            checked.append(seconds(lambda: examined(sandbox)))
            if repeat % 10 == 0:
                eight.append(seconds(lambda: together(sandbox, pool)))
    yield beside("python -I -c pass", 1e3 * min(bare), "ms")
    yield beside("a trivial program in the sandbox", 1e3 * min(boxed), "ms")
    yield beside("with one check, and so with an examiner", 1e3 * min(checked), "ms")
    yield at_most("ratio", min(boxed) / min(bare), AT_MOST)
    yield beside(f"{AT_ONCE} at once, each", 1e3 * min(eight) / AT_ONCE, "ms")


def measure(data: Path | None = None) -> Report:
    return Report(
        "sandbox",
        "time of a trivial program in the sandbox over a bare interpreter's",
        list(run()),
        [f"Each time is the least of {REPEATS}. Isolation here: {Sandbox().run('pass').isolation}."],
    )
