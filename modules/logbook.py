"""What a search says to Python's logging, under the logger "thoughtree": WARNING for what went wrong, INFO for its
beginning and end, DEBUG for each call. Never what was asked; of what was said, a line without keys.
"""

from __future__ import annotations

import logging
from itertools import count
from typing import Any

from ..search import Budget, SearchResult
from ..search.protocol import (
    Answered,
    Ask,
    Failed,
    Illegal,
    Outcome,
    Proposed,
    Rate,
    Rated,
    Reflected,
    Stepped,
    Unread,
    Usage,
)
from ..search.visible import one_line
from .calls.redaction import redact

logger = logging.getLogger("thoughtree.search")
NUMBERS = count(1)  # of the searches of this process
LONGEST = 200  # characters of what was said


class Logbook:
    """Of one search, which it names by its program and a number."""

    def __init__(self, program: str) -> None:
        self.name = f"{program} #{next(NUMBERS)}"

    @property
    def tells_all(self) -> bool:
        """Whether a beginning and an end are told to anybody, whatever came of the search."""
        return logger.isEnabledFor(logging.INFO)

    def tells(self, outcome: Outcome) -> bool:
        """Whether the end of a call is told."""
        return logger.isEnabledFor(logging.WARNING if isinstance(outcome, Failed) else logging.DEBUG)

    def begins(self, controller: Any, budget: Budget) -> None:
        if logger.isEnabledFor(logging.INFO):
            ceilings = ", ".join(f"{name} {value:,}" for name, value in budget.dump().items()) or "none"
            logger.info("%s begins: %s; budget: %s", self.name, one_line(redact(repr(controller)), LONGEST), ceilings)

    def replied(self, ask: Ask, outcome: Outcome, usage: Usage) -> None:
        """From any thread, where it `tells` this outcome. outcome: without keys."""
        if isinstance(outcome, Failed):
            again = "may be asked again" if outcome.transient else "for good"
            logger.warning("%s: %s failed, %s: %s", self.name, _asked(ask), again, one_line(outcome.error, LONGEST))
        else:
            spent = f"{usage.calls} calls, {usage.tokens} tokens, ${usage.cost:.6f}, {usage.seconds:.3f} s"
            logger.debug("%s: %s: %s [%s]", self.name, _asked(ask), one_line(_said(outcome), LONGEST), spent)

    def ends(self, result: SearchResult[Any, Any]) -> None:
        if logger.isEnabledFor(logging.INFO):
            logger.info("%s ends: %s [%.3f s]", self.name, redact(result.summary()), result.seconds)
        if not result.solved and logger.isEnabledFor(logging.WARNING):
            for warning in result.warnings:
                logger.warning("%s: %s", self.name, redact(warning))

    def breaks_off(self, error: BaseException) -> None:
        logger.warning("%s is broken off by %s: %s", self.name, type(error).__name__, one_line(redact(str(error))))


def _asked(ask: Ask) -> str:
    request = ask.request
    kind = type(request).__name__.lower()
    nodes = request.nodes if isinstance(request, Rate) else (request.node,)
    named = f"{kind} node{'s' * (len(nodes) > 1)} {', '.join(map(str, nodes))}"
    return f"{named}, attempt {ask.attempt + 1}" if ask.attempt else named


def _said(outcome: Outcome) -> str:
    match outcome:
        case Proposed():
            return f"{len(outcome.actions)} steps: {'; '.join(map(str, outcome.actions))}"
        case Rated():
            return ", ".join(f"{value:g}" for value in outcome.values)
        case Stepped():
            return "solved" if outcome.solved else "terminal" if outcome.terminal else "stepped"
        case Illegal():
            return f"illegal: {outcome.rule}"
        case Reflected():
            return outcome.lesson
        case Answered():
            return f"answered{', verified' * outcome.verified}: {outcome.fields}"
        case Unread():
            return f"could not be read: {outcome.text}"
    return type(outcome).__name__
