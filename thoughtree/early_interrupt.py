"""Ctrl-C while no command is at work, as Python still imports, or exits already: one line, and no traceback.

Nothing is imported here that takes time.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

INTERRUPTED = 130  # `Exit.INTERRUPTED`, of a module that takes time


def leave_at_interrupt() -> None:
    """From now on, but for where interrupts are `raised`. A process that was started deaf to them stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


@contextmanager
def raised() -> Iterator[None]:
    """Within it an interrupt is a KeyboardInterrupt, for whoever can make something of it."""
    if signal.getsignal(signal.SIGINT) is not _leave:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _leave)


def _leave(*_: Any) -> NoReturn:
    """An exception would strike in the midst of somebody's import, and be taken for a failure of it."""
    with suppress(OSError):
        os.write(2, b"thoughtree: interrupted\n")
    os._exit(INTERRUPTED)
