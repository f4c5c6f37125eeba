"""How an option is declared: once, with its help, as a field of a dataclass that typer reads by name and type."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import MISSING, fields
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from .exits import Exit
from .output import say
from .typed_number import above_zero, count_or_all, real, whole

PROBLEM, MODEL, SEARCH, KNOBS = "Problem", "Model", "Search", "Knobs of the controller"
BUDGET, OUTPUT = "Budget of a search (hard ceilings)", "Output"
DATA, STUDY, WHOLE = "Data", "Study", "Budget of the whole run (hard ceilings)"
Chosen = TypeVar("Chosen")


class Command(TyperCommand):
    """A command that says what is wrong with its options in one line, as it says all else that is wrong."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args:
            return super().parse_args(ctx, args)  # which shows the help
        with _in_a_line(ctx):
            return super().parse_args(ctx, args)


class Commands(TyperGroup):
    """All of them, whose names may be wrong too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args:
            return super().parse_args(ctx, args)
        with _in_a_line(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        with _in_a_line(ctx):
            return super().resolve_command(ctx, args)


@contextmanager
def _in_a_line(ctx: Any) -> Iterator[None]:
    try:
        yield
    except typer.TyperException as error:
        message: str = error.format_message().replace("Value error, ", "")  # which is pydantic's
        name = getattr(error, "option_name", "")
        no_such = hasattr(error, "possibilities") and not name.startswith("--")
        if no_such and ctx.parent is not None:  # of a command, which takes words that are no options
            message += (
                "; what begins with a dash and is none goes behind all options and --, as in: "
                f'{ctx.command_path} -- "{name}..."'
            )
        say(f"{' '.join(message.split()).removesuffix('.')}; see {ctx.command_path} --help")
        raise typer.Exit(Exit.USAGE) from error


def count(name: str, help: str) -> Any:
    return typer.Option(name, metavar="N|all", parser=count_or_all, help=help, rich_help_panel=KNOBS)


def option(panel: str, help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, **more)


def ceiling(panel: str, help: str, **more: Any) -> Any:
    """Of what is no whole number: dollars, seconds."""
    return option(panel, help, parser=above_zero, **more)


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
            annotation=_read(hints[f.name]),
        )
        for f in declared
    ]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {f.name: _read(hints[f.name]) for f in declared}
    called.__doc__ = run.__doc__
    return called


def _read(hint: Any) -> Any:
    """The same hint, where it is of a number with our reader in place of typer's, which does not name what it read."""
    kind, *notes = get_args(hint)
    kinds = {kind, *get_args(kind)}
    if not kinds & {int, float} or not isinstance(notes[0], OptionInfo) or notes[0].parser is not None:
        return hint
    info = copy(notes[0])
    info.parser = whole(info.min, info.max) if int in kinds else real(info.min)
    info.min = info.max = None
    return Annotated[kind, info]
