"""Ctrl-C: once ends the search with its best so far, twice quits."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from typing import TypeVar

from .search import Stop

T = TypeVar("T")
LOOK_UP = 0.2  # seconds: on Windows no signal ends a longer wait


def interruptible(run: Callable[[], T], stop: Stop) -> T:
    """What `run` returns. The first KeyboardInterrupt calls `stop`, the second is raised at once.

    `run` gets a thread of its own, so that no interrupt can strike while the search is changing its tree, and
    none is missed while it waits.
    """
    outcome: Future[T] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome.set_result(context.run(run))
        except BaseException as error:  # raised again below
            outcome.set_exception(error)

    threading.Thread(target=work, name="thoughtree-solve", daemon=True).start()
    while True:
        try:
            if wait_for([outcome], timeout=LOOK_UP).done:
                break
        except KeyboardInterrupt:
            if stop.asked:
                raise
            stop()
    return outcome.result()
