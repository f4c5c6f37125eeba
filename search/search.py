"""The state machine: what a reply leads to, what is asked next, and how it ends.

`Search` is advanced only by `tell`, and `ask` drains what it wants done. Its state is a function of
(controller, root, seed, replies told so far): no clock, no thread, no LM. A batch's outcomes are applied in
the batch's order once all are told, so with one routine at a time, and no ceiling met, the tree does not
depend on the order of the replies. It runs the controller's `Routines`, asks `Requests`, and keeps an `Account`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Generic

from .account import Account
from .batch import Batch, Item, at_most
from .budget import Budget, Ceilings, Ended, SearchStatus
from .controller import Controller, Logged, Routine
from .ending import MAY_CLOSE, is_all_failures, why_over, worth
from .grow import CodeStep, Grower, ParseAction, describe
from .hooks import Hooks
from .protocol import ONE_CALL, Answer, Ask, Failed, Outcome, Propose, Proposed, Refused, Request, Unread, Usage
from .rating import Rating
from .requests import Requests
from .result import SearchResult
from .roles import ProtocolError, check_answer
from .routines import Routines
from .tree import SOLVED, A, Node, S, Tree

# Module constants: reading a member through its enum class costs a lookup per reply.
RUNNING, CLOSING = SearchStatus.RUNNING, SearchStatus.CLOSING


class Search(Generic[S, A]):
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

    def __init__(
        self,
        controller: Controller,
        root: S,
        *,
        parse: ParseAction[S] | None = None,
        step: CodeStep[S, A] | None = None,
        rating: Rating | None = None,
        budget: Budget | None = None,
        calls: Mapping[type[Request] | str, int] | None = None,
        retries: Mapping[type[Request], int] | None = None,
        transient: int = 0,
        root_key: Any = None,
        at_once: int | None = None,
        seed: int = 0,
        sampled: bool = False,
        reflect: bool = True,
        first: bool = False,
        closing: Callable[[Node[S, A]], bool] | None = None,
        solved: bool = False,
        describe: Callable[[Exception], str] = describe,
    ) -> None:
        most: int = getattr(controller, "at_once", 1) if at_once is None else at_once
        if most < 1:
            raise ValueError(f"Search(at_once={most!r}): must be at least 1")
        budget, rating = budget or Budget(), rating or Rating()
        self.tree: Tree[S, A] = Tree(root)
        self.at_once = most
        self.controller, self.rating, self.budget = controller, rating, budget
        self.status: SearchStatus = RUNNING
        self.ended: Ended | None = None
        self.account = Account()
        self.spent, self.by_role = self.account.spent, self.account.by_role
        self.closed: Outcome | None = None  # what the closing call gave
        self._asked_to_close = False
        self._eager = controller.stop == "first"
        self._closing = closing
        ceilings = Ceilings(budget)
        self._requests = Requests(
            ceilings,
            self.spent,
            calls,
            retries,
            transient,
            sampled=sampled,
            reflects=reflect,
            closes=closing is not None,
        )
        self._check_that_something_is_left()
        self._grower: Grower[S, A] = Grower(
            self.tree, rating, parse, step, controller.dedupe, root_key, ceilings.nodes, describe
        )
        self._routines = Routines(controller.routines(self.tree, rating, Random(seed)), most, first)
        self._batches: dict[Batch, None] = {}  # issued, not yet applied in full
        self._purse = False  # a ceiling outside this search refused a request
        if solved:
            self.tree.root.status, self._grower.solution = SOLVED, self.tree.root
            self._end(Ended.GOAL)
            return
        self._fill()
        self._check_that_it_starts()

    def _check_that_something_is_left(self) -> None:
        calls, held = self.budget.calls, self._requests.held
        if calls is not None and held >= calls:
            raise ValueError(
                f"Budget(calls={calls}): the closing call takes {held} of them, which leaves none "
                f"to search with; give at least {held + 1}, or an answer that needs no call"
            )

    def _check_that_it_starts(self) -> None:
        requests = self._requests
        if requests.refused is Ended.CALLS and not requests.asked:
            held = f", and {requests.held} are held back for the closing call" if requests.held else ""
            raise ValueError(
                f"Budget(calls={self.budget.calls}): too few for the first request (a proposal takes "
                f"{requests.calls[Propose]}{held}); raise calls"
            )

    # ---- the protocol

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

    def best(self) -> Node[S, A]:
        """The solution, else what the model calls final, else the controller's choice, else a direct answer."""
        found = self._grower.solution or self._grower.claim or self.controller.choose(self.tree)
        if found.id == 0:
            return max((n for n in self.tree if n.answer is not None), key=lambda n: n.value or 0.0, default=found)
        return self.tree[found.id]  # once it was left, the tree is a copy

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

    # ---- what a reply leads to

    def _refuse(self, outcome: Refused) -> None:
        """A purse outside did not let the call start: what is in flight finishes, then the search ends."""
        if self.status is CLOSING:
            self._settle_status()
        elif self.status is RUNNING:
            self._purse = True
            self._requests.refused = self._requests.refused or Ended(outcome.why)
            self._fill()

    def _take(self, item: Item, outcome: Outcome) -> None:
        """The outcome of a request; with the last one of a batch its routine goes on."""
        self.account.count(outcome)
        request = item.request
        if type(outcome) is Proposed:
            outcome = at_most(outcome, request.n)  # type: ignore[union-attr]
            item.landings = self._grower.landings(request.node, outcome.actions)  # type: ignore[union-attr]
            for _, landing in item.landings or ():
                if type(landing) is Failed:
                    self.account.count_fault(Propose, landing)
        item.outcome = outcome
        if self._eager and item.ends():  # a goal does not wait for the rest of its batch
            for batch in item.batches:
                self._apply(batch)
        for batch in item.batches:
            batch.missing -= 1
            if not batch.missing and self.status is RUNNING:
                del self._batches[batch]
                self._apply(batch)
                self._resume(batch.routine)
        if not self._routines.are_full or self._requests.refused:
            self._fill()

    def _apply(self, batch: Batch) -> None:
        """Apply what was told of `batch`, in its order."""
        grower = self._grower
        for item in batch.items:
            if item.outcome is not None and not item.applied and grower.solution is None and grower.claim is None:
                self._requests.applied(item)
                grower.apply(item.request, item.outcome, item.landings)
        if self.status is RUNNING:
            if grower.solution is not None or grower.claim is not None:
                self._end(Ended.GOAL)
            elif grower.full:
                self._end(Ended.NODES)

    # ---- what it asks next

    def _fill(self) -> None:
        """Begin as many routines as may run; end the search where none is left, or a ceiling lets none go on."""
        routines, requests = self._routines, self._requests
        while self.status is RUNNING:
            if requests.refused and not requests.open:
                return self._end(requests.refused)
            if requests.refused or routines.are_full:
                return None
            routine = routines.begin()
            if routine is None:
                if not routines.live:
                    self._end(why_over(self.controller, self.tree))
                return None
            self._resume(routine)
        return None

    def _resume(self, routine: Routine) -> None:
        """Run `routine` up to its next batch, and issue that batch as far as the budget goes."""
        while self.status is RUNNING:
            requests = self._routines.advance(routine)
            if requests is None:
                if self._routines.ended is not None:
                    self._end(self._routines.ended)
                return
            batch = Batch(routine, requests.log if type(requests) is Logged else None)
            self._batches[batch] = None
            self._requests.issue(batch, requests)
            if batch.missing:
                return
            del self._batches[batch]  # another routine had asked all of it, and was told: nothing to wait for
            self._apply(batch)

    # ---- how it ends

    def _end(self, why: Ended) -> None:
        self.status, self.ended = CLOSING, why
        for batch in list(self._batches):
            self._apply(batch)  # what was told is paid for: it counts, though its batch stays incomplete
        self._batches.clear()
        self._requests.drop()
        self._routines.close()
        if self._grower.solution is not None or self._grower.claim is not None:
            self.ended = Ended.GOAL  # its batch was told as far as the budget went
        elif is_all_failures(why, self.account, self.best(), self.tree):
            self.ended = Ended.ERROR
        if not self._hand_out_closing(why):
            self._settle_status()

    def _hand_out_closing(self, why: Ended) -> bool:
        if self._closing is None or why not in MAY_CLOSE or self._purse:
            return False
        best, requests = self.best(), self._requests
        if not (best.id or best is self._grower.solution) or best.answer is not None or not self._closing(best):
            return False
        requests.held, requests.short = 0, None
        request = Answer(best.id)
        if requests.over(request):
            return False
        self._asked_to_close = True
        requests.hand_out(Item(request, []))
        return True

    def _settle_status(self) -> None:
        self.status = worth(self._grower, self.closed, self.ended, self.best(), self.controller)
