"""Namespaces: processes, mounts, network and IPC of a run's own; and the first process in them."""

from __future__ import annotations

import os

from . import linux

OTHERS = linux.NEW_MOUNTS | linux.NEW_NETWORK | linux.NEW_IPC
NOBODY = 65534

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


def enter_processes() -> None:
    """What this process forks from now on is in a process namespace of its own. OSError where that is refused.

    One who is not root needs a user namespace for it, and is nobody in there.
    """
    if os.geteuid() == 0:
        linux.unshare(linux.NEW_PIDS)
        return
    user, group = os.geteuid(), os.getegid()
    linux.unshare(linux.NEW_PIDS | linux.NEW_USER)
    for file, text in (("setgroups", "deny"), ("uid_map", f"{NOBODY} {user} 1"), ("gid_map", f"{NOBODY} {group} 1")):
        fd = os.open(f"/proc/self/{file}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)


def enter_others() -> None:
    """Mounts, a network without a device, and IPC of this process's own. OSError where they are refused."""
    linux.unshare(OTHERS)


def first_process(
    program: Callable[[], NoReturn],
    beside: Callable[[], NoReturn] | None,
    started: Callable[[], None],
    ended: Callable[[int], None],
) -> NoReturn:
    """What a namespace's first process does: run `program` in a second, see it end, and say with what status.

    beside: what another one runs, from before the program starts. started: called here when both are on their way.

    No signal from inside reaches the first process. When it ends, the kernel ends all others.
    """
    linux.die_with_parent()
    linux.default_signal(linux.INTERRUPT)
    linux.set_dumpable(False)
    if beside is not None and os.fork() == 0:
        beside()
    main = os.fork()
    if main == 0:
        program()
    started()
    while True:
        pid, status = os.wait()
        if pid == main:
            ended(status)
            os._exit(0)
