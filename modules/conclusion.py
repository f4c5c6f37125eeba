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
TOLD = {"render", "show", "dump", "load", "solvable"}  # hooks that a result asks for, whenever it is read


def concluded(session: Session, result: SearchResult[Any, Any]) -> SearchPrediction:
    """The prediction; the calls to learn from go to whoever collects a trace. SearchFailed where that was asked for."""
    result = _judged(session, result)
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
    told, reasoning = result, "\n".join(result.path)
    result = result.replace(task=session.own_task)
    if session.trace is not None:
        dspy.settings.trace.extend(session.trace.concluded(told))
        session.trace.result = result
    if session.plan.on_failure == "raise" and status is SearchStatus.FAILED:
        raise SearchFailed(result)
    if REASONING not in fields:
        fields = {REASONING: reasoning, **fields}
    trajectory = session.task.trajectory(result.best.state) if isinstance(session.task, EnvironmentTask) else None
    if trajectory is not None:
        fields = {TRAJECTORY: trajectory, **fields}
    return _prediction(session, result, fields)


def concluded_without_hooks(session: Session, result: SearchResult[Any, Any]) -> SearchPrediction:
    """The same where a hook of the task hangs: none is called any more, so actions are told in their own words."""
    result = _judged(session, result)
    closed = session.search.closed
    path = [str(node.action) for node in result.tree.path(result.best)[1:]]
    said = result.answer or session.finisher.candidate(path)
    fields = {name: said.get(name) for name in session.program.signature.output_fields}
    empty = all(value is None for value in fields.values())
    refused = isinstance(closed, Answered) and closed.rule is not None
    status = SearchStatus.UNVERIFIED if result.solved and (empty or refused) else result.status
    task = None if TOLD & set(result.hung) else session.own_task
    result = result.replace(answer=fields, status=status, task=task)
    if session.plan.on_failure == "raise" and status is SearchStatus.FAILED:
        raise SearchFailed(result)
    return _prediction(session, result, {REASONING: "\n".join(path), **fields})


def _prediction(session: Session, result: SearchResult[Any, Any], fields: dict[str, Any]) -> SearchPrediction:
    found = SearchPrediction(search=result, **fields)
    found._inputs = dict(session.inputs)
    return found


def _judged(session: Session, result: SearchResult[Any, Any]) -> SearchResult[Any, Any]:
    """The result, which says so where a reward function gave no answer a score."""
    reward = session.finisher.reward
    raised = [] if reward is None else reward.raised[:]
    errors = [error for error in raised if error is not None]
    if not errors or len(errors) < len(raised):
        return result
    first = describe(errors[0], session.secrets)
    return result.replace(lost={**result.lost, "reward": (len(errors), first)})


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
