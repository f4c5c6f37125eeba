"""What a program's process gives up before the program starts. Each step narrows what the next one could undo."""

from __future__ import annotations

import os
import resource

OPEN_FILES = 64
STACK = 8 << 20
OWN_USERS = 0x70000000  # from here on, a user for each run: no account has such a number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .order import Order


def limit(order: Order, processes: int) -> None:
    """The kernel's limits for each process. Those over all of them together are the supervisor's."""
    cpu = int(order["cpu"]) + 1
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, order["files"]),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_NPROC, processes),
        (resource.RLIMIT_STACK, STACK),
        (resource.RLIMIT_AS, order["memory"]),
    ):
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def own_user(number: int) -> int | None:
    """A user that this run shares with nobody, if root may become any; else one that few use. None: none.

    `number` tells runs apart.
    """
    try:
        with open("/proc/self/uid_map", "rb") as file:
            ranges = [(int(first), int(count)) for first, _, count in map(bytes.split, file)]
    except OSError:  # no /proc, or no user namespaces
        ranges = [(0, 1 << 32)]
    for user in (OWN_USERS + number, 40000 + number % 20000, 65534):
        if any(first <= user < first + count for first, count in ranges):
            return user
    return None


def become(user: int) -> None:
    """For good. OSError if root itself may not."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def keep_only(files: Iterable[int]) -> None:
    """Closes all files but the standard ones and `files`, which are lost to what is executed."""
    first = 3
    for file in sorted(files):
        os.closerange(first, file)
        os.set_inheritable(file, False)
        first = file + 1
    os.closerange(first, 1 << 20)
