"""The requests of a search that are out: which are asked, shared and reserved for, and which ceiling stops the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from .batch import Batch, Item, backoff, samples
from .budget import Ceilings, Ended, Tally
from .protocol import Answer, Ask, Failed, Rate, Reflect, Request, Unread
from .roles import ROLES


class Requests:
    """calls: LM calls that a request of a kind reserves. retries: how often an unread reply of a kind is asked again;
    transient: how often a failed call is that may go through later. sampled: n proposals are n requests. reflects:
    whether questions about failures are asked. closes: a closing call may follow, and is held back for.

    spent: by the search so far. open: asked and not yet told. refused: the ceiling that refused a request: nothing new
    starts. short: the ceiling that refused a retry: nothing new that costs a call starts.
    """

    def __init__(
        self,
        ceilings: Ceilings,
        spent: Tally,
        calls: Mapping[type[Request] | str, int] | None,
        retries: Mapping[type[Request], int] | None,
        transient: int,
        *,
        sampled: bool,
        reflects: bool,
        closes: bool,
    ) -> None:
        self.calls: dict[type[Request] | str, int] = dict.fromkeys(ROLES, 1) | {"cheap": 1} | dict(calls or {})
        self.held = self.calls[Answer] if closes else 0
        self.open: dict[int, Item] = {}
        self.refused: Ended | None = None
        self.short: Ended | None = None
        self.asked = 0  # so many were handed out, retries included
        self._ceilings, self._spent = ceilings, spent
        self._retries, self._transient = dict(retries or {}), transient
        self._sampled, self._reflects = sampled, reflects
        self._outbox: deque[Ask] = deque()
        self._shared: dict[Request, Item] = {}  # asked, not yet applied: identical requests share one
        self._reserved = 0

    def drain(self) -> list[Ask]:
        """Those not yet handed out."""
        if not self._outbox:
            return []
        asks = [ask for ask in self._outbox if ask.id in self.open]  # a replay may have told some
        self._outbox.clear()
        return asks

    def drop(self) -> None:
        """Hand out none of those that were not."""
        self._outbox.clear()

    def issue(self, batch: Batch, requests: Sequence[Request]) -> None:
        """Ask all of them as far as the budget goes; those that are asked already are shared."""
        if not self._reflects:
            requests = [request for request in requests if type(request) is not Reflect]
        for request in samples(requests) if self._sampled else requests:
            item = self._shared.get(request)
            if item is None:
                self.refused = self.refused or self.over(request)
                if self.refused:
                    batch.missing = 1  # never complete: the routine is closed when the last reply is in
                    break
                item = self._shared[request] = Item(request, [batch])
                self.hand_out(item)
            else:
                item.batches.append(batch)
            batch.items.append(item)
        batch.missing += sum(item.outcome is None for item in batch.items)

    def hand_out(self, item: Item, delay: float = 0.0) -> None:
        self.open[self.asked] = item
        self._reserved += self.price(item.request)
        self._outbox.append(Ask(self.asked, item.request, item.attempt, delay))
        self.asked += 1

    def told(self, id: int, request: Request) -> None:
        """A reply came: what was reserved for it is free, or spent."""
        del self.open[id]
        self._reserved -= self.price(request)

    def applied(self, item: Item) -> None:
        """From now on, the same request is a new one."""
        item.applied = True
        del self._shared[item.request]

    def again(self, item: Item, outcome: Unread | Failed) -> bool:
        """Ask once more, if this kind may be re-asked and the budget allows."""
        if isinstance(outcome, Failed):
            most = self._transient if outcome.transient and not outcome.fatal else 0
        else:
            most = self._retries.get(type(item.request), 0)
        if item.attempt >= most:
            return False
        if why := self.refused or self.over(item.request):
            # With a larger budget this retry is made, and what follows may differ: so nothing paid follows here. Then
            # every recorded reply is about the nodes that it names, whatever the budget of the run that resumes.
            self.short = self.short or why
            return False
        item.attempt += 1
        self.hand_out(item, backoff(outcome, item.attempt) if isinstance(outcome, Failed) else 0.0)
        return True

    def price(self, request: Request) -> int:
        """The LM calls that `request` reserves; 0: code or an environment answers it."""
        if type(request) is Rate and request.rater == "cheap":
            return self.calls["cheap"]
        return self.calls[type(request)]

    def over(self, request: Request) -> Ended | None:
        """The ceiling that this request would pass, beside all that is reserved."""
        calls = self.price(request)
        return self.short or self._ceilings.met(self._spent, self._reserved + self.held, calls) if calls else None

    @property
    def overdrawn(self) -> Ended | None:
        """The ceiling that all that is asked would pass by now."""
        return self._ceilings.met(self._spent, self._reserved + self.held, 0)

    def ceiling(self, request: Request) -> Ended | None:
        """The ceiling reached since it was asked."""
        return self._ceilings.met(self._spent, 0, 0) if self.price(request) else None
