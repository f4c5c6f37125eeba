"""A program run on examples for its traces: what each search inside it asked, was told, and came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import dspy

from ..modules.calls.failures import describe
from ..modules.calls.limit import Refusal, active
from ..modules.program import Program
from ..modules.trace import Entry, Trace, credit_of
from ..search.budget import Ended
from .report import Progress
from .running import CEILINGS, Lost
from .scoring import Scorer
from .seen import Seen
from .space import programs_in
from .workers import in_threads


@dataclass(slots=True, eq=False)
class Gathered:
    """One run on one example.

    accepted: what the metric says of the prediction. searches: those that were made. others: calls of predictors
    outside any search. error: one line, where the program, its search or the metric failed. refused: by a limit around
    all of them, which says nothing of this one.
    """

    example: dspy.Example
    accepted: bool = False
    searches: list[Seen] = field(default_factory=list[Seen])
    others: list[Entry] = field(default_factory=list[Entry])
    error: str | None = None
    refused: bool = False


class NoRuns(ValueError):
    """Every run failed. what: that nothing was. refused: by a limit around all of them, each."""

    def __init__(self, runs: Sequence[Gathered], what: str) -> None:
        super().__init__(f"nothing was {what}: all of {len(runs)} runs failed, the first by {runs[0].error}")
        self.refused = all(run.refused for run in runs)


@dataclass(slots=True)
class Gatherer:
    """threshold: the score from which a prediction is accepted; None: above 0. max_errors: the runs that may fail."""

    program: dspy.Module
    scorer: Scorer
    threads: int
    threshold: float | None = None
    proposals_are_all: bool = False
    max_errors: int = 10
    display_progress: bool = False
    errors: int = 0
    _lock: Lock = field(default_factory=Lock)

    def run(self, examples: Sequence[dspy.Example], round: int = 0) -> list[Gathered]:
        """Each example once, in their order. round: from 1 on, samples other than those before, at temperature 1.

        Raises the error of the run that was one too many.
        """
        found = [Gathered(example) for example in examples]
        with Progress(len(found), self.display_progress) as progress:

            def gather(one: Gathered) -> None:
                self._one(one, round)
                with self._lock:
                    calls = sum(seen.result.spent.calls for seen in one.searches)
                    progress.count(float(one.accepted) if one.error is None else None, calls)

            in_threads(found, gather, self.threads)
        return found

    def _one(self, one: Gathered, round: int) -> None:
        traces: list[Trace] = []
        try:
            with dspy.context(trace=[], search_traces=traces, **_other(round)):
                prediction = self.program(**one.example.inputs())
                entries: list[Entry] = list(dspy.settings.trace)
            for trace in traces:
                result = trace.result
                if result is not None and result.ended is Ended.ERROR and not result.solved:
                    raise Lost(result.first_error or "the search ended with an error")
                if result is not None and result.ended in CEILINGS:
                    for purse in active():
                        purse.check(1)
            score = self.scorer.read(self.scorer.call(one.example, prediction)).value
        except Exception as error:
            one.error = str(error) if isinstance(error, Lost) else describe(error)
            one.refused = isinstance(error, Refusal)
            if one.refused:
                return
            with self._lock:
                self.errors += 1
                if self.errors > self.max_errors:
                    raise
            return
        one.accepted = accepts(score, self.threshold)
        # Of several attempts, only those that were taken come through to the outer trace.
        taken = {id(credit.trace) for *_, made in entries if (credit := credit_of(made)) is not None}
        for trace in traces:
            if (path := self._path(trace.program)) is not None:
                said = self._said(one.accepted, id(trace) in taken)
                one.searches.append(Seen.of(trace, accepted=said, proposals_are_all=self.proposals_are_all, path=path))
        one.others = [entry for entry in entries if credit_of(entry[2]) is None]

    def _said(self, accepted: bool, taken: bool) -> bool | None:
        """What the metric says of one search. Of a pipeline that is wrong, nothing: the search may have been right."""
        if isinstance(self.program, Program):
            return accepted
        return True if accepted and taken else None

    def _path(self, program: Program) -> str | None:
        """Where it stands in the module that is run; of a copy that some wrapper runs, where its original does."""
        found = dict(programs_in(self.program))
        for path, inner in found.items():
            if inner is program:
                return path
        names = [name for name, _ in program.named_predictors()]
        alike = [
            path
            for path, inner in found.items()
            if type(inner) is type(program) and [name for name, _ in inner.named_predictors()] == names
        ]
        return alike[0] if len(alike) == 1 else None


def accepts(score: float, threshold: float | None) -> bool:
    """Whether an answer of this score is right: from the threshold on; without one, above 0."""
    return score > 0 if threshold is None else score >= threshold


def _other(round: int) -> dict[str, Any]:
    lm = dspy.settings.lm
    return {"lm": lm.copy(rollout_id=round, temperature=1.0)} if round and lm is not None else {}
