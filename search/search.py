"""The state machine, as a driver sees it: it asks for requests, and is told their outcomes.

`Search` is advanced only by `tell`, and `ask` drains what it wants done. Its state is a function of
(controller, root, seed, replies told so far): no clock, no thread, no LM.
"""

from __future__ import annotations

from .budget import Ended
from .course import CLOSING, RUNNING, Course
from .hooks import Hooks
from .protocol import ONE_CALL, Answer, Ask, Failed, Outcome, Refused, Request, Unread, Usage
from .result import SearchResult
from .roles import ProtocolError, check_answer
from .tree import A, S


class Search(Course[S, A]):
    """Ask for requests, tell replies, read the result at any time.

    controller: the order. root: the initial state. parse, step: code that reads an action and follows it; without
    `step`, each action is a `Step` request. rating: how nodes get values. budget: ceilings (the clock is the driver's).
    calls: LM calls that one request of a kind reserves (1 where not named; 0 for code or an environment), and under
    "cheap" those of a cheap rating.
    retries: how often an unread reply of a kind is asked again. transient: how often a failed call that may go
    through later is. root_key: the root's key. at_once: routines that run at once. seed: for ties and sampling.
    sampled: ask for n proposals as n requests of one each, independent samples.
    reflect: whether there is somebody to ask for lessons.
    first: ask for a direct answer before anything else. closing: whether this best node needs a closing call;
    None: never; where it may, its calls are held back from the start. solved: the root is a goal as it is.
    describe: an error of `parse` or `step` in words.
    """

    def ask(self) -> list[Ask]:
        """Requests not yet handed out. Draining them never changes the search."""
        return self._requests.drain()

    def tell(self, id: int, outcome: Outcome, usage: Usage = ONE_CALL) -> None:
        """Apply one reply; the tree and what is asked are up to date when this returns.

        Raises ProtocolError for an id that is not open, and for an outcome that does not answer the request.
        """
        requests = self._requests
        item = requests.open.get(id)
        if item is None:
            raise ProtocolError(f"reply {id} answers no open request")
        request = item.request
        check_answer(request, outcome)
        kind = type(request)
        requests.told(id, request)
        if type(outcome) is Refused:
            self._refuse(outcome)
            return
        self.account.pay(request, usage)
        if (batches := item.batches) and (log := batches[0].log) is not None:
            log.count(kind, usage.calls)
        closing = self.status is CLOSING and kind is Answer
        if type(outcome) is Unread or type(outcome) is Failed:
            self.account.count_fault(kind, outcome)
            if (closing or self.status is RUNNING) and requests.again(item, outcome):
                return
        if closing:
            self.closed = outcome
            self._settle_status()
        elif self.status is not RUNNING:
            pass  # late: paid for and counted, and changes nothing
        elif type(outcome) is Failed and outcome.fatal:
            self._end(Ended.ERROR)
        else:
            self._take(item, outcome)

    def charge(self, request: Request, usage: Usage) -> None:
        """Count what was paid for a request that is not asked here: by an earlier run, of a smaller budget."""
        self.account.charge(type(request), usage)

    def withdraw(self, id: int) -> bool:
        """Take back a request whose call has not started, where the budget does not cover it any more. False: it does.

        With the last one that is open the search ends.
        """
        requests = self._requests
        item, why = requests.open.get(id), requests.overdrawn
        if item is None or why is None or not requests.price(item.request):
            return False
        requests.told(id, item.request)
        requests.refused = requests.refused or why
        if self.status is CLOSING:
            self._settle_status()
        else:
            self._fill()
        return True

    def stop(self, why: Ended = Ended.STOPPED) -> None:
        """End the search. Replies to requests already handed out may still be told."""
        if self.status is RUNNING:
            self._end(why)
        elif self.status is CLOSING:
            self._requests.drop()
            self._settle_status()

    def ceiling(self, request: Request) -> Ended | None:
        """The ceiling reached since `request` was asked: its call may not start, and is told Refused."""
        return self._requests.ceiling(request)

    def price(self, request: Request) -> int:
        """The LM calls that `request` reserves; 0: code or an environment answers it."""
        return self._requests.price(request)

    @property
    def done(self) -> bool:
        """Nothing more will be asked."""
        return self.status is not RUNNING and self.status is not CLOSING

    @property
    def short(self) -> bool:
        """A ceiling has refused a request or a retry: with a larger budget, it may have gone another way from here."""
        return self._requests.refused is not None or self._requests.short is not None

    def result(self) -> SearchResult[S, A]:
        """Anytime: valid while running, after a stop, and at the end."""
        return SearchResult[S, A].of(self)

    def watch(self, hooks: Hooks) -> None:
        """From now on all code of others that it runs itself is watched."""
        grower = self._grower
        for name in ("parse", "step"):
            if (hook := getattr(grower, name)) is not None:
                setattr(grower, name, hooks.watched(name, hook))
        if self._closing is not None:
            self._closing = hooks.watched("closing", self._closing)

    def left(self, why: Ended) -> SearchResult[S, A]:
        """The result where a step has not come back: what was found until then. No hook is called.

        The thread that hangs keeps the tree, and whatever it does to that: the result has a copy.
        """
        self.tree = self.tree.copy()
        if not self.done:
            self.ended = self.ended or why
            self._settle_status()
        return self.result()

    @property
    def unclosed(self) -> str | None:
        """Why the closing call gave no answer; None: it gave one, or none was asked, or it is still out."""
        if type(self.closed) is Failed:
            return self.closed.error
        if type(self.closed) is Unread:
            return "its reply could not be read"
        return "no reply came before the end" if self._asked_to_close and self.done and self.closed is None else None

    @property
    def told(self) -> int:
        """Replies so far."""
        return self.account.told

    @property
    def failed(self) -> int:
        """Calls, and steps of the task's own code, that raised."""
        return self.account.failed

    @property
    def unread(self) -> dict[str, int]:
        """By role, replies that could not be read."""
        return self.account.unread
