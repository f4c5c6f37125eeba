"""`thoughtree export`: a search as a drawing, a table, or rows to learn from."""

from __future__ import annotations

import csv
import enum
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import dspy
import typer

from .declaring import OUTPUT, PROBLEM, option
from .exits import Exit
from .export_source import ExportSource
from .mistake import Mistake
from .output import STDOUT, say, write
from .problem import equip, program_of
from .program_options import ProgramOptions
from .search import SearchResult
from .search.whole_file import write_whole
from .typed_input import inputs_of
from .typed_number import above_zero


class Form(enum.StrEnum):
    DOT = "dot"
    MERMAID = "mermaid"
    JSON = "json"
    CSV = "csv"
    PREFERENCES = "preferences"
    SUPERVISED = "supervised"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions(ProgramOptions):
    """What `thoughtree export` was asked for."""

    source: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT|JOURNAL",
            help="A saved result, or the journal of a run. For rows also a folder of journals.",
            show_default=False,
        ),
    ]
    to: Annotated[
        Form,
        option(
            OUTPUT,
            "dot (Graphviz), mermaid, json (a result, by the schema), csv (a row a node), preferences (pairs of "
            "siblings) or supervised (chat messages), the last two as JSON lines.",
            "--to",
        ),
    ]
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROBLEM",
            help="For rows: the problem that was searched, as `solve` was given it, with the options of then. Prompts "
            "are that program's, and its task judges the steps.",
            show_default=False,
        ),
    ] = None
    input: Annotated[
        list[str] | None,
        option(PROBLEM, "An input field of the problem by name. Repeatable.", metavar="NAME=VALUE"),
    ] = None
    output: Annotated[
        Path | None, option(OUTPUT, "The file to write. Default: stdout, which - means too.", "--output", "-o")
    ] = None
    most: Annotated[
        int | None, option(OUTPUT, "Nodes that a drawing shows, the solution's path and the nearest first.", min=1)
    ] = None
    margin: Annotated[
        float | None,
        option(
            OUTPUT,
            "Preferences: also pairs of which only the values are known, at least so far apart.",
            parser=above_zero,
        ),
    ] = None


def exported(options: ExportOptions) -> Exit:
    _check(options)
    read = ExportSource(options.source)
    rows = _rows(options, read) if options.to in (Form.PREFERENCES, Form.SUPERVISED) else None
    text = _drawn(options, read) if rows is None else "".join(json.dumps(row) + "\n" for row in rows)
    for note in read.notes:
        say(note)
    if options.output in (None, STDOUT):
        write(text)
    else:
        write_whole(options.output, text.encode("utf-8", "backslashreplace"))
    if rows is not None and not rows:
        if read.damaged:
            say(f"{options.source}: what can be read of it gives no row")
            return Exit.FAILED
        more = (
            "" if _names_a_problem(options) else "; name the problem that was searched after it: code judges its steps"
        )
        say(f"{options.source}: of no step in it is enough known for a row{more}")
        return Exit.FAILED
    return Exit.SOLVED


def _names_a_problem(options: ExportOptions) -> bool:
    return bool(options.words or options.input or options.task or options.program or options.load)


def _check(options: ExportOptions) -> None:
    if options.output not in (None, STDOUT) and options.output.exists() and options.output.samefile(options.source):
        raise Mistake(f"--output {options.output}: this is what is exported; give another name")
    if options.source.is_dir() and options.to not in (Form.PREFERENCES, Form.SUPERVISED):
        raise Mistake(f"{options.source}: this is a folder; --to {options.to} takes one journal or result")
    if options.margin is not None and options.to is not Form.PREFERENCES:
        raise Mistake(f"--margin: only --to preferences has this, not {options.to}")
    if options.most is not None and options.to not in (Form.DOT, Form.MERMAID):
        raise Mistake(f"--most: only --to dot and mermaid have this, not {options.to}")


def _drawn(options: ExportOptions, read: ExportSource) -> str:
    match options.to:
        case Form.DOT:
            return read.result().to_dot(options.most)
        case Form.MERMAID:
            most = {} if options.most is None else {"most": options.most}
            return read.result().to_mermaid(**most)
        case Form.CSV:
            return _table(read.result().to_records())
    return json.dumps(read.saved(), indent=2) + "\n"


def _table(records: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    table = csv.DictWriter(out, list(records[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(records)
    return out.getvalue()


def _rows(options: ExportOptions, read: ExportSource) -> list[dict[str, Any]]:
    from .optimize import preference_pairs, supervised_rows

    given: dict[str, Any] = {} if options.margin is None else {"margin": options.margin}
    make: Any = preference_pairs if options.to is Form.PREFERENCES else supervised_rows
    if not _names_a_problem(options):
        if read.of_journals:
            return list(make(read.stories(), **given))
        if options.to is Form.SUPERVISED:
            raise Mistake(f"{options.source}: a result holds no prompts; give the run's journal, or the problem")
        return list(make([read.result()], **given))
    program = program_of(options)
    asked = inputs_of(program.signature, options.words or [], options.input or [])
    equip(program, options, [asked])
    example = dspy.Example(**asked).with_inputs(*asked)
    if read.of_journals:
        read.replayed()
        return list(make(options.source, program, examples=[example], **given))
    task = program.task.for_inputs(asked)
    return list(make([(example, SearchResult.load(options.source, task))], program, **given))
