"""The options of the commands that run a program on a data set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from .declaring import DATA, MODEL, OUTPUT, PROBLEM, STUDY, WHOLE, ceiling, option
from .program_options import ProgramOptions

WORKERS = "Processes that share the examples, each with --num-threads of them at once. Default: 1."
MOST_WORKERS = 256  # a process takes some 150 MB; calls in flight are a matter of threads
STUDY_NAME = "tuning"  # of a study that was given no name


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions(ProgramOptions):
    """Which examples, and what counts as right; None: not said."""

    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="The examples: a .json, .jsonl, .csv, .tsv or .parquet file, a folder of them, or a name on the "
            "Hugging Face hub.",
            show_default=False,
        ),
    ]
    inputs: Annotated[
        str | None,
        option(DATA, "Columns that the program is given. Default: its own input fields.", metavar="NAME,NAME"),
    ] = None
    metric: Annotated[
        str | None,
        option(
            DATA,
            "solved: code has verified the answer (the default). exact: it is the data's. MODULE:NAME: a metric of "
            "your own, of (example, prediction).",
            metavar="NAME",
        ),
    ] = None
    split: Annotated[str | None, option(DATA, "Which part of the data, where there are several.", metavar="NAME")] = (
        None
    )
    limit: Annotated[int | None, option(DATA, "So many examples at most.", metavar="N", min=1)] = None
    shuffle: Annotated[int | None, option(DATA, "Shuffle by this seed, before --limit.", metavar="SEED")] = None
    num_threads: Annotated[int | None, option(DATA, "Examples at once. Default: 8.", metavar="N", min=1)] = None

    json: Annotated[bool, option(OUTPUT, "One JSON object on stdout.", "--json")] = False
    html: Annotated[Path | None, option(OUTPUT, "A report as a page that needs no network.", metavar="FILE")] = None
    quiet: Annotated[bool, option(OUTPUT, "No progress, and no table of examples.", "--quiet", "-q")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions(DataOptions):
    """What a command may spend that measures programs as they are, on all examples together."""

    total_calls: Annotated[int | None, option(WHOLE, "LM calls of all examples.", metavar="N", min=1)] = None
    total_tokens: Annotated[int | None, option(WHOLE, "Tokens of all examples.", metavar="N", min=1)] = None
    total_cost: Annotated[float | None, ceiling(WHOLE, "Dollars of all examples.", metavar="X")] = None
    total_seconds: Annotated[float | None, ceiling(WHOLE, "Wall time.", metavar="S")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalOptions(MeasureOptions):
    """What `thoughtree eval` was asked for."""

    workers: Annotated[int | None, option(DATA, WORKERS, metavar="N", min=1, max=MOST_WORKERS)] = None
    resume: Annotated[
        Path | None,
        option(DATA, "Keep what is finished here; a run that was killed goes on from it, unpaid.", metavar="FOLDER"),
    ] = None
    max_errors: Annotated[
        int | None, option(DATA, "Failed examples that stop the run. Default: 10.", metavar="N", min=1)
    ] = None
    rows: Annotated[int | None, option(OUTPUT, "Examples that the table shows. Default: 20.", metavar="N", min=0)] = (
        None
    )
    csv: Annotated[Path | None, option(OUTPUT, "A row an example, with its spending.", metavar="FILE")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions(DataOptions):
    """What `thoughtree tune` was asked for."""

    valset: Annotated[
        str | None,
        option(DATA, "Fresh examples for the end. Default: 40 % of DATA is kept for that.", metavar="DATA"),
    ] = None

    auto: Annotated[
        Literal["light", "medium", "heavy"] | None,
        option(STUDY, "Settings that are tried: 12, 30 or 80. Default: light."),
    ] = None
    trials: Annotated[int | None, option(STUDY, "Settings that are tried, in place of --auto.", metavar="N", min=1)] = (
        None
    )
    space: Annotated[
        list[str] | None,
        option(
            STUDY,
            "Narrow, fix or add a knob: controller.width=1..8, controller=beam,dfs, samples=1. Repeatable.",
            metavar="NAME=RANGE",
        ),
    ] = None
    cost: Annotated[
        Literal["calls", "tokens", "dollars", "seconds"] | None,
        option(STUDY, "What a setting costs an example. Default: calls."),
    ] = None
    cost_limit: Annotated[
        float | None, ceiling(STUDY, "The most that a setting may cost; then the score alone counts.", metavar="X")
    ] = None
    pick: Annotated[
        Literal["best", "knee", "cheapest"] | None,
        option(
            STUDY,
            "Of the settings that no other beats: the highest score (best, the default), the one where more spending "
            "begins to bring less (knee), or the cheapest within --tolerance of the best (cheapest).",
        ),
    ] = None
    tolerance: Annotated[
        float | None, option(STUDY, "A difference in score that is none. Default: 0.02.", metavar="X", min=0)
    ] = None
    study_calls: Annotated[
        int | None, option(STUDY, "LM calls of the whole study, hard, over all its workers.", metavar="N", min=1)
    ] = None
    study_tokens: Annotated[int | None, option(STUDY, "Tokens of the whole study.", metavar="N", min=1)] = None
    study_cost: Annotated[float | None, ceiling(STUDY, "Dollars of the whole study.", metavar="X")] = None
    study_seconds: Annotated[
        float | None, ceiling(STUDY, "Wall time of the whole study, its processes' start included.", metavar="S")
    ] = None
    study: Annotated[
        str | None,
        option(STUDY, "The study's name: whoever gives the same, and the same place, works at it.", metavar="NAME"),
    ] = None
    storage: Annotated[
        str | None,
        option(
            STUDY,
            "Where the study is kept: a journal file, a database such as sqlite:///study.db, grpc://host:port. "
            "Default: a file in --log-dir.",
            metavar="PLACE",
        ),
    ] = None
    log_dir: Annotated[
        Path | None,
        option(
            STUDY,
            "The folder of the study, the replies that it paid for, and the report. Repeated after a kill, the same "
            "command goes on from it. Default: the study's name.",
            metavar="FOLDER",
        ),
    ] = None
    workers: Annotated[
        int | None, option(STUDY, "Processes that try settings. Default: 1.", metavar="N", min=1, max=MOST_WORKERS)
    ] = None
    race_only: Annotated[
        bool,
        option(STUDY, "Try settings for a study until its trials are up, and leave the end to another.", "--race-only"),
    ] = False
    estimate: Annotated[
        bool, option(STUDY, "Say the most LM calls and dollars that it can take, and do nothing.", "--estimate")
    ] = False

    save: Annotated[Path | None, option(OUTPUT, "The tuned program, for --load.", metavar="FILE")] = None
    plots: Annotated[
        Path | None, option(OUTPUT, "Front, history and importances, as pages of their own.", metavar="FOLDER")
    ] = None

    @property
    def study_folder(self) -> Path:
        return self.log_dir or Path(self.study or STUDY_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions(MeasureOptions):
    """What `thoughtree compare` was asked for."""

    workers: Annotated[int | None, option(DATA, WORKERS, metavar="N", min=1, max=MOST_WORKERS)] = None
    resume: Annotated[
        Path | None,
        option(DATA, "Keep what is finished here; a run that was killed goes on from it, unpaid.", metavar="FOLDER"),
    ] = None
    other: Annotated[
        list[str] | None,
        option(
            PROBLEM,
            "A further program on the same data: MODULE:NAME, or a file that `save` or `tune` wrote. Repeatable.",
            metavar="PROGRAM",
        ),
    ] = None
    match: Annotated[
        Literal["calls", "tokens", "dollars"] | None,
        option(DATA, "In what the baselines spend as much as the program. Default: calls."),
    ] = None
    baselines: Annotated[
        str | None,
        option(
            DATA,
            "Only these: direct answer, chain of thought, self-consistency, BestOfN, Refine.",
            metavar="NAME,NAME",
        ),
    ] = None
    signature: Annotated[
        str | None,
        option(
            DATA,
            "What the baselines answer, such as 'question -> answer', where --program is a pipeline whose search "
            "answers another question.",
            metavar="TEXT",
        ),
    ] = None
    max_errors: Annotated[
        int | None, option(DATA, "Failed examples that stop the run. Default: 10.", metavar="N", min=1)
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateOptions(MeasureOptions):
    """What `thoughtree calibrate` was asked for."""

    workers: Annotated[int | None, option(DATA, WORKERS, metavar="N", min=1, max=MOST_WORKERS)] = None
    resume: Annotated[
        Path | None,
        option(DATA, "Keep the replies here; a run that was killed goes on from them, unpaid.", metavar="FOLDER"),
    ] = None
    cheaper: Annotated[
        str | None,
        option(MODEL, "A cheaper model, asked for some of the same ratings: would it do as well?", metavar="NAME"),
    ] = None
    prune: Annotated[
        bool, option(OUTPUT, "Whether the calibrated program prunes by what ratings are worth. Default: yes.")
    ] = True
    max_errors: Annotated[int | None, option(DATA, "Failed examples that stop the run.", metavar="N", min=1)] = None
    save: Annotated[Path | None, option(OUTPUT, "The calibrated program, for --load.", metavar="FILE")] = None
