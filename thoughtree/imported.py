"""A program of the user's own, from `module:name`."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from .mistake import Mistake
from .modules.calls.failures import describe

M = TypeVar("M")
SEARCHES = "TreeOfThoughts, LATS or RAP"


def imported(spec: str, kind: type[M], such_as: str = SEARCHES) -> M:
    """The program named by `module:name`: an instance of `kind`, or what a function without arguments makes."""
    found, name = named_object("--program", spec, "solver:program")
    if not isinstance(found, kind) and callable(found):
        found = called(f"--program {spec}", name, found)
    if not isinstance(found, kind):
        raise Mistake(
            f"--program {spec}: this is a {type(found).__name__}; "
            f"name a {such_as}, or a function without arguments that returns one"
        )
    return found


def called(told: str, name: str, make: Callable[[], Any]) -> Any:
    """What a function or class of the user's own makes, without arguments. told: the option, for a Mistake."""
    try:
        return make()
    except (Exception, SystemExit) as error:
        raise Mistake(f"{told}: {name}() failed: {describe(error)}") from error


def named_object(option: str, spec: str, such_as: str) -> tuple[Any, str]:
    """What `module:name` names, and that name. The module may lie in the current folder."""
    module_name, _, name = spec.partition(":")
    if not module_name or not name:
        raise Mistake(f"{option} {spec!r}: write it as module:name, such as {such_as}")
    told = f"{option} {spec}"
    return _attribute(told, _module(told, module_name), name), name


def _module(told: str, name: str) -> Any:
    try:
        here = os.getcwd()
    except FileNotFoundError as error:
        raise Mistake(f"{told}: the current folder, where it may lie, is no more") from error
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name or name.startswith(f"{error.name}."):
            raise Mistake(f"{told}: there is no module {error.name} in {here} or among what is installed") from error
        raise Mistake(f"{told}: importing it failed: {describe(error)}") from error
    except (Exception, SystemExit) as error:  # a script that ends with sys.exit()
        raise Mistake(f"{told}: importing it failed: {describe(error)}") from error


def _attribute(told: str, module: Any, name: str) -> Any:
    try:
        for part in name.split("."):
            module = getattr(module, part)
    except AttributeError as error:
        near = difflib.get_close_matches(part, dir(module), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise Mistake(f"{told}: there is no {part}{hint}") from error
    return module
