"""`thoughtree eval`: a program on a data set, with how sure its score is, what failed, and what it cost."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from .crew import Crew, crew
from .data_options import EvalOptions
from .exits import Exit
from .files_apart import files_apart
from .flags import by_flags
from .output import kept, say, show, write
from .page import heading, paragraph, table, write_page
from .search.visible import visible
from .subject import Subject, subject_of

if TYPE_CHECKING:
    from .optimize import EvaluationResult

ROWS = 20


def evaluated(options: EvalOptions) -> Exit:
    """Evaluate, and report what there is, also of a run that was stopped or interrupted."""
    from .optimize import EvaluationInterrupted, EvaluationStopped, LogError
    from .optimize.files import check

    for name in ("html", "csv"):
        check(getattr(options, name), f"--{name}")
    files_apart(options)
    subject = subject_of(options)
    try:
        with crew(
            options.workers, options.resume, options.total_seconds, helped, replace(options, quiet=True)
        ) as others:
            result, code = _run(options, subject, others), Exit.SOLVED
    except LogError as error:
        say(of_resume(options.resume, error))
        return Exit.USAGE
    except EvaluationStopped as stopped:
        say(str(stopped))
        result, code = stopped.result, why(stopped.result)
    except EvaluationInterrupted as interrupt:
        say(f"{interrupt}; {goes_on(options.resume)}")
        result, code = interrupt.result, Exit.INTERRUPTED
    if not _report(options, subject, result):
        return Exit.USAGE
    return Exit.FAILED if code is Exit.SOLVED and result.score is None else code


def helped(options: EvalOptions, others: Crew) -> Exit:
    """Do the examples with other processes, one of which makes the report, and says what went wrong."""
    from .optimize import EvaluationInterrupted, EvaluationStopped, LogError

    try:
        _run(options, subject_of(options), others)
    except EvaluationStopped as stopped:
        return why(stopped.result)
    except EvaluationInterrupted:
        return Exit.INTERRUPTED
    except LogError:
        return Exit.USAGE
    return Exit.SOLVED


def _run(options: EvalOptions, subject: Subject, others: Crew | None) -> EvaluationResult:
    from .optimize import Evaluate

    evaluate = Evaluate(
        devset=subject.examples,
        metric=subject.metric,
        num_threads=options.num_threads,
        max_errors=options.max_errors,
        display_progress=sys.stderr.isatty() and not options.quiet,
        resume=options.resume if others is None else others.run,
    )
    with subject.at_work(others):
        result: EvaluationResult = evaluate(subject.program)
    return result


def goes_on(resume: Path | None) -> str:
    """What can be done after an interrupt."""
    if resume is None:
        return "with --resume FOLDER, a command that is interrupted can go on"
    return "the same command goes on from there"


def of_resume(folder: Path | None, error: Exception) -> str:
    """What is wrong with a folder that a run goes on from."""
    told = by_flags(str(error), ("resume",))
    return told if told.startswith("--resume") else f"--resume {folder}: {told}"


def why(result: EvaluationResult) -> Exit:
    """Whether a run was stopped by its budget, by a metric that is wrong, or by what the program calls."""
    if not result.errors:
        return Exit.FAILED
    return Exit.USAGE if all(outcome.at == "metric" for outcome in result.errors) else Exit.MODEL


def _report(options: EvalOptions, subject: Subject, result: EvaluationResult) -> bool:
    """Whether all of its files were written."""
    from .optimize.files import save

    csv, html = options.csv, options.html
    whole = csv is None or kept(lambda: save(result, csv, "csv"))
    whole &= html is None or kept(lambda: write_page(html, f"Evaluation of {options.data}", _page(result)))
    if options.json:
        write(json.dumps(_told(subject, result), allow_nan=False) + "\n")
        return whole
    if not options.quiet and result.outcomes and options.rows != 0:
        show(result.table(options.rows or ROWS))
    show(Text(visible(result.summary())))
    return whole


def _told(subject: Subject, result: EvaluationResult) -> dict[str, Any]:
    from .optimize.fields import as_json
    from .optimize.files import rows

    return {
        "metric": result.metric,
        "score": result.score,
        "interval": result.interval,
        "mean": result.mean,
        "scored": sum(score is not None for *_, score in result.results),
        "failed": len(result.errors),
        "not_run": result.not_run,
        "spent": asdict(result.spent),
        "judged": asdict(result.judged),
        "unpriced": result.unpriced,
        "calls_per_example": result.per_example("calls"),
        "seconds": result.seconds,
        "errors": Counter(f"{outcome.at}: {outcome.error}" for outcome in result.errors),
        "model": getattr(subject.lm, "model", None),
        "examples": [{name: as_json(value) for name, value in row.items()} for row in rows(result)],
    }


def _page(result: EvaluationResult) -> list[str]:
    from .optimize.fields import cell
    from .optimize.files import rows

    found = rows(result)
    names = list(dict.fromkeys(name for row in found for name in row))
    listed = table(names, [[cell(row.get(name)) for name in names] for row in found])
    return [paragraph(result.summary()), heading("Examples"), listed]
