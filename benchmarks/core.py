"""Time of the search core per node: one Rate request per child, a step in code, no driver."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from time import process_time

from .endless import Answers, beam, play
from .report import Report, Row, at_most
from .timing import MICROSECONDS, garbage_collector, least

# name: width, branching, depth
SIZES = {"5x5x3": (5, 5, 3), "5x5x20": (5, 5, 20), "20x20x10": (20, 20, 10), "100,000 nodes": (20, 20, 251)}
OFF, ON, SPREAD = 12.0, 20.0, 1.5  # microseconds, and the ratio of the slowest size to the fastest
NODES = 20_000  # searched per measurement, so that a small search is timed over many runs


def nodes(width: int, branching: int, depth: int) -> int:
    """Nodes of the full search: `branching` under the root, then under each of the kept."""
    level, total = 1, 0
    for _ in range(depth):
        total += level * branching
        level = min(width, level * branching)
    return total


def seconds_per_node(width: int, branching: int, depth: int) -> float:
    """One measurement, searches built anew included."""
    answers, size = Answers(branching), nodes(width, branching, depth)
    runs = max(1, NODES // size)
    started = process_time()  # one thread that never waits: other work on the machine is not counted
    for _ in range(runs):
        play(beam(width, branching, depth), answers)
    return (process_time() - started) / (runs * size)


def measure(data: Path | None = None) -> Report:
    return Report(
        "core",
        "time of the core per node; width x branching x depth",
        list(rows()),
        ["Each time is the least processor time of 7 repeats (3 for 100,000 nodes)."],
    )


def rows() -> Iterator[Row]:
    off: list[float] = []
    with garbage_collector(on=False):
        for name, size in SIZES.items():
            off.append(_microseconds(size))
            yield at_most(f"{name}, garbage collector off", off[-1], OFF, "us")
    yield at_most("slowest over fastest of these", max(off) / min(off), SPREAD, "times")
    importlib.import_module("dspy")  # what lives in memory is what a full collection walks over
    with garbage_collector(on=True):
        for name, size in SIZES.items():
            yield at_most(f"{name}, garbage collector on, dspy imported", _microseconds(size), ON, "us")


def _microseconds(size: tuple[int, int, int]) -> float:
    repeats = 3 if nodes(*size) > NODES else 7
    return MICROSECONDS * least(lambda: seconds_per_node(*size), repeats)
