"""What a journal costs: wall time with it over without it, and the time in which a run is resumed from it."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Iterator
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dspy

from thoughtree import ABMCTS, DFS, MCTS, Beam, BestFirst, Budget, TreeOfThoughts
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
SIZES = (1_000, 10_000, 40_000)  # replies; the last of a beam alone
DEPTH = 10
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
            f"Resumed: from the call to its result, the least of {RESUMES} by the clock; each reply is on disk.",
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

Times = tuple[float, float]  # seconds by the clock, and of the processor


def resume(folder: Path) -> Iterator[Row]:
    for name, resumed in RESUMED_RUNS.items():
        sizes = SIZES if name in ("Beam", "core") else SIZES[:2]
        paths = {replies: folder / f"{name}-{replies}" for replies in sizes}
        times: dict[int, list[Times]] = {replies: [] for replies in sizes}
        for replies, path in paths.items():
            resumed(path, replies)  # writes it
        for _ in range(RESUMES):  # in turn, so that a slow moment of the machine meets all of them
            for replies, path in paths.items():
                gc.collect()
                times[replies].append(resumed(path, replies))
        for replies, path in paths.items():
            clock, processor = (min(each) for each in zip(*times[replies], strict=True))
            figure = f"{name}, {replies:,} replies: resumed in"
            at = f"{path.stat().st_size / 1e6:.1f} MB; {processor:.3f} s of the processor"
            yield at_most(figure, clock, RESUMED, "s", at) if replies == SIZES[1] else beside(figure, clock, "s", at)
        each = {replies: min(processor for _, processor in times[replies]) / replies for replies in sizes}
        for fewer, more in pairwise(sizes):
            yield at_most(
                f"{name}: processor time per reply, {more:,} over {fewer:,}", each[more] / each[fewer], GROWTH
            )


def whole(controller: Callable[[int], Any]) -> Callable[[Path, int], Times]:
    """One call of a program, which is all work of one thread where everything is on disk."""

    def resumed(path: Path, replies: int) -> Times:
        solve = TreeOfThoughts("question -> answer", controller=controller(replies), answer="path", budget=replies)
        with dspy.context(lm=steady_lm(BRANCHING)):
            clock, processor = time.perf_counter(), time.process_time()
            found = solve(question="What follows?", config={"journal": path})
            taken = time.perf_counter() - clock, time.process_time() - processor
        assert found.search.spent.calls == replies
        return taken

    return resumed


def core(path: Path, replies: int) -> Times:
    """The same of a bare search, answered one request at a time."""
    answers, budget = Answers(BRANCHING), Budget(calls=replies)
    clock, processor = time.perf_counter(), time.process_time()
    search, journal = beam(_width(replies), BRANCHING, DEPTH, budget), Journal(path, {"replies": replies})
    found = run(search, lambda request, tree: answers.of(request), journal=journal)
    journal.close()
    taken = time.perf_counter() - clock, time.process_time() - processor
    assert found.spent.calls == replies
    return taken


def _width(replies: int) -> int:
    """Of a beam that needs more replies than these: five ratings and a proposal for each state that it keeps."""
    return replies // (DEPTH - 2)


# Each goes on until its budget is used up.
RESUMED_RUNS: dict[str, Callable[[Path, int], Times]] = {
    "Beam": whole(lambda replies: Beam(width=_width(replies), branching=BRANCHING, max_depth=DEPTH)),
    "DFS": whole(lambda replies: DFS(branching=3, max_depth=12)),
    "BestFirst": whole(lambda replies: BestFirst(branching=BRANCHING, max_depth=30, expansions=replies)),
    "MCTS": whole(lambda replies: MCTS(rollouts=replies, branching=3, max_depth=30)),
    "ABMCTS": whole(lambda replies: ABMCTS(rollouts=replies, max_depth=8)),
    "core": core,
}
