"""Time per LM call of a whole program over a bare dspy.Predict's, 8 in flight, str fields, no latency."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import dspy

from thoughtree import Beam, TreeOfThoughts

from .report import Report, at_most, beside
from .schedule import CALLS
from .steady import steady_lm
from .timing import MICROSECONDS

IN_FLIGHT = 8
BRANCHING = 5
REPEATS = 25
SHOWN = {"question": "What follows?", "search_path": "1. step 1\n2. step 2"}
MOST = {"threads": 0.85, "asyncio": 0.65}


def program() -> TreeOfThoughts:
    """A beam of 5x5x3, rated child by child; the answer is the path, so that all calls are the search's."""
    return TreeOfThoughts("question -> answer", controller=Beam(), answer="path", concurrency=IN_FLIGHT)


def bare() -> Any:
    """A Predict with the fields of a rating, which most of the program's calls are."""
    return dspy.Predict("question, search_path -> rating_reasoning, thought_rating")


def program_threads(solve: TreeOfThoughts) -> float:
    started = perf_counter()
    calls: int = solve(question=SHOWN["question"]).search.spent.calls
    assert calls == CALLS
    return (perf_counter() - started) / calls


def bare_threads(predict: Any) -> float:
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        started = perf_counter()
        jobs = [pool.submit(contextvars.copy_context().run, lambda: predict(**SHOWN)) for _ in range(CALLS)]
        for job in jobs:
            job.result()
        return (perf_counter() - started) / CALLS


async def _program(solve: TreeOfThoughts) -> float:
    started = perf_counter()
    calls: int = (await solve.acall(question=SHOWN["question"])).search.spent.calls
    return (perf_counter() - started) / calls


async def _bare(predict: Any) -> float:
    places = asyncio.Semaphore(IN_FLIGHT)

    async def one() -> None:
        async with places:
            await predict.acall(**SHOWN)

    started = perf_counter()
    await asyncio.gather(*(one() for _ in range(CALLS)))
    return (perf_counter() - started) / CALLS


def measure(data: Path | None = None) -> Report:
    solve, predict = program(), bare()
    names = ("threads", "bare threads", "asyncio", "bare asyncio")
    times: dict[str, list[float]] = {name: [] for name in names}
    with dspy.context(lm=steady_lm(BRANCHING)):
        for _ in range(REPEATS):  # in turn, so that a slow moment of the machine meets all four
            times["threads"].append(program_threads(solve))
            times["bare threads"].append(bare_threads(predict))
            times["asyncio"].append(asyncio.run(_program(solve)))
            times["bare asyncio"].append(asyncio.run(_bare(predict)))
    rows = []
    for name, most in MOST.items():
        ratio, per_call = _ratio(times[name], times[f"bare {name}"])
        rows.append(at_most(f"{name}, over a bare Predict", ratio, most))
        rows.append(beside(f"{name}, time per call", MICROSECONDS * per_call, "us"))
    return Report(
        "program",
        f"time per LM call of a whole program over a bare dspy.Predict's, {IN_FLIGHT} in flight",
        rows,
        [f"Ratio of the third least of {REPEATS} repeats, taken in turn. Garbage collector on."],
    )


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Of the third least times, and ours. A bare acall takes threads: its least time is one lucky run."""
    mine, bare = sorted(ours)[2], sorted(theirs)[2]
    return mine / bare, mine
