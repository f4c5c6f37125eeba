"""What a routine asks together: its requests, how far each is, and how proposals and retries are asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite

from .controller import Log, Routine
from .grow import Landings
from .protocol import Answered, Failed, Outcome, Propose, Proposed, Request, Stepped

LATER = 60.0  # seconds: the longest that a retry waits of its own


@dataclass(slots=True, eq=False)
class Item:
    request: Request
    batches: list[Batch]
    attempt: int = 0
    outcome: Outcome | None = None
    landings: Landings | None = None
    applied: bool = False

    def ends(self) -> bool:
        """Whether this reply, applied, would end the search."""
        if self.landings is not None:
            return any(type(x) is Stepped and (x.solved or x.claimed) for _, x in self.landings)
        found = self.outcome
        if type(found) is Stepped:
            return found.solved or found.claimed
        return type(found) is Answered and found.verified


@dataclass(slots=True, eq=False)
class Batch:
    routine: Routine
    log: Log | None = None
    items: list[Item] = field(default_factory=list[Item])
    missing: int = 0


def backoff(failed: Failed, attempt: int) -> float:
    """Seconds before this attempt: what the provider said, else half a second, doubled each time."""
    wait = failed.retry_after
    if wait is None or not isfinite(wait):
        return min(2.0**attempt / 4, LATER)
    return max(0.0, wait)


def at_most(proposed: Proposed, n: int | None) -> Proposed:
    """The first `n` proposals: the branching that was asked for is the one that an estimate counts on."""
    if n is None or len(proposed.actions) <= n:
        return proposed
    return Proposed(proposed.actions[:n], None if proposed.priors is None else proposed.priors[:n])


def samples(requests: Sequence[Request]) -> Iterator[Request]:
    """Each proposal of n as n proposals of one."""
    for request in requests:
        if isinstance(request, Propose) and request.n is not None and request.n > 1:
            for i in range(request.n):
                yield Propose(request.node, 1, request.sample * request.n + i, request.lessons)
        else:
            yield request
