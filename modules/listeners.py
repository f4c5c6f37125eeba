"""DSPy's callbacks that want to hear of a search's events, and how a search is told to them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

from dspy.utils.callback import ACTIVE_CALL_ID

from ..search import Ended, Event, Search, SearchResult
from ..search.protocol import (
    Answered,
    Failed,
    Illegal,
    Proposed,
    Rate,
    Rated,
    Reflected,
    Stepped,
    Unread,
)
from ..search.tree import SOLVED
from .delivery import Delivery
from .events import (
    AnswerGiven,
    BudgetReached,
    CallFailed,
    GoalReached,
    LessonLearned,
    NodeAdded,
    NodesRated,
    ReplyUnread,
    SearchEnded,
    SearchStarted,
    StepsProposed,
    StepTaken,
)

logger = logging.getLogger(__name__)

CEILINGS = (Ended.CALLS, Ended.TOKENS, Ended.COST, Ended.SECONDS, Ended.NODES)


class Listeners:
    """Of one search. An error of a callback is logged, and changes nothing."""

    def __init__(self, callbacks: list[Any], deliver: Delivery) -> None:
        self._callbacks, self._deliver = callbacks, deliver
        self._task: Any = None
        self._call_id = ACTIVE_CALL_ID.get()
        self._search: Search[Any, Any] | None = None
        self._number = self._nodes = 0
        self._over = False

    def started(
        self, search: Search[Any, Any], program: str, controller: Any, inputs: dict[str, Any], task: Any
    ) -> None:
        self._search, self._nodes, self._task = search, len(search.tree), task
        self._tell(SearchStarted, program=program, controller=controller, inputs=dict(inputs))
        self._consequences(search)  # it may be over as it begins

    def __call__(self, event: Event) -> None:
        """A reply was told."""
        for kind, given in self._replied(event):
            about = {"request": event.ask.request, "attempt": event.ask.attempt, "usage": event.reply.usage}
            self._tell(kind, **about, **given)
        self._consequences(event.search)

    def ended(self, result: SearchResult[Any, Any], error: BaseException | None = None) -> None:
        if self._search is not None:
            # The search's hooks are given up by now; where one hangs, or an error flies, none is called any more.
            self._task = None if result.hung else result.task
            self._consequences(self._search)
            self._tell(SearchEnded, result=result, error=error)
            self._search = None

    def _replied(self, event: Event) -> Iterator[tuple[Any, dict[str, Any]]]:
        request, outcome = event.ask.request, event.reply.outcome
        nodes = request.nodes if isinstance(request, Rate) else (request.node,)
        match outcome:
            case Proposed():
                yield StepsProposed, {"node": nodes[0], "actions": tuple(map(self._shown, outcome.actions))}
            case Stepped():
                told = {"solved": outcome.solved, "terminal": outcome.terminal, "reward": outcome.reward}
                yield StepTaken, {"node": nodes[0], **told}
            case Illegal():
                yield StepTaken, {"node": nodes[0], "illegal": outcome.rule}
            case Rated():
                yield NodesRated, {"nodes": nodes, "values": outcome.values, "verdicts": outcome.verdicts}
            case Reflected():
                yield LessonLearned, {"node": nodes[0], "lesson": outcome.lesson}
            case Answered():
                yield AnswerGiven, {"node": nodes[0], "fields": outcome.fields, "verified": outcome.verified}
            case Unread():
                yield ReplyUnread, {"text": outcome.text}
            case Failed():
                yield CallFailed, {"error": outcome.error, "transient": outcome.transient}
            case _:  # refused: no call was made
                pass

    def _consequences(self, search: Search[Any, Any]) -> None:
        """What the reply led to."""
        tree = search.tree
        while self._nodes < len(tree):
            node = tree[self._nodes]
            self._nodes += 1
            self._tell(NodeAdded, node=node, action=self._shown(node.action))
        if search.ended is None or self._over:
            return
        self._over = True
        if search.best().status is SOLVED:
            self._tell(GoalReached, node=search.best())
        elif search.ended in CEILINGS:
            self._tell(BudgetReached, ceiling=search.ended)

    def _shown(self, action: Any) -> str:
        """What the task cannot read or show is text already, or is shown as Python has it."""
        if isinstance(action, str) or self._task is None:
            return str(action)
        try:
            return str(self._task.show(action))
        except Exception as error:
            logger.debug("%s.show raised: %s", type(self._task).__name__, error)
            return repr(action)

    def _tell(self, kind: Any, **given: Any) -> None:
        event = kind(number=self._number, search=self._search, **given)
        self._number += 1
        for callback in self._callbacks:
            name = f"{type(callback).__name__}.on_search_event"
            try:
                self._deliver(callback, name, partial(callback.on_search_event, call_id=self._call_id, event=event))
            except Exception as error:
                logger.warning("%s raised %s: %s", name, type(error).__name__, error)
