"""Wall time of a beam of 5x5x3, rated child by child, over the least that its calls can take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import dspy

from thoughtree.search import Ask, Reply, Tree, adrive, drive

from .endless import Answers, beam
from .program import program
from .report import Report, Row, at_most, beside
from .schedule import CALLS, MEAN, even, ideal, skewed
from .steady import steady_lm
from .timing import least

SIZE = (5, 5, 3)
CAPS = {"none": 1000, "16": 16, "8": 8}  # calls in flight; no level of this beam has a thousand
REPEATS = 7


@dataclass(frozen=True, slots=True)
class Runner:
    """One way to run the beam. seconds(latencies in order of issue, cap): the wall time of a run."""

    name: str
    most: Mapping[str, float]  # cap -> the ratio to the ideal that is to be reached
    seconds: Callable[[Sequence[float], int], float]


def threads(latencies: Sequence[float], cap: int) -> float:
    answers = Answers(SIZE[1])

    def prepare(ask: Ask, tree: Tree[int, int]) -> Callable[[], Reply]:
        reply, latency = Reply(answers.of(ask.request)), latencies[ask.id]

        def call() -> Reply:
            time.sleep(latency)
            return reply

        return call

    started = time.perf_counter()
    result = drive(beam(*SIZE), prepare, concurrency=cap)
    seconds = time.perf_counter() - started
    assert result.spent.calls == CALLS
    return seconds


def event_loop(latencies: Sequence[float], cap: int) -> float:
    answers = Answers(SIZE[1])

    def prepare(ask: Ask, tree: Tree[int, int]) -> Callable[[], Awaitable[Reply]]:
        reply, latency = Reply(answers.of(ask.request)), latencies[ask.id]

        async def call() -> Reply:
            await asyncio.sleep(latency)
            return reply

        return call

    async def timed() -> float:
        started = time.perf_counter()
        result = await adrive(beam(*SIZE), prepare, concurrency=cap)
        seconds = time.perf_counter() - started
        assert result.spent.calls == CALLS
        return seconds

    return asyncio.run(timed())


def program_threads(latencies: Sequence[float], cap: int) -> float:
    solve = program()
    with dspy.context(lm=steady_lm(SIZE[1], latencies)):
        started = time.perf_counter()
        result = solve(question="What follows?", config={"concurrency": min(cap, CALLS)})
        seconds = time.perf_counter() - started
    assert result.search.spent.calls == CALLS
    return seconds


def program_event_loop(latencies: Sequence[float], cap: int) -> float:
    solve = program()

    async def timed() -> float:
        started = time.perf_counter()
        result = await solve.acall(question="What follows?", config={"concurrency": min(cap, CALLS)})
        seconds = time.perf_counter() - started
        assert result.search.spent.calls == CALLS
        return seconds

    with dspy.context(lm=steady_lm(SIZE[1], latencies)):
        return asyncio.run(timed())


CORE = dict.fromkeys(CAPS, 1.08)
WHOLE = {"none": 1.25, "16": 1.20, "8": 1.15}
RUNNERS = [
    Runner("core, threads", CORE, threads),
    Runner("core, asyncio", CORE, event_loop),
    Runner("whole program, threads", WHOLE, program_threads),
    Runner("whole program, asyncio", WHOLE, program_event_loop),
]


def measure(data: Path | None = None) -> Report:
    return Report(
        "wall",
        f"wall time over the ideal: beam 5x5x3, rating per child, {1000 * MEAN:g} ms a call",
        list(rows(RUNNERS)),
        [
            f"Each time is the least of {REPEATS} repeats. Ideal: calls start in order as soon as one may.",
            "Skewed: log-normal latencies of that mean. A level waits for its slowest call, ideally too.",
        ],
    )


def rows(runners: Sequence[Runner]) -> Iterator[Row]:
    for runner in runners:
        for cap in CAPS:
            ratio, at = _over_ideal(runner, even(), cap)
            yield at_most(f"{runner.name}, cap {cap}", ratio, runner.most[cap], at=at)
    for runner in runners:
        for cap in CAPS:
            ratio, at = _over_ideal(runner, skewed(), cap)
            yield beside(f"{runner.name}, cap {cap}, skewed", ratio, at=at)


def _over_ideal(runner: Runner, latencies: Sequence[float], cap: str) -> tuple[float, str]:
    """The ratio, and in words the ideal that it is over."""
    best = ideal(latencies, CAPS[cap])
    return least(partial(runner.seconds, latencies, CAPS[cap]), REPEATS) / best, f"ideal {1000 * best:.0f} ms"
