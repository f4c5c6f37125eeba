"""A saved state into a module that is built as its own code builds it, whatever a tuner made of its searches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import dspy
import orjson

from .parts import parts_of
from .plan import Plan
from .predictor import DAMAGED
from .program import Program
from .rebuilding import HANGS_ON, rebuild

M = TypeVar("M", bound=dspy.Module)


def load_into(module: M, path: str | Path) -> M:
    """`module.load(path)`, after its searches were rebuilt as the saved ones are; and the module.

    A tuner may choose how states are proposed and rated, and the roles hang on that: `load` alone refuses them.
    Raises ValueError for a file that is damaged, or holds the state of another module.
    """
    try:
        state: Any = orjson.loads(Path(path).read_bytes())
        for name, inner in parts_of(module, Program):
            settings = state.get(f"{name}.settings".removeprefix("."))
            if isinstance(settings, Mapping):
                _follow(inner, Plan.load(settings["plan"]))
        module.load(path)
    except DAMAGED as error:
        raise ValueError(f"{path}: cannot be loaded into this module ({type(error).__name__}: {error})") from error
    return module


def _follow(program: Program, plan: Plan) -> None:
    changes = {name: getattr(plan, name) for names in HANGS_ON.values() for name in names}
    if any(value != getattr(program.plan, name) for name, value in changes.items()):
        rebuild(program, program.plan.replace(**changes))
