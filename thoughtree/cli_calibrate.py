"""`thoughtree calibrate`: a rater measured on a data set, and the program that makes the best of it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from rich.text import Text

from .cli_eval import goes_on
from .crew import Crew, crew
from .data_options import CalibrateOptions
from .exits import Exit
from .files_apart import files_apart
from .mistake import Mistake
from .model import named
from .output import kept, say, show, write
from .page import heading, paragraph, table, write_page
from .problem import said
from .saving import as_json_file, can_be_saved
from .search.visible import visible
from .subject import Subject, subject_of

if TYPE_CHECKING:
    from .optimize import Calibration


def calibrated(options: CalibrateOptions) -> Exit:
    """Measure, report, and save the calibrated program where there is one."""
    from .optimize.files import check

    check(options.html, "--html")
    as_json_file(options.save)
    files_apart(options)
    subject = subject_of(options)
    can_be_saved(subject.program, options.save)
    try:
        with crew(
            options.workers, options.resume, options.total_seconds, helped, replace(options, quiet=True)
        ) as others:
            found = _run(options, subject, others)
    except KeyboardInterrupt:
        say(f"interrupted; {goes_on(options.resume)}")
        return Exit.INTERRUPTED
    if not _report(options, subject, found):
        return Exit.USAGE
    return Exit.SOLVED if found.worth is not None else Exit.FAILED


def _report(options: CalibrateOptions, subject: Subject, found: Calibration) -> bool:
    """Whether all of its files were written."""
    saved, save, html, whole = None, options.save, options.html, True
    if save is not None and found.worth is not None:
        whole = kept(lambda: found.apply(subject.program, prune=options.prune).save(save))
        saved = str(save) if whole else None
    elif save is not None:
        say(f"--save {save}: nothing was fitted, so nothing is saved: {found.why_none}")
    whole &= html is None or kept(lambda: write_page(html, f"Calibration on {options.data}", _page(found)))
    if options.json:
        told = {**found.json(), "model": getattr(subject.lm, "model", None), "saved": saved}
        write(json.dumps(told, allow_nan=False) + "\n")
    else:
        if not options.quiet:
            show(found.table())
        show(Text(visible(found.summary())))
        if saved is not None:
            show(Text(f"saved: {visible(saved)}"))
    return whole


def helped(options: CalibrateOptions, others: Crew) -> Exit:
    """Do some of the examples for the process that makes the report."""
    from .optimize.calibrating import help_calibrating

    subject = subject_of(options)
    given: dict[str, Any] = said(options, ("num_threads", "max_errors"))
    with subject.at_work(others):
        try:
            help_calibrating(subject.program, subject.examples, resume=others.run, metric=subject.metric, **given)
        except Exception:  # of the run that was one too many: the process that makes the report comes to it too
            return Exit.MODEL
    return Exit.SOLVED


def _run(options: CalibrateOptions, subject: Subject, others: Crew | None) -> Calibration:
    from .optimize import calibrate_rater
    from .optimize.gathering import NoRuns

    given: dict[str, Any] = said(options, ("num_threads", "max_errors", "resume"))
    if others is not None:
        given["resume"] = others.run
    if options.cheaper is not None:
        given["cheaper"] = named("--cheaper", options.cheaper, options)
    given["display_progress"] = sys.stderr.isatty() and not options.quiet
    with subject.at_work(others):
        try:
            found: Calibration = calibrate_rater(subject.program, subject.examples, metric=subject.metric, **given)
        except TypeError as error:  # of what `cheaper` may rate
            raise Mistake(str(error)) from error
        except NoRuns as error:
            raise Mistake(str(error), Exit.FAILED if error.refused else Exit.MODEL) from error
        except (ValueError, OSError, ImportError):  # each says what to mend
            raise
        except Exception as error:  # of the run that was one too many, whatever the program raises
            raise Mistake(f"too many runs failed, the last by {_told(error)}", Exit.MODEL) from error
    return found


def _told(error: Exception) -> str:
    from .modules.calls.failures import describe
    from .optimize.running import Lost

    return str(error) if isinstance(error, Lost) else describe(error)


def _page(found: Calibration) -> list[str]:
    rows = [asdict(row) for row in found.rows]
    names = list(rows[0]) if rows else []
    listed = table(names, [[_plain(row[name]) for name in names] for row in rows])
    return [paragraph(found.summary()), heading("Reliability"), listed]


def _plain(value: Any) -> Any:
    return ", ".join(f"{one:.4g}" for one in value) if isinstance(value, list | tuple) else value
