"""The options of `thoughtree solve`: those of every program, its one problem, and what to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from .declaring import OUTPUT, PROBLEM, SEARCH, option
from .program_options import ProgramOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ProgramOptions):
    """What was asked for on the command line; None: not said."""

    # Problem
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROBLEM",
            help="The problem: the program's first input, such as '4 9 10 13'.",
            show_default=False,
        ),
    ] = None
    input: Annotated[
        list[str] | None,
        option(
            PROBLEM,
            "An input field by name; JSON where the field is no text. name=@file reads a file, name=@@text is @text. "
            "Repeatable.",
            metavar="NAME=VALUE",
        ),
    ] = None

    # Search
    journal: Annotated[
        str | None,
        option(
            SEARCH,
            "Write each reply here; a run that was killed and is repeated goes on from it. A folder, or a name that "
            "ends in /, gets a file a call.",
            metavar="FILE|FOLDER",
        ),
    ] = None
    fsync: Annotated[
        bool, option(SEARCH, "Force each line of the journal to the disk: it survives a power cut too.", "--fsync")
    ] = False

    # Output
    json: Annotated[bool, option(OUTPUT, "One JSON object on stdout.", "--json")] = False
    tree: Annotated[bool, option(OUTPUT, "The tree, with values, statuses and reasons.", "--tree")] = False
    explain: Annotated[bool, option(OUTPUT, "Why it went as it did, and what to change.", "--explain")] = False
    quiet: Annotated[bool, option(OUTPUT, "The answer alone, and no progress.", "--quiet", "-q")] = False
