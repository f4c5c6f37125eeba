"""Time of the drivers per LM call when a call takes no time, the core included."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

from thoughtree.search import Ask, Reply, Tree, adrive, drive, run

from .endless import Answers, beam
from .report import Report, Row, at_most, beside
from .timing import MICROSECONDS, least

SIZES = {"5x5x3": (5, 5, 3), "5x5x20": (5, 5, 20)}
AT_MOST = {
    ("threads, 8 in flight", "5x5x3"): 60.0,
    ("threads, 8 in flight", "5x5x20"): 35.0,
    ("threads, 1 in flight", "5x5x3"): 120.0,
    ("threads, 1 in flight", "5x5x20"): 120.0,
    ("asyncio, 8 in flight", "5x5x3"): 35.0,
    ("asyncio, 8 in flight", "5x5x20"): 35.0,
}
REPEATS = 15

Size = tuple[int, int, int]


def threads(size: Size, in_flight: int) -> float:
    """Seconds per call under the thread driver."""
    answers = Answers(size[1])

    def prepare(ask: Ask, tree: Tree[int, int]) -> Callable[[], Reply]:
        reply = Reply(answers.of(ask.request))
        return lambda: reply

    search, started = beam(*size), perf_counter()
    calls = drive(search, prepare, concurrency=in_flight).spent.calls
    return (perf_counter() - started) / calls


def event_loop(size: Size, in_flight: int) -> float:
    """Seconds per call under the asyncio driver; starting the loop is not counted."""
    answers = Answers(size[1])

    def prepare(ask: Ask, tree: Tree[int, int]) -> Callable[[], Awaitable[Reply]]:
        reply = Reply(answers.of(ask.request))

        async def call() -> Reply:
            return reply

        return call

    async def timed() -> float:
        search, started = beam(*size), perf_counter()
        calls = (await adrive(search, prepare, concurrency=in_flight)).spent.calls
        return (perf_counter() - started) / calls

    return asyncio.run(timed())


def plain(size: Size, in_flight: int) -> float:
    """Seconds per call under the plain driver, which has one request at a time."""
    answers, search, started = Answers(size[1]), beam(*size), perf_counter()
    calls = run(search, lambda request, tree: answers.of(request)).spent.calls
    return (perf_counter() - started) / calls


def measure(data: Path | None = None) -> Report:
    return Report(
        "driver",
        "time per LM call at no latency, core included; a beam's width x branching x depth",
        list(rows()),
        [f"Each time is the least of {REPEATS} repeats. Garbage collector on."],
    )


def rows() -> Iterator[Row]:
    for name, timed, in_flight in (
        ("threads, 8 in flight", threads, 8),
        ("threads, 1 in flight", threads, 1),
        ("asyncio, 8 in flight", event_loop, 8),
        ("plain loop", plain, 1),
    ):
        for size_name, size in SIZES.items():
            most, figure = AT_MOST.get((name, size_name)), f"{name}, {size_name}"
            per_call = MICROSECONDS * least(partial(timed, size, in_flight), REPEATS)
            yield beside(figure, per_call, "us") if most is None else at_most(figure, per_call, most, "us")
