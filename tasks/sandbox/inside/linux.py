"""The calls of the Linux kernel that Python's standard library has no name for. Each raises OSError if refused."""

from __future__ import annotations

import os

# ctypes itself takes longer to import than all the rest.
from _ctypes import CFuncPtr, Structure, _SimpleCData, byref, dlopen, dlsym, get_errno

NEW_MOUNTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NETWORK = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000

READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 8, 0x20, 0x1000, 0x4000, 0x40000

INTERRUPT, CHILD = 2, 17  # signals

_MOVE, _DETACH = 0x2000, 2
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_SETATTR = -100, 0x8000, 442
_DEATH_SIGNAL, _DUMPABLE, _SECCOMP, _SUBREAPER, _NO_NEW_PRIVILEGES = 1, 4, 22, 36, 38
_FILTER = 2
_CAPABILITIES = 0x20080522  # version 3: two sets of 32 bits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CDECL, _USE_ERRNO = 1, 8  # flags of a foreign function


class _Int(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "i"


class _Long(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "l"


class _Short(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "H"


class _Text(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "z"


class _Program(Structure):
    _fields_ = (("length", _Short), ("instructions", _Text))


class _Function(CFuncPtr):
    _flags_ = _CDECL | _USE_ERRNO
    _restype_ = _Int


_process = dlopen(None, os.RTLD_NOW)  # type: ignore[arg-type]  # this process and its C library


def _call(name: str, *arguments: Any) -> int:
    """The C library's function of that name. Each int is passed as a long: a whole word, as the kernel reads it."""
    words = [_Long(word) if isinstance(word, int) else word for word in arguments]
    result = _Function(dlsym(_process, name))(*words)
    if result == -1:
        number = get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return int(result)


def system_call(number: int, *arguments: int | bytes | None) -> int:
    return _call("syscall", number, *arguments)


def unshare(flags: int) -> None:
    _call("unshare", flags)


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str | None = None) -> None:
    encoded = [os.fsencode(text) if text is not None else None for text in (source, target, kind, options)]
    _call("mount", *encoded[:3], flags, encoded[3])


def unmount(target: str) -> None:
    _call("umount2", os.fsencode(target), _DETACH)


def make_read_only(target: str) -> None:
    """The mount at `target` and every one below it. OSError(ENOSYS) before Linux 5.12."""
    attributes = (READ_ONLY | NO_SUID).to_bytes(8, "little") + bytes(24)  # to set, to clear, propagation, user
    system_call(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), _AT_RECURSIVE, attributes, len(attributes))


def make_root(folder: str) -> None:
    """`folder`, a mount, covers the old root and becomes the root. Cheaper than pivot_root, and nothing to unmount."""
    os.chdir(folder)
    mount(".", "/", flags=_MOVE)
    os.chroot(".")
    os.chdir("/")


def _control(option: int, value: int) -> None:
    _call("prctl", option, value, 0, 0, 0)


def die_with_parent() -> None:
    _control(_DEATH_SIGNAL, 9)


def set_dumpable(dumpable: bool) -> None:
    """Whether processes of the same user may trace this one and read it in /proc."""
    _control(_DUMPABLE, int(dumpable))


def adopt_orphans() -> None:
    """Descendants whose parent is gone become this process's children."""
    _control(_SUBREAPER, 1)


def forbid_new_privileges() -> None:
    """No file that this process or a descendant executes gives it more rights."""
    _control(_NO_NEW_PRIVILEGES, 1)


def drop_capabilities() -> None:
    header = _CAPABILITIES.to_bytes(4, "little") + bytes(4)
    _call("capset", header, bytes(24))


def default_signal(number: int) -> None:
    """As it is by default: without Python's handler, and not ignored because the host ignores it."""
    _call("signal", number, None)


def filter_calls(program: bytes) -> None:
    """A seccomp filter, of eight bytes an instruction, for this process and its descendants."""

    _call("prctl", _SECCOMP, _FILTER, byref(_Program(len(program) // 8, program)), 0, 0)
