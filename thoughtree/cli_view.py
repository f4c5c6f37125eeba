"""`thoughtree view`: a search as one HTML page."""

from __future__ import annotations

import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from .declaring import OUTPUT, PROBLEM, option
from .exits import Exit
from .mistake import Mistake
from .output import STDOUT, say_notes, write


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """What `thoughtree view` was asked for."""

    source: Annotated[
        Path,
        typer.Argument(
            metavar="JOURNAL|RESULT",
            help="The journal of a run, also of one that was killed or still works, or a saved result.",
            show_default=False,
        ),
    ]
    other: Annotated[
        Path | None, typer.Argument(metavar="OTHER", help="A second one, to compare with.", show_default=False)
    ] = None
    journal: Annotated[
        Path | None,
        option(PROBLEM, "The journal of the run whose result this is: its prompts and replies.", metavar="FILE"),
    ] = None
    output: Annotated[
        Path | None,
        option(
            OUTPUT, "The page; - is stdout. Default: beside the first file, with the ending .html.", "--output", "-o"
        ),
    ] = None
    open: Annotated[bool, option(OUTPUT, "Show it in the browser.", "--open")] = False


def viewed(options: ViewOptions) -> Exit:
    from . import viewer

    if options.open and options.output == STDOUT:
        raise Mistake("--open: shows a file, and --output - writes none; give it a name")
    runs = viewer.runs_of(options.source, options.other, options.journal)
    path = viewer.beside(options.source) if options.output is None else options.output
    for run in runs:
        if run.story is not None:
            say_notes(run.story)
    if path == STDOUT:
        write(viewer.page(runs))
        return Exit.SOLVED
    try:
        viewer.write(path, viewer.page(runs))
    except FileExistsError as error:
        raise Mistake(f"--output {error.filename}: {error.strerror}") from error
    if options.open:
        webbrowser.open(path.resolve().as_uri())
    write(f"{path}\n")
    return Exit.SOLVED
