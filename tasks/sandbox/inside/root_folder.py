"""A root folder of its own: Python and the system's libraries to read, one empty folder to write."""

from __future__ import annotations

import errno
import os
import sys

from . import linux
from .folder import MOST_FILES

WORK = ("/tmp", "/work", "/sandbox")  # where a program starts, and may write: the first that hides nothing
SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store", "/etc/ld.so.cache")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def readable(paths: Iterable[str]) -> list[str]:
    """The files and folders that a Python program needs, and `paths`; none that lies in another of them."""
    wanted = {path for path in (*SYSTEM, *_python(), *paths) if os.path.lexists(path)}
    return [path for path in sorted(wanted) if not any(path.startswith(other + "/") for other in wanted)]


def _python() -> Iterable[str]:
    """Where this interpreter keeps its library."""
    yield from (prefix for prefix in (sys.base_prefix, sys.base_exec_prefix) if prefix != "/")
    yield from (path for path in sys.path if path)


def enter(folder: str, paths: Iterable[str], file_bytes: int) -> str:
    """Makes `folder` the root; returns the folder in it that can be written to.

    Only for a process in a mount namespace of its own. OSError if it is refused.
    """
    shown = readable(paths)
    work = next(path for path in WORK if not any((known + "/").startswith(path + "/") for known in shown))
    linux.mount("none", "/", flags=linux.RECURSIVE | linux.PRIVATE)
    _memory(folder, "mode=755,size=1m")
    try:
        _fill(folder, shown, work, file_bytes)
        linux.make_root(folder)
    except OSError:
        linux.unmount(folder)  # it may be needed as it was
        raise
    return work


def _fill(root: str, shown: list[str], work: str, file_bytes: int) -> None:
    for path in (*shown, *filter(os.path.exists, DEVICES)):
        _show(path, root)
    for made in (work, "/dev/shm"):
        os.makedirs(root + made, exist_ok=True)
    _read_only(root, shown)
    _memory(root + work, f"mode=1777,size={file_bytes},nr_inodes={MOST_FILES}")
    _memory(root + "/dev/shm", "mode=1777,size=1m,nr_inodes=64")


def _memory(folder: str, options: str) -> None:
    linux.mount("tmpfs", folder, "tmpfs", linux.NO_SUID | linux.NO_DEVICES, options)


def _show(path: str, root: str) -> None:
    """`path` at the same place under `root`. A link stays a link."""
    os.makedirs(root + os.path.dirname(path), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), root + path)
        return
    if os.path.isdir(path):
        os.mkdir(root + path)
    else:
        os.close(os.open(root + path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    linux.mount(path, root + path, flags=linux.BIND | linux.RECURSIVE)


def _read_only(root: str, shown: list[str]) -> None:
    try:
        linux.make_read_only(root)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        for path in (*(path for path in shown if not os.path.islink(path)), ""):
            kept = os.statvfs(root + path).f_flag & (linux.NO_SUID | linux.NO_DEVICES | linux.NO_EXEC)
            flags = linux.REMOUNT | linux.BIND | linux.READ_ONLY | linux.NO_SUID | kept
            linux.mount("none", root + path, flags=flags)
