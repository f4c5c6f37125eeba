"""`thoughtree tune`: knobs of a program, tuned on a data set, by one process or by many."""

from __future__ import annotations

import json
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dspy
from rich.text import Text

from .data_options import STUDY_NAME, TuneOptions
from .exits import Exit
from .files_apart import files_apart
from .mistake import Mistake
from .output import kept, say, show, write
from .page import heading, paragraph, table, write_page
from .problem import said
from .processes import at_once
from .saving import as_json_file, can_be_saved
from .search import Budget
from .search.visible import visible
from .space_option import space_said
from .subject import Subject, subject_of

if TYPE_CHECKING:
    from .optimize import SearchTuner, Tuning
    from .optimize.trials import Setting

MOST_SEED = 2**32 - 1  # that Optuna takes


def tuned(options: TuneOptions, began: float | None = None) -> Exit:
    """Tune, report, and save what came of it. began: when the command did, for a process that it started."""
    from .optimize.trying import Hopeless

    began = time.time() if began is None else began
    _check(options)
    subject = subject_of(options, options.valset)
    can_be_saved(subject.program, options.save)
    if options.estimate:
        return _estimated(options, subject)
    try:
        with subject.at_work(), _progress(options):
            if options.race_only:
                return _raced(options, subject, began)
            made = _compiled(options, subject, began)
    except Hopeless as error:
        raise Mistake(f"calls failed: {error}", Exit.MODEL) from error
    except KeyboardInterrupt:
        if options.race_only and options.quiet:  # whoever started this process says so
            return Exit.INTERRUPTED
        say(f"interrupted: what was tried is kept in {_place(options)}; the same command goes on from there")
        return Exit.INTERRUPTED
    found: Tuning = made.detailed_results
    save = options.save
    saved = save is not None and kept(lambda: made.save(save))
    if not _report(options, subject, found, saved) or (save is not None and not saved):
        return Exit.USAGE
    return Exit.SOLVED if found.verdict is not None else Exit.FAILED


def _compiled(options: TuneOptions, subject: Subject, began: float) -> Any:
    """The tuned program. Mistake where no worker got anywhere, each having said why."""
    tuner, many = _tuner(options, subject, began), options.workers or 1
    if many > 1:
        tuner.check(subject.program, **_given(options, subject))  # once, not by each of them
        alone = replace(options, workers=None, race_only=True, quiet=True)
        codes = at_once(alone, many, began)
        if all(code > 0 and code != Exit.INTERRUPTED for code in codes):  # that is whose time was up
            raise Mistake("no worker could work at the study", Exit(codes[0]) if codes[0] in set(Exit) else Exit.MODEL)
    return tuner.compile(subject.program, **_given(options, subject))


def _raced(options: TuneOptions, subject: Subject, began: float) -> Exit:
    ended = _tuner(options, subject, began).race(subject.program, **_given(options, subject))
    if not options.quiet:
        say(f"the race ended for this worker ({ended}); the same command without --race-only makes the report")
    return Exit.SOLVED


def _tuner(options: TuneOptions, subject: Subject, began: float | None = None) -> SearchTuner:
    from .optimize import SearchTuner

    ceilings = said(options, ("calls", "tokens", "cost", "seconds"), "study_")
    tuner = SearchTuner(
        subject.metric,
        budget=Budget(**ceilings),
        auto=options.auto,
        trials=options.trials,
        num_threads=options.num_threads,
        seed=options.seed or 0,
        log_dir=options.study_folder,
        storage=options.storage,
        study=options.study or STUDY_NAME,
        **said(options, ("cost", "cost_limit")),
    )
    tuner.began = began
    return tuner


def _given(options: TuneOptions, subject: Subject) -> dict[str, Any]:
    """The arguments of `compile`, and of `race`."""
    return {
        "trainset": subject.examples,
        "valset": subject.valset,
        "space": space_said(options.space or []),
        **said(options, ("pick", "tolerance")),
    }


def _check(options: TuneOptions) -> None:
    """What can be wrong of the options is said before anything is read or paid."""
    from .optimize.extra import needs
    from .optimize.files import check

    check(options.html, "--html")
    as_json_file(options.save)
    files_apart(options)
    if options.html is not None or options.plots is not None:
        needs("plotly")
    if options.seed is not None and not 0 <= options.seed <= MOST_SEED:
        raise Mistake(f"--seed {options.seed}: a study's is a whole number from 0 to {MOST_SEED:,}")
    if options.race_only and (options.workers or 1) > 1:
        raise Mistake(f"--race-only, --workers {options.workers}: start a command for each process, or leave one out")
    space_said(options.space or [])
    if options.plots is not None and options.plots.exists() and not options.plots.is_dir():
        raise Mistake(f"--plots {options.plots}: this is a file; name a folder")


def _place(options: TuneOptions) -> str:
    """Where a study is kept, without the password that an address may hold."""
    return str(options.study_folder) if options.storage is None else f"{options.study_folder} and in the storage"


def _progress(options: TuneOptions) -> AbstractContextManager[Any]:
    if options.quiet or not sys.stderr.isatty():
        return nullcontext()
    from .live_study import LiveStudy

    return LiveStudy(sys.stderr, options.storage or options.study_folder / "study.log", options.study or STUDY_NAME)


def _estimated(options: TuneOptions, subject: Subject) -> Exit:
    space, fresh = space_said(options.space or []), subject.valset
    given = {"valset": subject.examples} if not fresh else {"trainset": subject.examples, "valset": fresh}
    with dspy.context(lm=subject.lm):
        most = _tuner(options, subject).estimate(subject.program, space=space, **given)
    if options.json:
        write(json.dumps(most) + "\n")
        return Exit.SOLVED
    calls = "nothing bounds its LM calls" if most["calls"] is None else f"at most {most['calls']:,.0f} LM calls"
    dollars = "dollars that nobody knows" if most["dollars"] is None else f"${most['dollars']:,.2f}"
    show(Text(f"{calls}, {dollars}"))
    if most["usual_calls"] is not None and most["usual_calls"] != most["calls"]:
        show(Text(f"{most['usual_calls']:,.0f} LM calls if every setting took what the program can take as it is"))
    if options.study_calls is None:
        show(Text("a ceiling of your own: --study-calls N"))
    return Exit.SOLVED


def _report(options: TuneOptions, subject: Subject, found: Tuning, saved: bool) -> bool:
    """Whether all of its files were written. saved: whether the program was."""
    from .optimize.fields import as_json

    plots, html = options.plots, options.html
    whole = plots is None or kept(lambda: found.plots(plots))
    whole &= html is None or kept(lambda: write_page(html, f"Tuning on {options.data}", _page(found)))
    if options.json:
        where = str(options.save) if saved else None
        told = {**found.dump(), "model": getattr(subject.lm, "model", None), "saved": where}
        write(json.dumps(as_json(told), allow_nan=False) + "\n")
        return whole
    show(Text(visible(found.summary())))
    if saved:
        show(Text(f"saved: {visible(str(options.save))}"))
    return whole


def _page(found: Tuning) -> list[str]:
    from .optimize.plots import divisions

    names = list(dict.fromkeys(name for setting in found.settings.values() for name in setting.values))
    rows = [_row(found, setting, names) for setting in found.settings.values()]
    header = ["setting", "score", found.cost, "examples", "", *names]
    return [paragraph(found.summary()), *divisions(found), heading("Settings"), table(header, rows)]


def _row(found: Tuning, setting: Setting, names: list[str]) -> list[object]:
    results = setting.results
    score, cost = results.score(found.raced), results.cost(found.raced)
    fate = "on the front" if setting.number in found.front else setting.error
    if setting.beaten_by is not None:
        fate = f"left for {setting.beaten_by}"
    values = ["" if name not in setting.values else repr(setting.values[name]) for name in names]
    return [setting.number, score, cost, len(results.by_example), fate, *values]
