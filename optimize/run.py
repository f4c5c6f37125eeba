"""One evaluation while it runs: which examples are left, what became of the others, and whether to go on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dspy

from ..modules.calls.limit import limit
from . import identity
from .evaluation import EvaluationResult, EvaluationStopped
from .fields import keys_of
from .log import Log
from .metering import Metering
from .outcome import Outcome
from .report import Progress
from .running import Runner
from .scoring import Scorer

Job = tuple[int, dspy.Example, str]


class Run:
    """A context manager. `jobs` are the examples left; `one` or `aone` runs one, `add` counts what became of it.

    Used by the thread that started it, but for `one`, which any thread may call.
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
        resume: str | Path | None,
    ) -> None:
        self.scorer, self.devset = scorer, list(devset)
        self.max_errors, self.failure_score = max_errors, failure_score
        self.outcomes: list[Outcome] = []
        self.failed = 0
        self.why: str | None = None  # it was stopped
        self.began = time.monotonic()
        self.purse = limit()  # without a ceiling: what ends all searches inside, when this run ends early
        keys = keys_of(self.devset)
        self.log = None
        if resume is not None:
            self.log = Log(resume, identity.describe(program, scorer, self.devset, keys))
        self.runner = Runner(
            program, scorer, Metering.here(history), None if self.log is None else self.log.journals, details
        )
        self.progress = Progress(len(self.devset), progress)
        self.jobs: list[Job] = list(zip(range(len(keys)), self.devset, keys, strict=True))

    def __enter__(self) -> Run:
        self.purse.__enter__()
        self.progress.__enter__()
        if self.log is not None:
            self.jobs = [job for job in self.jobs if not self._known(*job)]
        return self

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None:
            self.purse.stop()
        self.progress.__exit__(*error)
        self.purse.__exit__(*error)
        if self.log is not None:
            self.log.close()

    def _known(self, index: int, example: dspy.Example, key: str) -> bool:
        found = None if self.log is None else self.log.read(key, index, example)
        if found is not None:
            self.add(found)
        return found is not None

    def one(self, job: Job) -> Outcome | None:
        """None once the run was stopped."""
        return None if self.why is not None else self._logged(job, self.runner.run(*job))

    async def aone(self, job: Job) -> Outcome | None:
        return None if self.why is not None else self._logged(job, await self.runner.arun(*job))

    def _logged(self, job: Job, outcome: Outcome) -> Outcome:
        """On disk before it is counted."""
        if self.log is not None:
            self.log.write(job[2], outcome)
        return outcome

    def add(self, outcome: Outcome | None) -> None:
        """Count an outcome. A failure may stop the run: nothing more begins, and what is in flight may end."""
        if outcome is None:
            return
        if outcome.at == "limit":
            self._stop(f"a limit around the evaluation was reached: {outcome.error}")
            return  # as if it had not been run: its score would be the limit's doing
        self.outcomes.append(outcome)
        self.progress.add(outcome)
        if outcome.score is not None:
            return
        self.failed += 1
        if outcome.fatal:
            self._stop(f"no other example would fare better: {outcome.error}")
            self.purse.stop()
        elif self.failed >= self.max_errors:
            self._stop(f"{self.failed} examples failed (max_errors={self.max_errors}), the last by {outcome.error}")
            self.purse.stop()

    def _stop(self, why: str) -> None:
        self.why = self.why or why

    def result(self) -> EvaluationResult:
        """What was found until now."""
        return EvaluationResult(
            self.outcomes,
            metric=self.scorer.name,
            seconds=time.monotonic() - self.began,
            failure_score=self.failure_score,
            not_run=len(self.devset) - len(self.outcomes),
        )

    def verdict(self, result: EvaluationResult) -> None:
        """Raise EvaluationStopped where the run was, or where there is no score."""
        if self.why is not None:
            raise EvaluationStopped(self.why, result)
        if result.score is None:
            raise EvaluationStopped(f"every example failed, the first by {result.errors[0].error}", result)
