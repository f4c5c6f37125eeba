"""The command line: `thoughtree solve "4 9 10 13"`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any, cast

import dspy
import typer
from rich.text import Text

from . import __version__
from .cli_calibrate import calibrated
from .cli_compare import compared
from .cli_eval import evaluated
from .cli_export import ExportOptions, exported
from .cli_tune import tuned
from .cli_view import ViewOptions, viewed
from .data_options import CalibrateOptions, CompareOptions, EvalOptions, TuneOptions
from .declaring import Command, Commands, command
from .exits import Exit, exit_of, listed
from .guarded import guarded
from .interrupt import interruptible
from .live import LiveLine, LiveTree
from .mistake import Mistake
from .model import model_of
from .modules import SearchPrediction
from .modules.program import Program
from .offline import MODEL, NOTICE
from .options import Options
from .output import flushed, prepare, say, show, write
from .problem import problem_of
from .report import answer_text, as_json, summary_text
from .search import SearchResult, Stop
from .search.visible import visible
from .tree_view import tree_view

app = typer.Typer(
    cls=Commands,
    help="Tree search over the thoughts of a language model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """What the console script runs, once all is imported."""
    prepare()
    warnings.showwarning = lambda message, *_: say(f"warning: {message}")
    with flushed():
        app()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"thoughtree {__version__}")
        raise typer.Exit


@app.callback()
def _thoughtree(
    version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    pass


def solve(options: Options) -> None:
    """Search for the solution of one problem, and give the best that was found."""
    raise typer.Exit(guarded(lambda: _solve(options), options))


def evaluate(options: EvalOptions) -> None:
    """Run a program on a data set: its score, how sure that is, what failed, and what it cost."""
    raise typer.Exit(guarded(lambda: evaluated(options), options))


def tune(options: TuneOptions) -> None:
    """Find knobs of a program that score higher or cost less on a data set, and say how sure that is."""
    raise typer.Exit(guarded(lambda: tuned(options), options))


def compare(options: CompareOptions) -> None:
    """Measure a search against answers without one that spend as much, and say whether the tree pays."""
    raise typer.Exit(guarded(lambda: compared(options), options))


def calibrate(options: CalibrateOptions) -> None:
    """Measure a rater against what became of the nodes that it rated, and fit what its ratings are worth."""
    raise typer.Exit(guarded(lambda: calibrated(options), options))


def export(options: ExportOptions) -> None:
    """Write a search as a drawing, as a table, or as rows to learn from."""
    raise typer.Exit(guarded(lambda: exported(options), options))


def view(options: ViewOptions) -> None:
    """Show a search as one HTML page, which needs no network: its tree, prompts and replies, step by step."""
    raise typer.Exit(guarded(lambda: viewed(options), options))


def _declare(name: str, run: Callable[[Any], None], kind: type[Any], **more: Any) -> None:
    app.command(name, cls=Command, no_args_is_help=True, **more)(command(run, kind))


CODES = f"Exit codes:\n{listed()}"
_declare("solve", solve, Options, epilog=CODES)
_declare("eval", evaluate, EvalOptions, epilog=CODES)
_declare("compare", compare, CompareOptions, epilog=CODES)
_declare("calibrate", calibrate, CalibrateOptions, epilog=CODES)
_declare("tune", tune, TuneOptions, epilog=CODES)
_declare("view", view, ViewOptions)
_declare("export", export, ExportOptions)


def _solve(options: Options) -> Exit:
    program, inputs = problem_of(options)
    lm = model_of(options, program)
    if lm is not None and lm.model == MODEL and not options.quiet:
        say(NOTICE)
    found = _searched(options, program, inputs, lm)
    result, code = found.search, exit_of(found.search)
    if code is Exit.MODEL:
        say(f"calls failed: {result.first_error}")
    elif not options.quiet and not result.solved:  # what is verified is worth what it says
        for warning in result.warnings:
            say(f"warning: {warning}")
    if options.json:
        names = {"model": getattr(lm, "model", None), "rate_model": options.rate_model}
        write(as_json(found, names, options.tree, options.explain) + "\n")
    else:
        _show(result, options)
    return code


def _show(result: SearchResult[Any, Any], options: Options) -> None:
    if options.tree:
        show(tree_view(result, one_line_each=sys.stdout.isatty()))
    if options.quiet:
        write(answer_text(result))
    elif exit_of(result) is not Exit.MODEL:
        show(summary_text(result))
    if options.explain:
        show(Text(visible(result.explain())))


def _searched(options: Options, program: Program, inputs: dict[str, Any], lm: Any) -> SearchPrediction:
    if options.fsync and options.journal is None:
        raise Mistake("--fsync: there is no journal to force to the disk; give --journal as well")
    stop = Stop()
    live: LiveLine | None = None
    if sys.stderr.isatty() and not options.quiet:
        live = LiveTree(program.task, sys.stderr, stop) if options.tree else LiveLine(sys.stderr, stop)
    given = {"stop": stop, "on_event": live, "journal": options.journal, "fsync": options.fsync}

    def run() -> SearchPrediction:
        return cast("SearchPrediction", program(**inputs, config=given))

    with dspy.context(lm=lm), live or nullcontext():
        return interruptible(run, stop)
