"""`calibrate_rater`: run a program, and measure its rater against what became of the nodes that it rated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dspy

from ..modules.rate import Rate as Rater
from .calibration import Calibration, reliability, search_in
from .calibration_advice import areas_by_depth, by_search, on_cheaper, on_labels, on_no_rater, on_samples
from .calibration_auc import auc_of
from .calibration_fit import LEAST, LOST, fit_worth
from .calibration_readings import Reading, on_scale, readings_of
from .gathering import Gatherer, NoRuns
from .kept_gathering import Kept
from .metrics import solved
from .scoring import Scorer
from .seen import Seen
from .shared_run import SharedRun


def calibrate_rater(
    program: dspy.Module,
    examples: Sequence[dspy.Example],
    *,
    metric: Callable[..., Any] | None = None,
    metric_threshold: float | None = None,
    cheaper: Any = None,
    most: int = 200,
    least: int = LEAST,
    lost: float = LOST,
    proposals_are_all: bool = False,
    num_threads: int | None = None,
    max_errors: int | None = None,
    display_progress: bool = False,
    resume: str | Path | SharedRun | None = None,
) -> Calibration:
    """Run `program` on the examples, and measure what its rater said of each node against what became of the node.

        report = calibrate_rater(program, examples)
        print(report.summary())
        better = report.apply(program)

    A node is good if the task's own truth says that it can be solved (`task.solvable`); where there is none, if a
    solution was found below it, and bad if all that can follow was searched without one. A node of which neither is
    known, such as one that was pruned, is left out and counted: it is no negative. Without that truth, more good nodes
    than bad ones are known, and the report says so. The examples should not be those
    that the calibrated program is then measured on.

    metric, metric_threshold: what accepts an answer (None: `thoughtree.solved`), as in BootstrapSearch. cheaper: an LM
    that is asked about at most `most` of the same ratings (None: the program's own cheap rater, if that is an LM).
    least: labelled nodes of a depth before it gets a curve of its own. lost: the share of all nodes that can be solved
    that the prune threshold may cost. proposals_are_all: see `hindsight.labels`. num_threads, max_errors: None for
    DSPy's settings. display_progress: a bar on stderr. resume: a folder in which all replies are kept, those of
    `cheaper` too, so that the same goes on after a kill without paying again, and an equal request is not asked twice;
    a SharedRun: other processes do some of the examples (`help_calibrating`).

    Raises ValueError for a program that holds no one search, or where no node was rated and labelled; NoRuns, which is
    one, where every run failed.
    """
    kept = None if resume is None else Kept(resume)
    if kept is not None:
        program = kept.program(program)
    inner = search_in(program)
    if not examples:
        raise ValueError("examples=[]: there is nothing to measure the rater on")
    if isinstance(inner.rate, Rater) and not on_scale(inner):
        raise ValueError(f"rate={inner.plan.rate!r}: votes and comparisons are on no scale; rate 'value' or 'siblings'")
    if cheaper is None and isinstance(inner.cheap_rate, dspy.BaseLM):
        cheaper = inner.cheap_rate
    if cheaper is not None and not (isinstance(cheaper, dspy.BaseLM) and on_scale(inner)):
        raise TypeError(f"cheaper={cheaper!r}: must be an LM, for a rater of ours: rate 'value' or 'siblings'")
    for name, share in (("most", most), ("least", least)):
        if not isinstance(share, int) or isinstance(share, bool) or share < 1:
            raise ValueError(f"{name}={share!r}: must be a whole number of at least 1")
    if not isinstance(lost, int | float) or not 0 <= lost < 1:
        raise ValueError(f"lost={lost!r}: must be a share from 0 to below 1")
    gatherer = _gatherer(
        program, metric, num_threads, metric_threshold, proposals_are_all, max_errors, display_progress
    )
    threads = gatherer.threads
    runs = gatherer.run(examples) if kept is None else kept.gather(gatherer, examples)
    if kept is not None:
        cheaper = kept.lm(cheaper)
    seen = [one for run in runs for one in run.searches if one.program is inner]
    errors = tuple(run.error for run in runs if run.error is not None)
    if len(errors) == len(runs):
        raise NoRuns(runs, "measured")
    return measured(inner, seen, errors, cheaper=cheaper, most=most, least=least, lost=lost, threads=threads)


def help_calibrating(
    program: dspy.Module,
    examples: Sequence[dspy.Example],
    *,
    resume: SharedRun,
    metric: Callable[..., Any] | None = None,
    num_threads: int | None = None,
    max_errors: int | None = None,
) -> None:
    """Do examples for a `calibrate_rater` of another process, with the same arguments, until all are done."""
    kept = Kept(resume)
    kept.help(_gatherer(kept.program(program), metric, num_threads, max_errors=max_errors), examples)


def _gatherer(
    program: dspy.Module,
    metric: Callable[..., Any] | None,
    num_threads: int | None,
    threshold: float | None = None,
    proposals_are_all: bool = False,
    max_errors: int | None = None,
    display_progress: bool = False,
) -> Gatherer:
    return Gatherer(
        program,
        Scorer(solved if metric is None else metric),
        num_threads or dspy.settings.num_threads or 8,
        threshold,
        proposals_are_all,
        dspy.settings.max_errors if max_errors is None else max_errors,
        display_progress,
    )


def measured(
    program: Any,
    searches: Sequence[Seen],
    errors: tuple[str, ...] = (),
    *,
    cheaper: Any = None,
    most: int = 200,
    least: int = LEAST,
    lost: float = LOST,
    threads: int = 1,
) -> Calibration:
    """The same of searches that are over."""
    readings = readings_of(searches)
    first = [reading for reading in readings if not reading.sample]
    labelled = [(r.depth, r.value, r.truth) for r in first if r.truth is not None]
    if not labelled:
        said = f"; the first error: {errors[0]}" if errors else ""
        raise ValueError(
            f"{len(first)} nodes were rated in {len(searches)} searches, and of none is it known whether it can be "
            f"solved: give examples that the program solves, a task with `solvable`, or proposals_are_all=True{said}"
        )
    worth, why = None, None
    if not on_scale(program):
        why = f"rate={program.plan.rate!r} speaks on no scale of ours"
    else:
        try:
            worth = fit_worth(labelled, least=least, lost=lost)
        except ValueError as error:
            why = str(error)
    areas = areas_by_depth(first)
    code = any(one.tells for one in searches)
    advice = [
        *on_labels(first, code),
        *on_no_rater(areas, _share_of_calls(searches)),
        *on_samples(readings, program.plan.samples),
    ]
    if cheaper is not None:
        advice += on_cheaper(searches, readings, cheaper, most=most, threads=threads)
    area, within = auc_of(by_search(first, lambda r: r.value))
    by_worth, worth_within = (None, None) if worth is None else auc_of(by_search(first, _worth_of(worth)))
    return Calibration(
        rows=tuple(reliability(first, worth)),
        auc=area,
        auc_interval=within,
        auc_worth=by_worth,
        auc_worth_interval=worth_within,
        auc_by_depth=areas,
        worth=worth,
        why_none=why,
        advice=tuple(advice),
        unread=sum(one.result.unread.get("rate", 0) for one in searches),
        searches=len(searches),
        errors=errors,
        rate=program.plan.rate,
        scale=program.plan.scale,
    )


def _worth_of(worth: Any) -> Callable[[Reading], float]:
    def of(reading: Reading) -> float:
        return float(worth.at(reading.depth)(reading.value))

    return of


def _share_of_calls(searches: Sequence[Seen]) -> float:
    calls = sum(one.result.spent.calls for one in searches)
    rating = sum(one.result.spent_by["rate"].calls for one in searches if "rate" in one.result.spent_by)
    return rating / calls if calls else 0.0
