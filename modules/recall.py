"""What a reply left behind in its call, beside its outcome: brought back as a journal tells the reply again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dspy

from ..search.protocol import Ask, Failed, Reply, Unread
from .calls.meter import Meter
from .job import Job, refusal, was_cut

if TYPE_CHECKING:
    from .session import Session


class Told(dspy.BaseLM):
    """Says what a record has of a call, once more."""

    def __init__(self, record: dict[str, Any]) -> None:
        super().__init__(record["model"], cache=False)
        self.outputs: list[str] = record["outputs"]

    def __call__(self, *_: Any, **__: Any) -> list[str]:
        return self.outputs


def recall(session: Session, ask: Ask, reply: Reply) -> None:
    """Before `reply` is told to the session's search. Nothing is called, and no prompt is sent."""
    outcome = reply.outcome
    if isinstance(outcome, Failed) and outcome.transient:
        _refused(session, ask, outcome)
    if isinstance(outcome, Unread | Failed):
        if reply.records and was_cut(_meter(reply)):
            session.jobs.cut.add(ask.request)  # asked again, it gets more room
    elif session.trace is not None and reply.records:
        _traced(session, ask, reply)
    if session.search.budget.cost is not None:
        session.unpriced = next((r["model"] for r in reply.records if r["cost"] is None), session.unpriced)


def _meter(reply: Reply) -> Meter:
    """On which there is no call left."""
    return Meter(left=0, records=list(reply.records), parent=None)


def _refused(session: Session, ask: Ask, failed: Failed) -> None:
    """A model that took no temperature, or gives no probabilities, is not asked for it again."""
    job = session.jobs.of(ask, session.search.tree)
    if not isinstance(job, Job):
        return
    if failed == refusal(job.model, "temperature"):
        session.jobs.refused.add(job.model)
    elif failed == refusal(job.model, "logprobs"):
        session.jobs.without_probabilities.add(job.model)


def _traced(session: Session, ask: Ask, reply: Reply) -> None:
    """What an optimizer learns from: the call's inputs, rendered again, and its outputs, read again.

    Of our own roles alone: a module of the user's would have to run again.
    """
    meter = _meter(reply)
    if session.trace is None or was_cut(meter):
        return
    job = session.jobs.of(ask, session.search.tree)
    if not isinstance(job, Job) or job.again is None or session.per_prediction > 1:
        return
    entries: list[Any] = []
    with session.answering.context(job, meter, entries), dspy.context(callbacks=[]):
        try:
            job.again(Told(reply.records[0]))
        except dspy.AdapterParseError:  # another adapter asks now than then
            return
    session.trace.keep(ask.request, entries, session.jobs.own.originals)
