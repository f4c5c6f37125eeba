"""Sandboxes for tests, and a look at what a run has left."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from thoughtree.tasks.sandbox import Sandbox, SandboxResult

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")

WAYS = [
    pytest.param(frozenset[str](), id="namespaces"),
    pytest.param(frozenset({"namespaces"}), id="no-namespaces"),
]


def sandbox(without: frozenset[str] = frozenset(), **knobs: Any) -> Sandbox:
    """One with wide limits of time, for a machine that may be busy."""
    return Sandbox(**{"cpu_seconds": 20, "wall_seconds": 60, "memory_mb": 256, "without": without, **knobs})


def left_of(result: SandboxResult) -> list[int]:
    """The processes that a run left: those of its own user, where the sandbox gives it one."""
    user = result.isolation.held["user"].partition(",")[0]
    if not user.isdigit():
        return []
    left = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == int(user):
                left.append(int(name))
        except FileNotFoundError:
            continue
    return left
