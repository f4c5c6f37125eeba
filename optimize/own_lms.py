"""The LMs that a program was given for its parts: by `set_lm`, for a role, or as an attribute of a module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dspy

from ..modules.parts import copy_of, parts_of


def own_lms(program: dspy.Module) -> Iterator[tuple[dspy.Module, str, Any]]:
    """The module that holds it, under which name, and the LM."""
    for _, part in parts_of(program):
        for name, value in list(vars(part).items()):
            if isinstance(value, dspy.BaseLM):
                yield part, name, value


def with_own_lms(program: dspy.Module, made_of: Callable[[Any], Any]) -> dspy.Module:
    """A copy whose own LMs are what `made_of` makes of them, one LM of one."""
    copied: dspy.Module = copy_of(program)
    made: dict[int, Any] = {}
    for part, name, lm in own_lms(copied):
        if id(lm) not in made:
            made[id(lm)] = made_of(lm)
        setattr(part, name, made[id(lm)])
    return copied
