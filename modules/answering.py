"""One request of a search as one call: made under the meter, read, and told with what it took."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dspy

from ..search import SearchStatus
from ..search.protocol import FREE, Answer, Ask, Failed, Outcome, Reply, Step, Unread
from ..search.tree import Tree
from .asked import as_module
from .background import in_thread
from .calls.failures import describe, failure
from .calls.gate import Meter, current
from .calls.redaction import hide, hide_in
from .calls.witness import with_witness
from .constrained import refuses_schema
from .job import Job, refusal, was_cut
from .likelihood import refuses_probabilities
from .pricing import unpriced
from .sampling import refuses_temperature

if TYPE_CHECKING:
    from .session import Session


class Answering:
    """Makes the calls of one session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._heard = bool(dspy.settings.get("callbacks"))
        self._around = current()  # the meter of a search's request, where this one runs inside it

    def context(self, job: Job, meter: Meter, entries: list[Any] | None) -> Any:
        return dspy.context(
            lm=self.session.configured if job.lm is None else job.lm,
            adapter=self.session.adapter,
            search_meter=meter,
            trace=entries,
            send_stream=None,  # the tokens of inner calls are nobody's
            **({"callbacks": with_witness()} if self.session.foreign else {}),
        )

    def _job(self, ask: Ask, tree: Tree[Any, Any]) -> Job | Reply:
        try:
            job = self.session.jobs.of(ask, tree)
        except Exception as error:  # a hook of the task
            failed = Failed(describe(error, self.session.secrets))
            self.session.report.replied(ask, failed, FREE)
            return Reply(failed, FREE)
        if self.session.unpriced is not None and isinstance(job, Job) and job.calls:
            return Reply(unpriced(self.session.plan, self.session.unpriced), FREE)
        if self._heard and isinstance(job, Job):
            return as_module(job, ask, tree, self.session.task)
        return job

    def prepare(self, ask: Ask, tree: Tree[Any, Any]) -> Reply | Callable[[], Reply]:
        job = self._job(ask, tree)
        if isinstance(job, Reply):
            return job

        def call() -> Reply:
            meter, entries = self._meter(ask, job)
            try:
                with self.context(job, meter, entries):
                    outcome = job.reading(job.call(), meter)()
                meter.settle()
            except Exception as error:
                outcome = self._failed(error, job, meter)
            return self._replied(ask, outcome, meter, entries)

        return call

    def aprepare(self, ask: Ask, tree: Tree[Any, Any]) -> Reply | Callable[[], Awaitable[Reply]]:
        job = self._job(ask, tree)
        if isinstance(job, Reply):
            return job

        async def call() -> Reply:
            meter, entries = self._meter(ask, job)
            try:
                with self.context(job, meter, entries):
                    given = await job.acall() if job.acall is not None else await in_thread(job.call)
                    read = job.reading(given, meter)
                    outcome = await in_thread(read) if job.reads_long or self._calls_hooks(ask) else read()
                meter.settle()
            except Exception as error:
                outcome = self._failed(error, job, meter)
            return self._replied(ask, outcome, meter, entries)

        return call

    def _calls_hooks(self, ask: Ask) -> bool:
        """Whether reading a reply may call hooks for which no loop should wait: the rules of a world, the check of an
        answer."""
        return self.session.patience is not None and isinstance(ask.request, Step | Answer)

    def _meter(self, ask: Ask, job: Job) -> tuple[Meter, list[Any] | None]:
        closing = isinstance(ask.request, Answer)

        def ended() -> bool:
            """A call that still waits for its turn when the search is over is not made."""
            over = self.session.search.done if closing else self.session.search.status is not SearchStatus.RUNNING
            return over or self.session.closed  # interrupted

        entries: list[Any] | None = None if self.session.trace is None else []
        session = self.session
        meter = Meter(
            left=job.calls,
            deadline=session.deadline,
            ended=ended,
            parent=self._around,
            secrets=set(session.secrets),
            spellings=session.spellings,
            inside=session.inside,
        )
        return meter, entries

    def _failed(self, error: Exception, job: Job, meter: Meter) -> Outcome:
        if refuses_temperature(error, job.config):
            self.session.jobs.refused.add(job.model)
            return refusal(job.model, "temperature")
        if refuses_probabilities(error, job.config):
            self.session.jobs.without_probabilities.add(job.model)
            return refusal(job.model, "logprobs")
        if refuses_schema(error, job.config):
            self.session.jobs.without_schema.add(job.model)
            return refusal(job.model, "response_format")
        if meter.unknown is not None:  # a fault of the test: see `Phases.run`
            self.session.unknown = self.session.unknown or meter.unknown
            return Failed(describe(meter.unknown, meter.secrets), fatal=True)
        outcome = failure(error, meter)
        if isinstance(outcome, Failed) and not self.session.plan.retries:
            return replace(outcome, transient=False)
        return outcome

    def _replied(self, ask: Ask, outcome: Outcome, meter: Meter, entries: list[Any] | None) -> Reply:
        cut = was_cut(meter)
        if cut:
            self.session.jobs.cut.add(ask.request)
        if self.session.search.budget.cost is not None:
            at_unknown_price = (r["model"] for r in meter.records if r["cost"] is None)
            self.session.unpriced = next(at_unknown_price, meter.passed_by or self.session.unpriced)
        if self.session.trace is not None and entries and not cut and not isinstance(outcome, Unread | Failed):
            self.session.trace.keep(ask.request, entries, self.session.jobs.own.originals)
        records = meter.records if self.session.journal is None else hide(meter.records, self.session.spellings)
        outcome, usage = hide_in(outcome, self.session.spellings), meter.usage()
        self.session.report.replied(ask, outcome, usage)
        return Reply(outcome, usage, records)
