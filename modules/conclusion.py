"""From a search that has ended to what the program gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dspy

from ..search import SearchResult, SearchStatus
from ..search.protocol import Answered
from ..tasks.environment_task import EnvironmentTask
from .aggregation import agreed
from .calls.failures import describe
from .prediction import SearchFailed, SearchPrediction

if TYPE_CHECKING:
    from .session import Session

REASONING = "reasoning"
TRAJECTORY = "trajectory"  # as dspy.ReAct names it


def concluded(session: Session, result: SearchResult[Any, Any]) -> SearchPrediction:
    """The prediction; the calls to learn from go to whoever collects a trace. SearchFailed where that was asked for."""
    if session.plan.aggregate and not result.solved:
        best = agreed(result, session.finisher.known)
        result = result if best is None else result.replace(best=best, answer=None)
    closed = session.search.closed
    refused = closed.fields if isinstance(closed, Answered) and closed.rule is not None else None
    fields = _fields(session, result, refused)
    # A path may be a solution, and the words made of it none.
    status = SearchStatus.UNVERIFIED if result.solved and fields == refused else result.status
    result = result.replace(answer=fields, task=session.task, status=status)
    if session.finisher.raised:
        result = _without_answer(session, result)
        status = result.status
    if session.trace is not None:
        dspy.settings.trace.extend(session.trace.concluded(result))
    if session.plan.on_failure == "raise" and status is SearchStatus.FAILED:
        raise SearchFailed(result)
    if REASONING not in fields:
        fields = {REASONING: "\n".join(result.path), **fields}
    trajectory = session.task.trajectory(result.best.state) if isinstance(session.task, EnvironmentTask) else None
    if trajectory is not None:
        fields = {TRAJECTORY: trajectory, **fields}
    found = SearchPrediction(search=result, **fields)
    found._inputs = dict(session.inputs)
    return found


def _without_answer(session: Session, result: SearchResult[Any, Any]) -> SearchResult[Any, Any]:
    """The result of a search whose task raised where it was to say what a state answers: none is lost for it."""
    told = dict.fromkeys(f"answer: {describe(error, session.secrets)}" for error in session.finisher.raised)
    empty = all(value is None for value in (result.answer or {}).values())
    status = SearchStatus.UNVERIFIED if result.solved and empty else result.status
    return result.replace(
        status=status, failed=result.failed + len(told), errors=result.errors | dict.fromkeys(told, 1)
    )


def _fields(session: Session, result: SearchResult[Any, Any], refused: dict[str, Any] | None) -> dict[str, Any]:
    """Every output field: the closing call's, else what code tells of the best node, else its text."""
    finisher, best = session.finisher, result.best
    if result.answer is not None and refused is None:
        found = result.answer
    else:
        known = {} if session.plan.answer == "path" else finisher.known(best)
        found = {**(refused or {}), **known}
    if not found:
        found = finisher.candidate([session.task.show(node.action) for node in result.tree.path(best)[1:]])
    return {name: found.get(name) for name in session.program.signature.output_fields}
