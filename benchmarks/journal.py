"""What a journal costs: wall time with it over without it, and the time in which a run is resumed from it."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dspy

from thoughtree import Beam, TreeOfThoughts
from thoughtree.search import Journal, run

from .endless import Answers, beam
from .program import program
from .report import Report, Row, at_most, beside
from .schedule import CALLS
from .steady import steady_lm

LATENCY = 0.020  # seconds a call
BRANCHING = 5
SLOWER = 1.03  # at most, with a journal
PAIRS, FORCED = 31, 3  # runs each way; and with fsync
SIZES = {1_014: (46, 6), 10_008: (504, 7), 40_002: (1962, 8)}  # replies: the width and depth of a beam that has them
RESUMED = 0.5  # seconds, of 10,000 replies
GROWTH = 2.0  # at most, of the time per reply, for ten times the replies: the collector has more to look at
RESUMES = 7


def measure(data: Path | None = None) -> Report:
    with TemporaryDirectory() as folder:
        rows = [*cost(Path(folder)), *resume(Path(folder))]
    return Report(
        "journal",
        f"a beam of 5x5x3 with and without a journal, {1000 * LATENCY:g} ms a call, 8 in flight; resumed beams",
        rows,
        [
            f"With over without: the least times of {PAIRS} runs (fsync: {FORCED}), in turn, each with a new file.",
            f"Resumed: processor time from the call to its result, the least of {RESUMES}; each reply is on disk.",
            "A whole program's replies hold their prompts and outputs; the core's do not.",
        ],
    )


# ---- with a journal and without


def cost(folder: Path) -> Iterator[Row]:
    for name, seconds in (("threads", threads), ("asyncio", event_loop)):
        number = count()
        times: dict[str, list[float]] = {"off": [], "on": [], "fsync": []}
        for pair in range(PAIRS):  # in turn, so that a slow moment of the machine meets all of them
            for setting in ("off", "on") if pair % 2 else ("on", "off"):
                journal = {"journal": folder / f"{name}-{next(number)}"}
                times[setting].append(seconds(journal if setting == "on" else {}))
            if pair < FORCED:
                times["fsync"].append(seconds({"journal": folder / f"{name}-{next(number)}", "fsync": True}))
        off, on, fsync = (min(times[setting]) for setting in ("off", "on", "fsync"))
        yield at_most(f"whole program, {name}: with over without", on / off, SLOWER, at=f"{1000 * off:.0f} ms without")
        yield beside(f"whole program, {name}: with fsync over without", fsync / off)


def threads(config: dict[str, Any]) -> float:
    solve, model = program(), steady_lm(BRANCHING, [LATENCY] * CALLS)
    with dspy.context(lm=model):
        started = time.perf_counter()
        found = solve(question="What follows?", config=config)
        seconds = time.perf_counter() - started
    assert found.search.spent.calls == CALLS
    return seconds


def event_loop(config: dict[str, Any]) -> float:
    solve, model = program(), steady_lm(BRANCHING, [LATENCY] * CALLS)

    async def timed() -> float:
        started = time.perf_counter()
        found = await solve.acall(question="What follows?", config=config)
        seconds = time.perf_counter() - started
        assert found.search.spent.calls == CALLS
        return seconds

    with dspy.context(lm=model):
        return asyncio.run(timed())


# ---- resumed


def resume(folder: Path) -> Iterator[Row]:
    for name, resumed in (("whole program", whole), ("core", core)):
        paths = {replies: folder / f"{name}-{replies}" for replies in SIZES}
        times: dict[int, list[float]] = {replies: [] for replies in SIZES}
        for replies, path in paths.items():
            resumed(path, replies)  # writes it
        for _ in range(RESUMES):  # in turn, likewise
            for replies, path in paths.items():
                gc.collect()
                times[replies].append(resumed(path, replies))
        for replies, path in paths.items():
            seconds = min(times[replies])
            figure, at = f"{name}, {replies:,} replies: resumed in", f"{path.stat().st_size / 1e6:.1f} MB"
            yield at_most(figure, seconds, RESUMED, "s", at) if replies == 10_008 else beside(figure, seconds, "s", at)
        each = {replies: min(times[replies]) / replies for replies in SIZES}
        for fewer, more in pairwise(SIZES):
            yield at_most(f"{name}: time per reply, {more:,} over {fewer:,}", each[more] / each[fewer], GROWTH)


def whole(path: Path, replies: int) -> float:
    """Processor seconds of one call of a program, which is all work of one thread."""
    width, depth = SIZES[replies]
    controller = Beam(width=width, branching=BRANCHING, max_depth=depth)
    solve = TreeOfThoughts("question -> answer", controller=controller, answer="path")
    with dspy.context(lm=steady_lm(BRANCHING)):
        started = time.process_time()
        found = solve(question="What follows?", config={"journal": path})
        seconds = time.process_time() - started
    assert found.search.spent.calls == replies
    return seconds


def core(path: Path, replies: int) -> float:
    """The same of a bare search, answered one request at a time."""
    width, depth = SIZES[replies]
    answers = Answers(BRANCHING)
    started = time.process_time()
    search, journal = beam(width, BRANCHING, depth), Journal(path, {"width": width})
    found = run(search, lambda request, tree: answers.of(request), journal=journal)
    journal.close()
    seconds = time.process_time() - started
    assert found.spent.calls == replies
    return seconds
