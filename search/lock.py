"""One writer a file: who opens it second is told so, in any process."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO

# Windows locks bytes, which then nobody else may read: one that no file gets to, as far as its C runtime can seek.
FAR = 2**31 - 2


def lock(file: BinaryIO) -> Callable[[], None]:
    """Lock it, without waiting, until what is returned is called.

    Raises BlockingIOError where another has it, and any other OSError where the file system knows no locks.
    """
    try:
        import fcntl
    except ImportError:
        import msvcrt

        return lock_byte(file, msvcrt)
    fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    return partial(fcntl.flock, file.fileno(), fcntl.LOCK_UN)


def lock_byte(file: BinaryIO, msvcrt: Any) -> Callable[[], None]:
    """The same on Windows, whose `msvcrt` locks from where the file stands. What is appended goes to its end anyway."""

    def at_the_byte(how: int) -> None:
        before = os.lseek(file.fileno(), 0, os.SEEK_CUR)
        os.lseek(file.fileno(), FAR, os.SEEK_SET)
        try:
            msvcrt.locking(file.fileno(), how, 1)
        finally:
            os.lseek(file.fileno(), before, os.SEEK_SET)

    try:
        at_the_byte(msvcrt.LK_NBLCK)
    except PermissionError as error:  # EACCES: another has it
        raise BlockingIOError(*error.args) from error
    return partial(at_the_byte, msvcrt.LK_UNLCK)
