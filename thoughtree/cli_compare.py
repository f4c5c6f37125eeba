"""`thoughtree compare`: programs against answers without a search, at equal spending, on one data set."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dspy
from rich.text import Text

from .cli_eval import goes_on, of_resume, why
from .crew import Crew, crew
from .data_options import CompareOptions
from .exits import Exit
from .files_apart import files_apart
from .mistake import Mistake
from .offline import MODEL
from .output import kept, say, show, write
from .page import paragraph, table, write_page
from .problem import said
from .search.visible import visible
from .subject import Subject, program_named, subject_of

if TYPE_CHECKING:
    from .optimize import Comparison


def compared(options: CompareOptions) -> Exit:
    """Compare, and report. A comparison that is cut has no report: half of it would not be paired."""
    from .optimize import EvaluationInterrupted, EvaluationStopped, LogError
    from .optimize.files import check

    check(options.html, "--html")
    files_apart(options)
    subject = subject_of(options)
    programs = _programs(options, subject)
    try:
        with crew(
            options.workers, options.resume, options.total_seconds, helped, replace(options, quiet=True)
        ) as others:
            found = _run(options, subject, programs, others)
    except LogError as error:
        say(of_resume(options.resume, error))
        return Exit.USAGE
    except EvaluationStopped as stopped:
        say(str(stopped))
        return why(stopped.result)
    except EvaluationInterrupted as interrupt:
        say(f"{interrupt}; what is half compared is no comparison; {goes_on(options.resume)}")
        return Exit.INTERRUPTED
    html = options.html
    code = Exit.SOLVED if html is None or kept(lambda: _write_page(html, options, found)) else Exit.USAGE
    if options.json:
        write(json.dumps({**found.json(), "model": getattr(subject.lm, "model", None)}, allow_nan=False) + "\n")
        return code
    if not options.quiet:
        show(found.table())
    show(Text(visible(found.summary())))
    return code


def _write_page(path: Path, options: CompareOptions, found: Comparison) -> None:
    rows = list(found.rows())
    listed = table(list(rows[0]), [list(map(_plain, row.values())) for row in rows])
    write_page(path, f"Comparison on {options.data}", [paragraph(found.summary()), listed])


def helped(options: CompareOptions, others: Crew) -> Exit:
    """Run the same programs and baselines with other processes, one of which makes the report."""
    from .optimize import EvaluationInterrupted, EvaluationStopped, LogError

    subject = subject_of(options)
    try:
        _run(options, subject, _programs(options, subject), others)
    except EvaluationStopped as stopped:
        return why(stopped.result)
    except EvaluationInterrupted:
        return Exit.INTERRUPTED
    except LogError:
        return Exit.USAGE
    return Exit.SOLVED


def _run(
    options: CompareOptions, subject: Subject, programs: dict[str, dspy.Module], others: Crew | None
) -> Comparison:
    from .optimize import compare
    from .optimize.comparing import BASELINES, REFINED

    given: dict[str, Any] = said(options, ("match", "num_threads", "max_errors", "resume", "signature"))
    if options.baselines is not None:
        given["baselines"] = _baselines(options.baselines)
    elif getattr(subject.lm, "model", None) == MODEL:
        given["baselines"] = [name for name in BASELINES if name != REFINED]  # it asks a model for advice
        if not options.quiet:
            say(f"{REFINED} is left out: the stand-in has no advice to give")
    shown = sys.stderr.isatty() and not options.quiet
    if others is not None:
        given["resume"] = others.run
    with subject.at_work(others):
        found: Comparison = compare(programs, subject.examples, subject.metric, display_progress=shown, **given)
    return found


def _baselines(said: str) -> list[str]:
    """By their names. Mistake for one that there is none of, and for none at all."""
    from .optimize.comparing import BASELINES

    names = [name.strip() for name in said.split(",") if name.strip()]
    wrong = [name for name in names if name not in BASELINES]
    if wrong or not names:
        raise Mistake(f"--baselines {said!r}: name at least one of {', '.join(BASELINES)}, with commas between them")
    return names


def _programs(options: CompareOptions, subject: Subject) -> dict[str, dspy.Module]:
    """By names: the one that is meant, which the others are measured against, then the others."""
    from .optimize.space import holds_search

    if not holds_search(subject.program):
        raise Mistake(f"--program {options.program}: there is no search in it, so no spending to match; name one")
    programs: dict[str, dspy.Module] = {_name(options): subject.program}
    for other in options.other or []:
        if other in programs:
            raise Mistake(f"--other {other} is there twice")
        is_file = other.endswith(".json")
        chosen: Any = {"load": Path(other), "program": None} if is_file else {"load": None, "program": other}
        try:
            programs[other] = program_named(replace(options, task=None, **chosen))
        except Mistake as mistake:  # which knows it as the one program of other commands
            raise Mistake(str(mistake).replace("--program", "--other", 1), mistake.code) from mistake
    return programs


def _name(options: CompareOptions) -> str:
    return options.program or (str(options.load) if options.load else options.task or "game24")


def _plain(value: Any) -> Any:
    return ", ".join(f"{one:.4g}" for one in value) if isinstance(value, list) else value
