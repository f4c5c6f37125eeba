"""A program of the user's own, from `module:name`."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
from typing import Any

from .mistake import Mistake
from .modules.calls.failures import describe
from .modules.program import Program


def imported(spec: str) -> Program:
    """The program named by `module:name`: an instance, or what a function without arguments makes."""
    module_name, _, name = spec.partition(":")
    if not module_name or not name:
        raise Mistake(f"--program {spec!r}: write it as module:name, such as solver:program")
    found = _attribute(spec, _module(spec, module_name), name)
    if not isinstance(found, Program) and callable(found):
        try:
            found = found()
        except Exception as error:
            raise Mistake(f"--program {spec}: {name}() failed: {describe(error)}") from error
    if not isinstance(found, Program):
        raise Mistake(
            f"--program {spec}: this is a {type(found).__name__}; "
            "name a TreeOfThoughts, LATS or RAP, or a function without arguments that returns one"
        )
    return found


def _module(spec: str, name: str) -> Any:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name or name.startswith(f"{error.name}."):
            raise Mistake(
                f"--program {spec}: there is no module {error.name} in {here} or among what is installed"
            ) from error
        raise Mistake(f"--program {spec}: importing it failed: {describe(error)}") from error
    except Exception as error:
        raise Mistake(f"--program {spec}: importing it failed: {describe(error)}") from error


def _attribute(spec: str, module: Any, name: str) -> Any:
    try:
        for part in name.split("."):
            module = getattr(module, part)
    except AttributeError as error:
        near = difflib.get_close_matches(part, dir(module), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise Mistake(f"--program {spec}: there is no {part}{hint}") from error
    return module
