"""Landlock: which files a process may touch, where it cannot be given a root folder of its own. Linux 5.13 on."""

from __future__ import annotations

import os

from . import linux

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION, _BENEATH = 1, 1

_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_ACCESSES = {1: 13, 2: 14, 3: 15, 5: 16}  # kernel's version of Landlock: how many kinds of access it knows
_TCP, _SCOPES = 3, 3  # bind and connect (from version 4); abstract sockets and signals (from version 6)


def version() -> int:
    """The kernel's version of Landlock. OSError where it has none."""
    return linux.system_call(_CREATE, None, 0, _VERSION)


class FileRules:
    """Read `readable`, use `writable` in full, write to `devices`, and touch nothing else.

    Files are looked up when this is made, perhaps by a user who can still reach them. `signals`, `network`: whether
    this kernel's Landlock also keeps signals, and TCP connections, inside.
    """

    def __init__(self, readable: list[str], writable: str, devices: list[str]) -> None:
        known = version()
        every = (1 << max(kinds for since, kinds in _ACCESSES.items() if since <= known)) - 1
        self.network = known >= 4
        self.signals = known >= 6
        words = [every, _TCP if self.network else 0, _SCOPES if self.signals else 0]
        size = 8 * (1 + self.network + (self.signals))
        attributes = b"".join(word.to_bytes(8, "little") for word in words)
        self._rules = linux.system_call(_CREATE, attributes, size, 0)
        for path in readable:
            self._allow(path, _EXECUTE | _READ | _LIST if os.path.isdir(path) else _EXECUTE | _READ)
        for path in devices:
            self._allow(path, _READ | _WRITE)
        self._allow(writable, every)

    def _allow(self, path: str, accesses: int) -> None:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            rule = accesses.to_bytes(8, "little") + fd.to_bytes(4, "little")
            linux.system_call(_ADD_RULE, self._rules, _BENEATH, rule, 0)
        finally:
            os.close(fd)

    def apply(self) -> None:
        """From now on, for this process and its descendants. Needs `no new privileges`."""
        linux.system_call(_RESTRICT, self._rules, 0)
        os.close(self._rules)
