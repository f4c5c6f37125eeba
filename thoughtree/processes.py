"""Processes that work at one study, started by the one that makes its report."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .data_options import TuneOptions
from .guarded import guarded


def at_once(options: TuneOptions, many: int) -> list[int]:
    """Run `thoughtree tune` with these options in so many processes, and give their exit codes.

    A process that is killed has a negative one; the others take over what it was at. KeyboardInterrupt ends them all,
    after each has written down what it paid.
    """
    context = multiprocessing.get_context("spawn")  # a copy of threads and their locks would hang
    processes: list[Any] = [context.Process(target=_work, args=(options,), daemon=True) for _ in range(many)]
    try:
        with _deaf_to_interrupts():
            for process in processes:
                process.start()
        for process in processes:
            process.join()
    except BaseException:
        for process in processes:
            if process.pid is not None:
                process.terminate()
        for process in processes:
            if process.pid is not None:
                process.join()
        raise
    return [int(process.exitcode) for process in processes]


def _work(options: TuneOptions) -> None:
    """Ctrl-C is for the parent, whose SIGTERM is this one's KeyboardInterrupt."""
    from .cli_tune import tuned

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(guarded(lambda: tuned(options)))


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """What is started here is born deaf to Ctrl-C, so that none strikes it while it imports."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
