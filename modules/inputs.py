"""What a program is called with: its signature's fields, and what one call may change."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import dspy

from ..search import Stop
from .plan import Plan

# What one call may change by config={...}; the roles' signatures hang on the other knobs.
PER_CALL = (
    "budget",
    "controller",
    "seed",
    "concurrency",
    "step_concurrency",
    "samples",
    "join",
    "near",
    "temperature",
    "rate_temperature",
    "blend",
    "agreement",
    "aggregate",
    "first",
    "threshold",
    "lessons",
    "on_failure",
    "retries",
    "history",
)
RUNTIME = ("journal", "fsync", "on_event", "stop", "refused", "observed")


def configured(plan: Plan, given: Mapping[str, Any] | None) -> tuple[Plan, dict[str, Any]]:
    """The plan of one call, and what belongs to this call alone. ValueError for a name that there is not."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"config={given!r}: must be a dict, such as {{'budget': 60}}")
    config = dict(given or {})
    runtime = {name: config.pop(name) for name in RUNTIME if name in config}
    if not isinstance(runtime.get("stop"), Stop | None):
        raise TypeError(f"stop={runtime['stop']!r}: must be a thoughtree.search.Stop")
    if not isinstance(runtime.get("journal"), str | PathLike | None):  # an open one would not know whose it is
        raise TypeError(f"journal={runtime['journal']!r}: must be the path of a file or a folder")
    if runtime.get("journal") == "":  # of a variable that is not set; Path("") is the current folder
        raise ValueError("journal='': must be the path of a file or a folder; '.' is the current folder")
    if not isinstance(runtime.get("fsync", False), bool):
        raise TypeError(f"fsync={runtime['fsync']!r}: must be True or False")
    if runtime.get("fsync") and runtime.get("journal") is None:
        raise ValueError("fsync=True: there is no journal to force to the disk; give journal= as well")
    for name in config:
        if name not in PER_CALL:
            raise ValueError(f"config={{{name!r}: ...}}: {_near(name, (*PER_CALL, *RUNTIME))}")
    return (plan.replace(**config) if config else plan), runtime


def inputs_of(signature: type[dspy.Signature], given: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs in the signature's order, defaults filled in. ValueError for one missing or unknown."""
    fields = signature.input_fields
    for name in given:
        if name not in fields:
            raise ValueError(f"input {name!r}: {_near(name, tuple(fields))}")
    found: dict[str, Any] = {}
    for name, info in fields.items():
        if name in given:
            found[name] = given[name]
        elif not info.is_required():
            found[name] = info.get_default(call_default_factory=True)
        else:
            raise ValueError(f"input {name!r} is missing: this program takes {', '.join(fields)}")
    return found


def _near(name: str, known: tuple[str, ...]) -> str:
    import difflib  # for this message alone

    close = difflib.get_close_matches(name, known, n=2)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    return f"no such name; {hint}there are {', '.join(known)}"
