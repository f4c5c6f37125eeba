"""A process and all that it started: what they use together, and their end."""

from __future__ import annotations

import os
import time

KILL, STOP = 9, 19
LONGEST_SWEEP = 10.0  # seconds
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_TICKS = os.sysconf("SC_CLK_TCK")


def of(pid: int) -> list[int]:
    """`pid` and its descendants. Orphans count where `pid`, or one of them, adopts orphans."""
    found = [pid]
    for member in found:  # grows meanwhile
        found += _children(member)
    return found


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        return [int(child) for thread in threads for child in _read(f"/proc/{pid}/task/{thread}/children").split()]
    except FileNotFoundError:  # it ended, or the kernel keeps no such list
        return _children_by_scan(pid) if os.path.exists(f"/proc/{pid}") else []
    except ProcessLookupError:
        return []


def _children_by_scan(pid: int) -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _figures(int(name))[1] == pid]


def cpu_seconds(pids: list[int]) -> float:
    """What they, and what each of them has waited for, have used."""
    return sum(sum(_figures(pid)[11:15]) for pid in pids) / _TICKS


def memory(pids: list[int]) -> int:
    """Bytes that they hold together: what several share counts once."""
    total = 0
    for pid in pids:
        try:
            for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
                if line.startswith(b"Pss:"):
                    total += 1024 * int(line.split()[1])
        except OSError:  # it ended, or its map may not be read: then all of its pages count
            total += _figures(pid)[21] * os.sysconf("SC_PAGE_SIZE")
    return total


def _figures(pid: int) -> list[int]:
    """The numbers of /proc/PID/stat, from the state's place (0) on; zeros for a process that is gone."""
    try:
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return [0] * 50
    return [0, *map(int, fields[1:])]


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def threads_of_user(user: int) -> int:
    """How many processes and threads run as `user`: what the kernel holds against its process limit."""
    total = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == user:
                total += len(os.listdir(f"/proc/{name}/task"))
        except OSError:  # it ended
            continue
    return total


def end(users: Sequence[int]) -> None:
    """Ends all descendants of this process, which adopts orphans. `users`: who they are, and nobody else is, if so.

    RuntimeError if some go on.
    """
    deadline = time.monotonic() + LONGEST_SWEEP
    while _reap():
        if time.monotonic() > deadline:
            raise RuntimeError(f"processes {of(os.getpid())[1:]} of the program could not be ended")
        for user in users:
            _kill_all_of(user)
        if not users:
            _kill_descendants()


def _reap() -> bool:
    """Are there children still, once those that ended are gone?"""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _kill_descendants() -> None:
    """Stopped first, each, until no new one appears: so none forks while the others are killed."""
    stopped: set[int] = set()
    while new := set(of(os.getpid())[1:]) - stopped:
        for pid in new:
            _signal(pid, STOP)
        stopped |= new
    for pid in stopped:
        _signal(pid, KILL)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _kill_all_of(user: int) -> None:
    """At once, so that none can fork meanwhile."""
    killer = os.fork()
    if killer == 0:
        try:
            os.setresuid(user, user, user)
            os.kill(-1, KILL)
        finally:
            os._exit(0)
    os.waitpid(killer, 0)
