"""`Evaluate`: dspy.Evaluate's call shape, with every example run once and every failure kept apart from the scores."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.callback import with_callbacks

from . import files
from .evaluation import EvaluationInterrupted, EvaluationResult
from .run import Run
from .scoring import Scorer
from .shared_run import SharedRun
from .workers import as_tasks, in_threads

logger = logging.getLogger(__name__)


class Evaluate(dspy.Evaluate):
    """Scores a program on a dev set, several examples at a time.

        evaluate = Evaluate(devset=devset, metric=thoughtree.solved, num_threads=16)
        result = evaluate(program)            # or: await evaluate.acall(program)
        print(result.score, result.interval)  # percent
        print(result.against(evaluate(other)).summary())

    devset: dspy.Examples with their inputs set. metric: any of DSPy's kinds: a function or module of (example,
    prediction), perhaps with a trace, that returns a bool, a number, or an object with `score`; GEPA's too.
    num_threads: examples in flight (None: DSPy's setting, 8); a search has calls in flight of its own.
    max_errors: failures that stop the run (None: DSPy's setting, 10); a wrong key or an empty account stops at once.
    failure_score: what a failed example counts as; None leaves it out of the score. provide_traceback: log
    tracebacks, and keep them in the outcomes. save_as_csv, save_as_json: files to write, also when the run is stopped.
    resume: a folder in which each finished example is kept, and of half-done ones the search's journal or the LMs'
    replies, so that the same evaluation goes on after a kill without paying again. A pipeline that holds LMs (by
    `set_lm`, or as attributes of its modules) is run as a copy then, whose LMs keep theirs. Predictions that were read
    from it carry no search. A SharedRun: several processes share the examples out among them. history: let DSPy keep
    the history of all calls, too.

    Works for any program: searches, modules with searches inside, other modules, functions. Calls of a module whose
    predictors were given LMs of their own (`set_lm`) are counted with their tokens, and without their dollars.
    """

    def __init__(
        self,
        *,
        devset: Iterable[dspy.Example],
        metric: Callable[..., Any] | None = None,
        num_threads: int | None = None,
        display_progress: bool = False,
        display_table: bool | int = False,
        max_errors: int | None = None,
        provide_traceback: bool | None = None,
        failure_score: float | None = None,
        save_as_csv: str | Path | None = None,
        save_as_json: str | Path | None = None,
        resume: str | Path | SharedRun | None = None,
        history: bool = False,
    ) -> None:
        ours: dict[str, Any] = {
            "devset": list(devset) if isinstance(devset, Iterator) else devset,  # read once, for all calls
            "metric": metric,
            "num_threads": num_threads,
            "display_progress": display_progress,
            "display_table": display_table,
            "max_errors": max_errors,
            "provide_traceback": provide_traceback,
            "save_as_csv": save_as_csv,
            "save_as_json": save_as_json,
        }
        super().__init__(**ours)
        self.failure_score = failure_score
        self.resume, self.history = resume, history
        if failure_score is not None and not isfinite(failure_score):
            raise ValueError(f"failure_score={failure_score!r}: must be finite, or None to leave failures out")

    @with_callbacks
    def __call__(
        self,
        program: Any,
        metric: Callable[..., Any] | None = None,
        devset: Sequence[dspy.Example] | None = None,
        num_threads: int | None = None,
        display_progress: bool | None = None,
        display_table: bool | int | None = None,
        callback_metadata: dict[str, Any] | None = None,
        save_as_csv: str | Path | None = None,
        save_as_json: str | Path | None = None,
        resume: str | Path | SharedRun | None = None,
    ) -> EvaluationResult:
        """The result. What is given here goes before what the constructor was given. callback_metadata: for callbacks.

        Raises EvaluationStopped after too many failures, or where a limit around it was reached; EvaluationInterrupted,
        a KeyboardInterrupt, on Ctrl-C. Both carry the result so far. LogError for a `resume` folder of another
        evaluation, ValueError or TypeError for arguments that cannot be right.
        """
        chosen = self._chosen(metric, devset, num_threads, display_progress, display_table, save_as_csv, save_as_json)
        if _only_async(program):
            _refuse_running_loop(program)
            return asyncio.run(self._arun(program, resume=resume, **chosen))
        return self._run(program, resume=resume, **chosen)

    @with_callbacks
    async def acall(
        self,
        program: Any,
        metric: Callable[..., Any] | None = None,
        devset: Sequence[dspy.Example] | None = None,
        num_threads: int | None = None,
        display_progress: bool | None = None,
        display_table: bool | int | None = None,
        callback_metadata: dict[str, Any] | None = None,
        save_as_csv: str | Path | None = None,
        save_as_json: str | Path | None = None,
        resume: str | Path | SharedRun | None = None,
    ) -> EvaluationResult:
        """The same on the running event loop: by the program's `acall`, `num_threads` examples at a time."""
        chosen = self._chosen(metric, devset, num_threads, display_progress, display_table, save_as_csv, save_as_json)
        return await self._arun(program, resume=resume, **chosen)

    def _chosen(self, *given: Any) -> dict[str, Any]:
        """The call's settings, checked: what is wrong is said before anything is paid for."""
        names = ("metric", "devset", "num_threads", "display_progress", "display_table", "save_as_csv", "save_as_json")
        chosen = {n: getattr(self, n) if v is None else v for n, v in zip(names, given, strict=True)}
        chosen["devset"] = list(chosen["devset"] or ())
        _check_devset(chosen["devset"])
        if chosen["metric"] is None:
            raise ValueError("metric=None: give a function of (example, prediction), such as thoughtree.solved")
        for name in ("save_as_csv", "save_as_json"):
            files.check(chosen[name], name)
        threads = dspy.settings.num_threads if chosen["num_threads"] is None else chosen["num_threads"]
        if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
            raise ValueError(f"num_threads={threads!r}: must be an integer of at least 1")
        if self.max_errors is not None and (not isinstance(self.max_errors, int) or self.max_errors < 1):
            raise ValueError(f"max_errors={self.max_errors!r}: must be an integer of at least 1, or None")
        return chosen | {"num_threads": threads}

    def _start(self, program: Any, resume: str | Path | SharedRun | None, chosen: dict[str, Any]) -> Run:
        max_errors = dspy.settings.max_errors if self.max_errors is None else self.max_errors
        details = dspy.settings.provide_traceback if self.provide_traceback is None else self.provide_traceback
        return Run(
            program,
            Scorer(chosen["metric"]),
            chosen["devset"],
            max_errors=max_errors,
            failure_score=self.failure_score,
            details=bool(details),
            history=self.history,
            progress=bool(chosen["display_progress"]),
            resume=self.resume if resume is None else resume,
        )

    def _run(self, program: Any, *, resume: str | Path | SharedRun | None, **chosen: Any) -> EvaluationResult:
        run = self._start(program, resume, chosen)
        try:
            with run, run.in_time():
                for jobs in run.rounds():
                    in_threads(jobs, run.one, chosen["num_threads"], cut=True)
                    time.sleep(run.wait)
        except KeyboardInterrupt as interrupt:
            result = run.result()
            self._save(result, chosen)
            raise EvaluationInterrupted(result) from interrupt
        return self._end(run, chosen)

    async def _arun(self, program: Any, *, resume: str | Path | SharedRun | None, **chosen: Any) -> EvaluationResult:
        run = self._start(program, resume, chosen)
        with run, run.in_time():
            for jobs in run.rounds():
                await as_tasks(jobs, run.aone, chosen["num_threads"])
                await asyncio.sleep(run.wait)
        return self._end(run, chosen)

    def _end(self, run: Run, chosen: dict[str, Any]) -> EvaluationResult:
        result = run.result()
        self._save(result, chosen)
        run.verdict(result)
        level = logging.WARNING if result.errors else logging.INFO
        if logger.isEnabledFor(level):  # a bootstrap takes its time
            logger.log(level, "%s", result.summary())
        if chosen["display_table"]:
            from rich.console import Console

            rows = None if chosen["display_table"] is True else int(chosen["display_table"])
            Console().print(result.table(rows))
        return result

    def _save(self, result: EvaluationResult, chosen: dict[str, Any]) -> None:
        for kind in ("csv", "json"):
            if path := chosen[f"save_as_{kind}"]:
                files.save(result, Path(path), kind)


def _check_devset(devset: Sequence[dspy.Example]) -> None:
    if not devset:
        raise ValueError(f"devset={devset!r}: must hold at least one example")
    for index, example in enumerate(devset):
        if not isinstance(example, dspy.Example):
            raise TypeError(f"devset[{index}] is a {type(example).__name__}: must be a dspy.Example")
        if getattr(example, "_input_keys", None) is None:
            raise ValueError(f"devset[{index}] does not say which fields are inputs: call .with_inputs(...) on it")


def _refuse_running_loop(program: Any) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    kind = type(program).__name__
    raise RuntimeError(f"{kind} has only an aforward, and an event loop runs here: await evaluate.acall(program)")


def _only_async(program: Any) -> bool:
    kind = type(program)  # asking the program itself for its `forward` makes DSPy log a warning
    return isinstance(program, dspy.Module) and not hasattr(kind, "forward") and hasattr(kind, "aforward")
