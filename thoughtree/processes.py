"""Processes that work at one study, or at one data set, started by the one that makes the report."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .data_options import TuneOptions
from .exits import Exit
from .guarded import guarded

GRACE = 30.0  # seconds to end in, once asked to
Work = Callable[..., Exit]  # importable, as each process imports it anew


def at_once(options: TuneOptions, many: int, began: float) -> list[int]:
    """Run `thoughtree tune` with these options in so many processes, and give their exit codes.

    A process that is killed has a negative one; the others take over what it was at. KeyboardInterrupt ends them all,
    after each has written down what it paid; so does the study's time, counted from `began`, of those that are not
    ready to begin by then.
    """
    from .cli_tune import tuned

    with started(tuned, (options, began), many) as processes:
        for process in processes:
            left = None if options.study_seconds is None else max(0.0, began + options.study_seconds - time.time())
            process.join(left)
    return [int(process.exitcode) for process in processes]


@contextmanager
def started(work: Work, given: Sequence[Any], many: int) -> Iterator[list[Any]]:
    """So many processes, each of which does `work(*given)`; at the end those that still run are ended.

    Also where this one is killed: they look out for it.
    """
    context = multiprocessing.get_context("spawn")  # a copy of threads and their locks would hang
    processes: list[Any] = [context.Process(target=_work, args=(work, given), daemon=True) for _ in range(many)]
    try:
        with _deaf_to_interrupts():
            for process in processes:
                process.start()
        yield processes
    finally:
        for process in processes:
            if process.pid is not None:
                process.terminate()
        for process in processes:
            if process.pid is not None:
                process.join(GRACE)
                if process.exitcode is None:  # a thread of the user's own keeps it
                    process.kill()
                    process.join()


def _work(work: Work, given: Sequence[Any]) -> None:
    """Ctrl-C is for the parent, whose SIGTERM is this one's KeyboardInterrupt."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    threading.Thread(target=_end_with_parent, name="thoughtree-parent", daemon=True).start()
    sys.exit(guarded(lambda: _until_ended(work, given)))


def _until_ended(work: Work, given: Sequence[Any]) -> Exit:
    """Whoever started this process ends it, at an interrupt or as there is nothing left to do, and says which."""
    try:
        return work(*given)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """What is started here is born deaf to Ctrl-C, so that none strikes it while it imports."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
