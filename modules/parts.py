"""The modules that a program runs, without those that an optimizer left with it as the evidence of its work."""

from __future__ import annotations

from collections.abc import Iterator
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


def without_evidence(module: dspy.Module) -> dspy.Module:
    """A copy, which does not carry along what earlier optimizers tried."""
    copied: dspy.Module = deepcopy(module)
    for _, inner in parts_of(copied):
        for attribute in EVIDENCE:
            vars(inner).pop(attribute, None)
    return copied
