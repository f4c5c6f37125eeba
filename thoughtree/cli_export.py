"""`thoughtree export`: a search as a drawing, a table, or rows to learn from."""

from __future__ import annotations

import csv
import enum
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import dspy
import typer

from .declaring import OUTPUT, PROBLEM, option
from .exits import Exit
from .mistake import Mistake
from .output import STDOUT, say, say_notes, write
from .problem import equip, program_of
from .program_options import ProgramOptions
from .search import SearchResult
from .search.story import Story
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
    rows = _rows(options) if options.to in (Form.PREFERENCES, Form.SUPERVISED) else None
    text = _drawn(options) if rows is None else "".join(json.dumps(row) + "\n" for row in rows)
    stories = list(_stories(options.source))
    for story in stories:
        say_notes(story)
    if options.output in (None, STDOUT):
        write(text)
    else:
        write_whole(options.output, text.encode("utf-8", "backslashreplace"))
    if rows is not None and not rows:
        if any(story.damage for story in stories):
            say(f"{options.source}: what can be read of it gives no row")
            return Exit.FAILED
        more = "" if _names_a_problem(options) else "; with the problem that was searched, code judges the steps"
        say(f"{options.source}: of no step in it is enough known for a row{more}")
        return Exit.FAILED
    return Exit.SOLVED


def _names_a_problem(options: ExportOptions) -> bool:
    return bool(options.words or options.input or options.task or options.program or options.load)


def _check(options: ExportOptions) -> None:
    if options.output not in (None, STDOUT) and options.output.exists() and options.output.samefile(options.source):
        raise Mistake(f"--output {options.output}: this is what is exported; give another name")
    if options.margin is not None and options.to is not Form.PREFERENCES:
        raise Mistake(f"--margin: only --to preferences has this, not {options.to}")
    if options.most is not None and options.to not in (Form.DOT, Form.MERMAID):
        raise Mistake(f"--most: only --to dot and mermaid have this, not {options.to}")


def _drawn(options: ExportOptions) -> str:
    match options.to:
        case Form.DOT:
            return _result(options.source).to_dot(options.most)
        case Form.MERMAID:
            most = {} if options.most is None else {"most": options.most}
            return _result(options.source).to_mermaid(**most)
        case Form.CSV:
            return _table(_result(options.source).to_records())
    return json.dumps(_saved(options.source), indent=2) + "\n"


def _stories(source: Path) -> Iterator[Story]:
    """The journals that are exported, as far as they can be read."""
    from .optimize.replaying import journals_in
    from .optimize.sources import is_journal

    for path in journals_in(source) if source.is_dir() else [source]:
        if is_journal(path):
            yield Story.read(path)


def _result(path: Path) -> SearchResult[Any, Any]:
    """As it is to be read by people: its states are what its task said of them."""
    from .viewer import Run

    run = Run.of(path)
    for node, state in zip(run.result.tree, run.states, strict=True):
        node.state = state or None
    return run.result


def _saved(path: Path) -> Any:
    from .optimize.sources import is_journal

    if is_journal(path):
        return Story.read(path).saved()
    SearchResult.load(path)  # ValueError for what is none
    return json.loads(path.read_text(encoding="utf-8"))


def _table(records: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    table = csv.DictWriter(out, list(records[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(records)
    return out.getvalue()


def _rows(options: ExportOptions) -> list[dict[str, Any]]:
    from .optimize import preference_pairs, supervised_rows
    from .optimize.sources import is_journal

    given: dict[str, Any] = {} if options.margin is None else {"margin": options.margin}
    make: Any = preference_pairs if options.to is Form.PREFERENCES else supervised_rows
    of_journals = options.source.is_dir() or is_journal(options.source)
    if not _names_a_problem(options):
        if options.to is Form.SUPERVISED and not of_journals:
            raise Mistake(f"{options.source}: a result holds no prompts; give the run's journal, or the problem")
        plain = options.to is Form.PREFERENCES and not options.source.is_dir()
        return list(make([_result(options.source) if plain else options.source], **given))
    program = program_of(options)
    asked = inputs_of(program.signature, options.words or [], options.input or [])
    equip(program, options, [asked])
    example = dspy.Example(**asked).with_inputs(*asked)
    if of_journals:
        return list(make(options.source, program, examples=[example], **given))
    task = program.task.for_inputs(asked)
    return list(make([(example, SearchResult.load(options.source, task))], program, **given))
