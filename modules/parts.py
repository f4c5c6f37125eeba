"""The modules that a program runs, without those that an optimizer left with it as the evidence of its work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import dspy

# Where DSPy's optimizers, and SearchTuner, leave the programs that they tried.
EVIDENCE = ("candidate_programs", "detailed_results")


def parts_of(module: dspy.Module, kind: type | None = None) -> Iterator[tuple[str, Any]]:
    """The module and those inside it, of this kind, by their paths: "" for itself, `solve`, `steps[0]`."""
    found: Any = module.named_sub_modules() if kind is None else module.named_sub_modules(type_=kind)
    for name, inner in found:
        path = str(name).removeprefix("self").removeprefix(".")
        if not any(attribute in path for attribute in EVIDENCE):
            yield path, inner


def copy_of(module: dspy.Module) -> Any:
    """A deep copy, in which what cannot be copied (a lock, a connection) is the module's own.

    As `dspy.Module.deepcopy` makes one, but a part that is there under two names stays one part, and nothing is logged.
    """
    try:
        return deepcopy(module)
    except Exception:  # of many kinds: whatever a class of the user's own raises
        shared: dict[int, Any] = {}
        for _, inner in module.named_sub_modules():
            shared |= {id(value): value for value in _uncopyable(vars(inner).values())}
        return deepcopy(module, shared)


def _uncopyable(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple | set):
            yield from _uncopyable(value)
        elif isinstance(value, Mapping):
            yield from _uncopyable(value.values())
        elif not isinstance(value, dspy.Module):  # whose own attributes are looked at one by one
            try:
                deepcopy(value)
            except Exception:
                yield value


def without_evidence(module: dspy.Module) -> dspy.Module:
    """A copy, which does not carry along what earlier optimizers tried."""
    copied: dspy.Module = copy_of(module)
    for _, inner in parts_of(copied):
        for attribute in EVIDENCE:
            vars(inner).pop(attribute, None)
    return copied
