"""One evaluation while it runs: which examples are left, what became of the others, and whether to go on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dspy

from ..modules.calls.limit import limit
from ..modules.program import Program
from ..search.protocol import FREE
from ..search.visible import visible
from . import identity
from .evaluation import EvaluationResult, EvaluationStopped
from .fields import keys_of
from .log import Log
from .log_lines import LogError
from .metering import Metering, Tally
from .outcome import Outcome
from .report import Progress
from .running import Runner
from .scoring import Scorer
from .shared_run import SharedRun
from .workers import LOOK_UP, TimeIsUp

logger = logging.getLogger(__name__)

REPAINT = 0.5  # seconds
Job = tuple[int, dspy.Example, str]


class Run:
    """A context manager. `jobs` are the examples left; `one` or `aone` runs one, in whichever thread.

    A failure may stop the run: no further example begins then, and what is in flight may end.
    """

    def __init__(
        self,
        program: Any,
        scorer: Scorer,
        devset: Sequence[dspy.Example],
        *,
        max_errors: int,
        failure_score: float | None,
        details: bool,
        history: bool,
        progress: bool,
        resume: str | Path | SharedRun | None,
    ) -> None:
        self.scorer, self.devset = scorer, list(devset)
        self.max_errors, self.failure_score = max_errors, failure_score
        self.outcomes: list[Outcome] = []
        self.failures = 0
        self._lock = threading.Lock()
        self.why: str | None = None  # it was stopped
        self.began = time.monotonic()
        self.purse = limit()  # without a ceiling: what ends all searches inside, when this run ends early
        self.log = None
        keys = [str(index) for index in range(len(self.devset))]
        if resume is not None:
            keys = keys_of(self.devset)
            self.log = Log(resume, identity.describe(program, scorer, self.devset, keys))
        journals = None if self.log is None else self.log.journals
        keeps = journals is not None and not isinstance(program, Program)  # a search has its journal
        self.runner = Runner(program, scorer, Metering.here(history, keeps), journals, details)
        self.progress = Progress(len(self.devset), progress)
        self.jobs: dict[str, Job] = {key: (index, self.devset[index], key) for index, key in enumerate(keys)}  # left
        self._half: dict[str, Tally] = {}  # of examples that were begun, and are not counted
        self._idle = False
        self._over = threading.Event()

    def __enter__(self) -> Run:
        self.purse.__enter__()
        self.progress.__enter__()
        if self.log is not None:
            self._take_in()
            if self.log.shared is not None and self.progress.shown:
                threading.Thread(target=self._watch, name="thoughtree-progress", daemon=True).start()
        return self

    def _watch(self) -> None:
        """Show what other processes have done, also while all threads of this one are busy."""
        while not self._over.wait(REPAINT):
            try:
                self._take_in()
            except LogError as error:
                self.why = self.why or str(error)
                return

    def rounds(self) -> Iterator[list[Job]]:
        """Jobs to be run. Those that another process is at may be left, and come again until somebody has done them."""
        while self.jobs and self.why is None:
            self._idle = True
            yield list(self.jobs.values())
            if self.log is None or self.log.shared is None:
                return
            self._take_in()

    @contextmanager
    def in_time(self) -> Iterator[None]:
        """What hangs as the time of a limit is up ends the run, as what is refused for it does."""
        try:
            yield
        except TimeIsUp:
            self.why = self.why or "a limit around the evaluation was reached: its time is over"
            self.purse.stop()

    @property
    def wait(self) -> float:
        """Seconds to wait after a round in which others were at all that is left."""
        return LOOK_UP if self._idle and self.jobs else 0.0

    def __exit__(self, *error: Any) -> None:
        self._over.set()
        if error[0] is not None:
            self.why = self.why or "interrupted"
            self.purse.stop()
        self.progress.__exit__(*error)
        self.purse.__exit__(*error)
        if self.log is not None:
            if self.log.shared is not None and not isinstance(error[1], LogError):
                self._take_in()
            with self._lock:
                self.log.close()

    def one(self, job: Job) -> None:
        """Nothing once the run was stopped, nor where another process is at this job, or has done it."""
        with self._mine(job) as mine:
            if mine:
                self._ended(job, self.runner.run(*job, self._begun(job)))

    async def aone(self, job: Job) -> None:
        with self._mine(job) as mine:
            if mine:
                self._ended(job, await self.runner.arun(*job, self._begun(job)))

    @contextmanager
    def _mine(self, job: Job) -> Iterator[bool]:
        key = job[2]
        if self.log is None or self.log.shared is None:
            yield self.why is None
            return
        with self.log.claims.claim(key) as claimed:
            if claimed and self.why is None:
                self._take_in()  # only now nobody else can be at it
            yield claimed and self.why is None and key in self.jobs

    def _take_in(self) -> None:
        """Count what is in the log by now, each example once. Looked at and counted at once, for all threads."""
        assert self.log is not None
        with self._lock:
            for key in self.log.look() if not self.log.closed else ():
                if key not in self.jobs:
                    continue
                index, example, _ = self.jobs[key]
                found = self.log.read(key, index, example)
                assert found is not None
                self._done(key, found)

    def _ended(self, job: Job, outcome: Outcome) -> None:
        """On disk before it is counted; counted before the thread that ran it begins anything else."""
        self._idle = False
        if outcome.details is not None:
            logger.error("example %d: the %s failed\n%s", outcome.index, outcome.at, visible(outcome.details))
        if self.log is not None:
            self.log.write(job[2], outcome)
        with self._lock:
            self._done(job[2], outcome)

    def _done(self, key: str, outcome: Outcome) -> None:
        if self.jobs.pop(key, None) is None:
            return
        if outcome.score is None:
            self._failed(outcome)
        if outcome.at != "limit":  # else as if it had not been run: its score would be the limit's doing
            self._half.pop(key, None)
            self._count(outcome)

    def _begun(self, job: Job) -> Tally:
        tally = Tally()
        with self._lock:
            self._half[job[2]] = tally
        return tally

    def _count(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.progress.add(outcome)

    def _failed(self, outcome: Outcome) -> None:
        if outcome.at == "limit":
            self.why = self.why or f"a limit around the evaluation was reached: {outcome.error}"
            return
        self.failures += 1
        if outcome.fatal:
            why = f"no other example would fare better: {outcome.error}"
        elif self.failures >= self.max_errors:
            why = f"{self.failures} examples failed (max_errors={self.max_errors}), the last by {outcome.error}"
        else:
            return
        self.why = self.why or why
        self.purse.stop()

    def result(self) -> EvaluationResult:
        """What was found until now."""
        with self._lock:
            outcomes, half = list(self.outcomes), list(self._half.values())
        return EvaluationResult(
            outcomes,
            metric=self.scorer.name,
            seconds=time.monotonic() - self.began,
            failure_score=self.failure_score,
            not_run=len(self.devset) - len(outcomes),
            unfinished=sum((tally.usage() for tally in half), FREE),
            unpriced=sum(tally.unpriced for tally in half),
        )

    def verdict(self, result: EvaluationResult) -> None:
        """Raise EvaluationStopped where the run was, or where there is no score."""
        if self.why is not None:
            raise EvaluationStopped(self.why, result)
        if result.score is None:
            raise EvaluationStopped(f"every example failed, the first by {result.errors[0].error}", result)
