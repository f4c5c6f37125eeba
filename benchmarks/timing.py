"""How times are taken: the least of several repeats, with the garbage collector in a stated mode."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MICROSECONDS = 1e6


def least(measure: Callable[[], float], repeats: int) -> float:
    """The least of `repeats` measurements: what else the machine does only ever adds time."""
    times: list[float] = []
    for _ in range(repeats):
        gc.collect()
        times.append(measure())
    return min(times)


@contextmanager
def garbage_collector(on: bool) -> Iterator[None]:
    """The automatic garbage collector on or off inside, and afterwards as it was."""
    was = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        yield
    finally:
        (gc.enable if was else gc.disable)()
