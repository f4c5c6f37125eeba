"""How an option is declared: once, with its help, as a field of a dataclass that typer reads by name and type."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar, get_type_hints

import typer

PROBLEM, MODEL, SEARCH, KNOBS = "Problem", "Model", "Search", "Knobs of the controller"
BUDGET, OUTPUT = "Budget of a search (hard ceilings)", "Output"
DATA, STUDY, WHOLE = "Data", "Study", "Budget of the whole run (hard ceilings)"
ALL = "all"
Chosen = TypeVar("Chosen")


def count_or_all(text: str) -> str:
    """A count, or "all" where a knob may be without one. Kept as text until a controller takes it."""
    if text != ALL and not (text.isascii() and text.isdigit() and int(text)):
        raise typer.BadParameter(f"{text!r} is neither a whole number of at least 1 nor {ALL!r}.")
    return text


def count(name: str, help: str) -> Any:
    return typer.Option(name, metavar="N|all", parser=count_or_all, help=help, rich_help_panel=KNOBS)


def option(panel: str, help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, **more)


def knob(help: str, **more: Any) -> Any:
    return option(KNOBS, help, **more)


def command(run: Callable[[Chosen], None], kind: type[Chosen]) -> Callable[..., None]:
    """`run` as a function whose parameters are the fields of `kind`: what typer makes a command of."""
    hints = get_type_hints(kind, include_extras=True)
    declared: Any = fields(kind)  # type: ignore[arg-type]

    def called(**given: Any) -> None:
        run(kind(**given))

    parameters = [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
            annotation=hints[f.name],
        )
        for f in declared
    ]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {f.name: hints[f.name] for f in declared}
    called.__doc__ = run.__doc__
    return called
