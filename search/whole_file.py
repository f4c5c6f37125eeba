"""A file that is written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Replace the file: whoever reads it, and whenever this breaks off, finds the old one or the new one.

    OSError, with the name that was given, where it cannot be written; nothing is left behind then.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}-{id(content)}.partial")  # others may save there too
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except BaseException as error:
        with suppress(OSError):  # it may not be there, nor its folder
            partial.unlink()
        if isinstance(error, OSError):
            raise type(error)(error.errno, error.strerror, str(path)) from error
        raise
