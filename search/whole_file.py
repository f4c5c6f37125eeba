"""A file that is written whole or not at all, and one that is read whole, which has to end."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Replace the file: whoever reads it, and whenever this breaks off, finds the old one or the new one.

    A link stays one, to a file that is replaced; a device or a pipe is written to. OSError, with the name that was
    given, where it cannot be written; nothing is left behind then.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(content)
        else:
            _replace(Path(os.path.realpath(path)), content)
    except OSError as error:
        why = error.strerror
        if not path.parent.is_dir():
            why = f"there is no folder {str(path.parent)!r}; make it first, or give another path"
        raise type(error)(error.errno, why, str(path)) from error


def _replace(path: Path, content: bytes) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}-{id(content)}.partial")  # others may save there too
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except BaseException:
        with suppress(OSError):  # it may not be there, nor its folder
            partial.unlink()
        raise


def read_whole(path: Path) -> bytes:
    """What is in the file. OSError for one that cannot be read, and for a device or a pipe, which may never end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # of a folder, reading says what it is
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return path.read_bytes()
