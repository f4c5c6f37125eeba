"""A file that is written whole or not at all, and one that is read whole, which has to end."""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from pathlib import Path

_DESCRIPTOR = re.compile(r"/dev/(?:fd/([0-9]{1,9})|std(?:(out)|err))")


def write_whole(path: Path, content: bytes) -> None:
    """Replace the file: whoever reads it, and whenever this breaks off, finds the old one or the new one.

    Who may read it stays as it was. A link stays one, to a file that is replaced; a device or a pipe is written to, and
    so is `/dev/stdout`, whatever it is. OSError, with the name that was given, where it cannot be written; nothing is
    left behind then.
    """
    try:
        if named := _DESCRIPTOR.fullmatch(str(path)):
            with os.fdopen(os.dup(int(named[1] or (1 if named[2] else 2))), "wb") as stream:
                stream.write(content)
        elif path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(content)
        else:
            _replace(Path(os.path.realpath(path)), content)
    except OSError as error:
        why = error.strerror
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and not path.parent.is_dir():
            why = f"there is no folder {str(path.parent)!r}; make it first, or give another path"
        raise type(error)(error.errno, why, str(path)) from error


def _replace(path: Path, content: bytes) -> None:
    partial = path.with_name(f"{path.name[:40]}.{os.getpid()}-{id(content)}.partial")  # others may save there too
    try:
        old = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
        partial.touch(0o666 if old is None else 0o600)
        partial.write_bytes(content)
        if old is not None:
            partial.chmod(old)
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
