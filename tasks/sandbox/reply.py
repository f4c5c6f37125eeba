"""A launcher's reply, read."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator

from .process import SandboxUnavailable
from .result import NOT_REACHED, Checked, Isolation, SandboxResult, Why

SIGXCPU = 24  # on Linux; other systems' `signal` may not know it


def read_reply(reply: bytes, checks: int) -> SandboxResult:
    """What became of a run with that many checks. SandboxUnavailable if its program never started."""
    head, _, rest = reply.partition(b"\n")
    reason, status_text, wall, cpu, *lengths = head.decode("ascii").split("\t")
    parts = []
    for length in map(int, lengths):
        parts.append(rest[:length])
        rest = rest[length:]
    out, errors, said = parts
    told = [line.split("\t") for line in said.decode("utf-8", "replace").split("\n")]
    said_by_kind = {kind: list(map(_unescaped, texts)) for kind, *texts in told}
    if "ready" not in said_by_kind:
        fault = said_by_kind.get("fault", [reason or errors.decode("utf-8", "replace").strip() or "it did not start"])
        raise SandboxUnavailable(f"the sandbox could not start a program: {fault[0]}")
    if "unexamined" in said_by_kind:
        raise SandboxUnavailable(f"the sandbox could not examine a program: {said_by_kind['unexamined'][0]}")
    status = int(said_by_kind["status"][0]) if "status" in said_by_kind else int(status_text)
    exit_code = os.waitstatus_to_exitcode(status)
    why = _why(reason, said_by_kind, exit_code)
    return SandboxResult(
        ok=why is Why.END,
        exit=exit_code,
        stdout=out.decode("utf-8", "replace"),
        stderr=errors.decode("utf-8", "replace"),
        why=why,
        seconds=float(wall),
        cpu_seconds=float(cpu),
        isolation=_isolation(told),
        checks=tuple(_checked(told, checks, why)),
    )


def _unescaped(text: str) -> str:
    marks = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda mark: marks.get(mark[1], mark[1]), text)


def _why(reason: str, said: dict[str, list[str]], exit_code: int) -> Why:
    if reason:
        return Why(reason)
    if "end" in said:
        return Why.END
    if "memory" in said:
        return Why.MEMORY
    if "raised" in said:
        _, number = said["raised"]
        limits = {errno.EFBIG: Why.FILES, errno.ENOSPC: Why.FILES, errno.EAGAIN: Why.PROCESSES}
        return limits.get(int(number), Why.ERROR)
    if exit_code == -SIGXCPU:
        return Why.CPU
    return Why.SIGNAL if exit_code < 0 else Why.EXIT


def _isolation(told: list[list[str]]) -> Isolation:
    by_kind: dict[str, dict[str, str]] = {"is": {}, "lacks": {}}
    for kind, *texts in told:
        if kind == "ready":  # what comes later is not from the sandbox
            break
        if kind in by_kind:
            what, how = map(_unescaped, texts)
            by_kind[kind][what] = how
    return Isolation(by_kind["is"], by_kind["lacks"])


def _checked(told: list[list[str]], checks: int, why: Why) -> Iterator[Checked]:
    """One a check. The one at which the run ended failed for that; those after it were not reached."""
    passed = {int(texts[0]) for kind, *texts in told if kind == "passed"}
    failed = {int(texts[0]): _unescaped(texts[1]) for kind, *texts in told if kind == "failed"}
    begun = {int(texts[0]) for kind, *texts in told if kind == "begin"}
    for number in range(checks):
        if number in failed:
            yield Checked(False, failed[number])
        elif number in passed:
            yield Checked(True)
        else:
            yield Checked(False, f"ended: {why}" if number in begun else NOT_REACHED)
