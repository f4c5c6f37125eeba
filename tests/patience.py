"""Waiting in tests: for what comes, however long the machine takes over it, and never for a time that should do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 60.0  # seconds until a test gives up; none of them takes long


def until(holds: Callable[[], object], most: float = PATIENCE) -> None:
    """Wait until it holds. AssertionError if it does not come."""
    end = time.monotonic() + most
    while not holds():
        assert time.monotonic() < end, f"it did not come in {most:g} seconds"
        time.sleep(0.002)


def in_time(attempt: Callable[[float], T | None], first: float = 0.1) -> T:
    """What an attempt gives that has so many seconds until its deadline.

    It gives None where the machine was too slow, and the deadline came before the moment that the test is about: then
    it is tried again with more time. A machine that is fast enough waits for the shortest deadline only.
    """
    for times in (1, 5, 25, 125):
        if (found := attempt(times * first)) is not None:
            return found
    raise AssertionError(f"the deadline came too early, even with {times * first:g} seconds")
