"""One example: the program is run on it once, and the metric is asked once."""

from __future__ import annotations

import asyncio
import inspect
import time
import traceback
from asyncio import CancelledError
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import dspy

from ..modules.background import in_thread
from ..modules.calls.failures import FATAL, describe
from ..modules.calls.limit import Refusal, active
from ..modules.calls.redaction import redact, secrets_of
from ..modules.prediction import SearchPrediction
from ..modules.program import Program
from ..modules.roles import lms_of
from ..search import SearchResult
from ..search.budget import Ended
from .metering import Metering, Tally
from .outcome import Outcome
from .own_lms import own_lms, with_own_lms
from .replies import Replies
from .scoring import Scorer

CEILINGS = frozenset({Ended.CALLS, Ended.TOKENS, Ended.COST, Ended.SECONDS, Ended.STOPPED})  # a limit's, or its own


class Lost(RuntimeError):
    """A search that could not be made: its calls failed, and that says nothing of the program. The first error."""


@dataclass(frozen=True, slots=True)
class Runner:
    """How the examples of one evaluation are run.

    journals: the folder for what half-done examples go on from: the journals of searches, a folder an example, and
    for other programs the replies of their calls, a file an example. None: neither. details: keep the tracebacks of
    errors.
    """

    program: Any
    scorer: Scorer
    metering: Metering
    journals: Path | None = None
    details: bool = False
    nested: bool = field(init=False)  # whether the program holds searches
    secrets: set[str] = field(init=False, repr=False)  # never to appear in what is told

    def __post_init__(self) -> None:
        if self.metering.keeps and isinstance(self.program, dspy.Module) and any(own_lms(self.program)):
            object.__setattr__(self, "program", with_own_lms(self.program, self.metering.metered))
        object.__setattr__(self, "nested", _searches_inside(self.program))
        object.__setattr__(self, "secrets", _keys(self.program) | _keys(self.scorer.metric))

    def run(self, index: int, example: dspy.Example, key: str, tally: Tally | None = None) -> Outcome:
        """With the program's and the metric's synchronous forms. Exceptions become the outcome's error.

        tally: to count the program's calls on, for who wants to know of them before it ends.
        """
        outcome, tally, began = Outcome(index, example), tally or Tally(), time.monotonic()
        replies = None
        try:
            replies = self._replies(key)
            with self.metering.around(self.program, tally, replies):
                prediction = self.program(**self._inputs(example, key))
            outcome = self._ran(outcome, prediction, tally, time.monotonic() - began)
        except (Exception, CancelledError) as error:  # nobody cancels a thread: something that it waited for was
            return self._lost(outcome, "program", error, tally, time.monotonic() - began)
        judging = Tally()
        try:
            with self.metering.around(self.scorer.metric, judging, replies):
                said = self.scorer.call(example, prediction)
            return self._judged(outcome, said, judging)
        except (Exception, CancelledError) as error:
            return self._lost(outcome, "metric", error, judging)

    async def arun(self, index: int, example: dspy.Example, key: str, tally: Tally | None = None) -> Outcome:
        """With `acall` and, where the metric is async, awaiting it."""
        outcome, tally, began = Outcome(index, example), tally or Tally(), time.monotonic()
        replies = None
        try:
            replies = self._replies(key)
            with self.metering.around(self.program, tally, replies):
                prediction = await self._acalled(self._inputs(example, key))
            outcome = self._ran(outcome, prediction, tally, time.monotonic() - began)
        except (Exception, CancelledError) as error:
            if _cancelled(error):
                raise
            return self._lost(outcome, "program", error, tally, time.monotonic() - began)
        judging = Tally()
        try:
            with self.metering.around(self.scorer.metric, judging, replies):
                said = self.scorer.call(example, prediction)
                said = await said if inspect.isawaitable(said) else said
            return self._judged(outcome, said, judging)
        except (Exception, CancelledError) as error:
            if _cancelled(error):
                raise
            return self._lost(outcome, "metric", error, judging)

    def _replies(self, key: str) -> Replies | None:
        """Of one example: its replies are its own, as equal examples are each asked."""
        return Replies(self.journals / f"{key}.jsonl") if self.metering.keeps and self.journals is not None else None

    async def _acalled(self, inputs: dict[str, Any]) -> Any:
        """By `acall`; a program that has no asynchronous form in a thread of its own."""
        kind = type(self.program)
        if not isinstance(self.program, dspy.Module):
            if inspect.iscoroutinefunction(self.program) or inspect.iscoroutinefunction(kind.__call__):
                return await self.program(**inputs)
        elif hasattr(kind, "aforward"):
            return await self.program.acall(**inputs)
        return await in_thread(lambda: self.program(**inputs))

    def _inputs(self, example: dspy.Example, key: str) -> dict[str, Any]:
        inputs = dict(example.inputs().items())
        if not isinstance(self.program, Program):
            return inputs
        config = {}
        if self.journals is not None:
            config["journal"] = f"{self.journals / key}/"
        if self.program.plan.on_failure == "raise":
            config["on_failure"] = "best"  # that it found nothing is a score, and no failure
        return {**inputs, "config": config} if config else inputs

    def _ran(self, outcome: Outcome, prediction: Any, tally: Tally, seconds: float) -> Outcome:
        outcome = replace(outcome, prediction=prediction, spent=tally.usage(), unpriced=tally.unpriced, seconds=seconds)
        search = search_of(prediction)
        if search is not None:
            outcome = replace(outcome, solved=search.solved, faults=search.failed)
            if isinstance(self.program, Program):  # and no pipeline, of which it is a part
                # Its own meter knows more: a search that went on from a journal had spent before.
                outcome = replace(outcome, spent=search.spent)
            _check(search)
        elif self.nested:
            for purse in active():
                purse.check(1)  # what a search inside was refused, the pipeline need not tell
        return outcome

    def _judged(self, outcome: Outcome, said: Any, judging: Tally) -> Outcome:
        score = self.scorer.read(said)
        feedback = None if score.feedback is None else redact(score.feedback, self.secrets)
        return replace(outcome, score=score.value, feedback=feedback, judged=judging.usage())

    def _lost(
        self, outcome: Outcome, at: str, error: BaseException, tally: Tally, seconds: float | None = None
    ) -> Outcome:
        causes, secrets = list(_causes(error)), tally.secrets | self.secrets
        refused = any(isinstance(cause, Refusal) for cause in causes)
        told = replace(
            outcome,
            error=describe(error, secrets) if not isinstance(error, Lost) else str(error),
            at="limit" if refused else at,
            details=redact("".join(traceback.format_exception(error)), secrets) if self.details else None,
            fatal=any(map(_hopeless, causes)),
        )
        if at == "metric":
            return replace(told, judged=tally.usage())
        return replace(told, spent=tally.usage(), unpriced=tally.unpriced, seconds=seconds or 0.0)


def search_of(prediction: Any) -> SearchResult[Any, Any] | None:
    """The search behind a prediction, where there is one."""
    return getattr(prediction, "_search", None) if isinstance(prediction, SearchPrediction) else None


def _check(search: SearchResult[Any, Any]) -> None:
    """Raise for a search that was kept from being made: by a ceiling around it, or by failing calls."""
    if search.ended in CEILINGS:
        for purse in active():
            purse.check(1)
    if search.ended is Ended.ERROR and not search.solved:
        raise Lost(search.first_error or "the search ended with an error")


def _hopeless(cause: BaseException) -> bool:
    """Whether no other call would get through either. A search tells its errors by name."""
    named = isinstance(cause, Lost) and str(cause).split(":")[0] in _names(FATAL)
    return named or isinstance(cause, FATAL)


def _names(kinds: Iterable[type]) -> set[str]:
    """Of these classes and of all that are derived from them, such as that of a missing key."""
    return {name for kind in kinds for name in ({kind.__name__} | _names(kind.__subclasses__()))}


def _searches_inside(program: Any) -> bool:
    return isinstance(program, dspy.Module) and any(
        isinstance(module, Program) for _, module in program.named_sub_modules()
    )


def _keys(program: Any) -> set[str]:
    """The keys of all LMs that it may call, as far as is known before."""
    lms = [dspy.settings.lm]
    if isinstance(program, dspy.Module):
        lms += [predictor.lm for _, predictor in program.named_predictors()]
        searches = [module for _, module in program.named_sub_modules() if isinstance(module, Program)]
        lms += [lm for search in searches for lm in lms_of(search).values()]
    return {secret for lm in lms if lm is not None for secret in secrets_of(lm)}


def _cancelled(error: BaseException) -> bool:
    """Whether this task is being cancelled, and not something that it waited for."""
    task = asyncio.current_task()
    return isinstance(error, CancelledError) and task is not None and task.cancelling() > 0


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in found:
        found.append(cause)
        cause = cause.__cause__ or cause.__context__
    return found
