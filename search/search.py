"""The state machine. Everything that decides what a search does next is in this file.

`Search` is advanced only by `tell`, and `ask` drains what it wants done. Its state is a function of
(controller, root, seed, replies told so far): no clock, no thread, no LM. A batch's outcomes are applied in
the batch's order once all are told, so with one routine at a time, and no ceiling met, the tree does not
depend on the order of the replies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Generic

from .batch import Batch, Item, at_most, backoff, samples
from .budget import Budget, Ceilings, Ended, SearchStatus, Tally
from .controller import Controller, Logged, Routine
from .grow import CodeStep, Grower, ParseAction, describe
from .protocol import (
    FREE,
    ONE_CALL,
    Answer,
    Answered,
    Ask,
    Failed,
    Illegal,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Reflect,
    Refused,
    Request,
    Stepped,
    Unread,
    Usage,
)
from .rating import Rating
from .result import SearchResult
from .roles import ROLES, ProtocolError, check_answer
from .tree import DUPLICATE, FAILED, SOLVED, UNJUDGED, A, Node, S, Tree

# The ends after which there is still a call to give: a purse, a clock or a person did not say stop.
MAY_CLOSE = (
    Ended.GOAL,
    Ended.SEARCHED_OUT,
    Ended.ROLLOUTS,
    Ended.PATIENCE,
    Ended.EXPANSIONS,
    Ended.CALLS,
    Ended.NODES,
)


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
        self.controller, self.rating, self.budget = controller, rating, budget
        self.status: SearchStatus = SearchStatus.RUNNING
        self.ended: Ended | None = None
        self.spent, self.by_role = Tally(), {role: Tally() for role in ROLES.values()}
        self.unread = dict.fromkeys(ROLES.values(), 0)
        self.failed = self.told = self.clamped = 0
        self.foreseen = self.unforeseen = 0  # steps that a world model predicted, and others that it was asked about
        self.errors: dict[str, int] = {}  # text -> times, in order of appearance
        self.closed: Outcome | None = None  # what the closing call gave
        self._asked_to_close = False
        self._eager = controller.stop == "first"
        self._calls: dict[type[Request] | str, int] = dict.fromkeys(ROLES, 1) | {"cheap": 1} | dict(calls or {})
        self._sampled, self._reflects = sampled, reflect
        self._retries, self._transient = dict(retries or {}), transient
        self._ceilings = Ceilings(budget)
        self._closing = closing
        self._held = self._calls[Answer] if closing is not None else 0
        if budget.calls is not None and self._held >= budget.calls:
            raise ValueError(
                f"Budget(calls={budget.calls}): the closing call takes {self._held} of them, which leaves none "
                f"to search with; give at least {self._held + 1}, or an answer that needs no call"
            )
        self._grower: Grower[S, A] = Grower(
            self.tree, rating, parse, step, controller.dedupe, root_key, self._ceilings.nodes, describe
        )
        self._fresh = controller.routines(self.tree, rating, Random(seed))
        if first:
            self._fresh = self._after_direct_answer(self._fresh, most)
            most = 1
        self._at_once = most
        self._live: list[Routine] = []
        self._batches: dict[Batch, None] = {}  # issued, not yet applied in full
        self._outbox: deque[Ask] = deque()
        self._open: dict[int, Item] = {}  # issued, not yet told
        self._shared: dict[Request, Item] = {}  # issued, not yet applied: identical requests share one
        self._reserved = self._next_id = 0
        self._refused: Ended | None = None  # the ceiling that refused a request: nothing new starts
        self._short: Ended | None = None  # the ceiling that refused a retry: nothing new that costs a call starts
        self._purse = False  # it was a ceiling outside this search
        if solved:
            self.tree.root.status, self._grower.solution = SOLVED, self.tree.root
            self._end(Ended.GOAL)
            return
        self._fill()
        self._check_that_it_starts()

    def _check_that_it_starts(self) -> None:
        if self._refused is Ended.CALLS and not self._next_id:
            held = f", and {self._held} are held back for the closing call" if self._held else ""
            raise ValueError(
                f"Budget(calls={self.budget.calls}): too few for the first request (a proposal takes "
                f"{self._calls[Propose]}{held}); raise calls"
            )

    # ---- the protocol

    def ask(self) -> list[Ask]:
        """Requests not yet handed out. Draining the outbox never changes the search."""
        if not self._outbox:
            return []
        asks = [ask for ask in self._outbox if ask.id in self._open]  # a replay may have told some
        self._outbox.clear()
        return asks

    def tell(self, id: int, outcome: Outcome, usage: Usage = ONE_CALL) -> None:
        """Apply one reply; the tree and the outbox are up to date when this returns.

        Raises ProtocolError for an id that is not open, and for an outcome that does not answer the request.
        """
        item = self._open.get(id)
        if item is None:
            raise ProtocolError(f"reply {id} answers no open request")
        request = item.request
        check_answer(request, outcome)
        kind = type(request)
        del self._open[id]
        self._reserved -= self.price(request)
        if type(outcome) is Refused:
            self._refuse(outcome)
            return
        if usage is not FREE:
            self.spent.add(usage)
            self.by_role[ROLES[kind]].add(usage)
        if (batches := item.batches) and (log := batches[0].log) is not None:
            log.count(kind, usage.calls)
        self.told += 1
        if type(outcome) is Unread or type(outcome) is Failed:
            self._count(kind, outcome)
            if self._again(item, kind, outcome):
                return
        if self.status is SearchStatus.CLOSING and kind is Answer:
            self._close(outcome)
            return
        if self.status is not SearchStatus.RUNNING:
            return  # late: paid for and counted, and changes nothing
        if type(outcome) is Failed and outcome.fatal:
            self._end(Ended.ERROR)
            return
        if type(outcome) is Rated and outcome.clamped:
            self.clamped += outcome.clamped
        if (type(outcome) is Stepped or type(outcome) is Illegal) and outcome.foreseen is not None:
            self.foreseen += outcome.foreseen
            self.unforeseen += not outcome.foreseen
        if type(outcome) is Proposed:
            outcome = at_most(outcome, request.n)  # type: ignore[union-attr]
        item.outcome = outcome
        if type(outcome) is Proposed:
            item.landings = self._grower.landings(request.node, outcome.actions)  # type: ignore[union-attr]
            for _, landing in item.landings or ():
                if type(landing) is Failed:
                    self._count(kind, landing)
        self._settle(item)

    def stop(self, why: Ended = Ended.STOPPED) -> None:
        """End the search. Replies to requests already handed out may still be told."""
        if self.status is SearchStatus.RUNNING:
            self._end(why)
        elif self.status is SearchStatus.CLOSING:
            self._outbox.clear()
            self._settle_status()

    @property
    def done(self) -> bool:
        """Nothing more will be asked."""
        return self.status is not SearchStatus.RUNNING and self.status is not SearchStatus.CLOSING

    @property
    def short(self) -> bool:
        """A ceiling has refused a request or a retry: with a larger budget, it may have gone another way from here."""
        return self._refused is not None or self._short is not None

    def best(self) -> Node[S, A]:
        """The solution, else what the model calls final, else the controller's choice, else a direct answer."""
        found = self._grower.solution or self._grower.claim or self.controller.choose(self.tree)
        if found.id == 0:
            return max((n for n in self.tree if n.answer is not None), key=lambda n: n.value or 0.0, default=found)
        return found

    def result(self) -> SearchResult[S, A]:
        """Anytime: valid while running, after a stop, and at the end."""
        return SearchResult[S, A].of(self)

    @property
    def unclosed(self) -> str | None:
        """Why the closing call gave no answer; None: it gave one, or none was asked, or it is still out."""
        if type(self.closed) is Failed:
            return self.closed.error
        if type(self.closed) is Unread:
            return "its reply could not be read"
        return "no reply came before the end" if self._asked_to_close and self.done and self.closed is None else None

    # ---- what a reply leads to

    def _count(self, kind: type[Request], outcome: Unread | Failed) -> None:
        if isinstance(outcome, Unread):
            self.unread[ROLES[kind]] += 1
        else:
            self.failed += 1
            self.errors[outcome.error] = self.errors.get(outcome.error, 0) + 1

    def _refuse(self, outcome: Refused) -> None:
        """A purse outside did not let the call start: what is in flight finishes, then the search ends."""
        if self.status is SearchStatus.CLOSING:
            self._settle_status()
        elif self.status is SearchStatus.RUNNING:
            self._purse = True
            self._refused = self._refused or Ended(outcome.why)
            self._fill()

    def _again(self, item: Item, kind: type[Request], outcome: Unread | Failed) -> bool:
        """Re-ask, if this kind may be re-asked once more and the budget allows."""
        if isinstance(outcome, Failed):
            most = self._transient if outcome.transient and not outcome.fatal else 0
        else:
            most = self._retries.get(kind, 0)
        closing = self.status is SearchStatus.CLOSING and kind is Answer
        if item.attempt >= most or not (closing or self.status is SearchStatus.RUNNING):
            return False
        if why := self._refused or self._over(item.request):
            # With a larger budget this retry is made, and what follows may differ: so nothing paid follows here. Then
            # every recorded reply is about the nodes that it names, whatever the budget of the run that resumes.
            self._short = self._short or why
            return False
        item.attempt += 1
        self._hand_out(item, backoff(outcome, item.attempt) if isinstance(outcome, Failed) else 0.0)
        return True

    def _settle(self, item: Item) -> None:
        if self._eager and item.ends():  # a goal does not wait for the rest of its batch
            for batch in item.batches:
                self._apply(batch)
        for batch in item.batches:
            batch.missing -= 1
            if not batch.missing and self.status is SearchStatus.RUNNING:
                del self._batches[batch]
                self._apply(batch)
                self._resume(batch.routine)
        self._fill()

    def _apply(self, batch: Batch) -> None:
        """Apply what was told of `batch`, in its order."""
        grower = self._grower
        for item in batch.items:
            if item.outcome is not None and not item.applied and grower.solution is None and grower.claim is None:
                item.applied = True
                del self._shared[item.request]
                grower.apply(item.request, item.outcome, item.landings)
        if self.status is SearchStatus.RUNNING:
            if grower.solution is not None or grower.claim is not None:
                self._end(Ended.GOAL)
            elif grower.full:
                self._end(Ended.NODES)

    # ---- how it ends

    def _end(self, why: Ended) -> None:
        self.status, self.ended = SearchStatus.CLOSING, why
        for batch in list(self._batches):
            self._apply(batch)  # what was told is paid for: it counts, though its batch stays incomplete
        self._batches.clear()
        self._outbox.clear()
        for routine in self._live:
            routine.close()
        self._live.clear()
        if self._grower.solution is not None or self._grower.claim is not None:
            self.ended = Ended.GOAL  # its batch was told as far as the budget went
        elif why in (Ended.SEARCHED_OUT, Ended.ROLLOUTS) and self._nothing_but_failures():
            self.ended = Ended.ERROR
        if not self._hand_out_closing(why):
            self._settle_status()

    def _nothing_but_failures(self) -> bool:
        """Whether failed calls are why there is nothing to give back: that is no low score."""
        if not self.failed or self.best().id:
            return False
        return self.failed >= self.told or all(
            node.status in (FAILED, DUPLICATE) for node in self.tree if not node.children
        )

    def _hand_out_closing(self, why: Ended) -> bool:
        if self._closing is None or why not in MAY_CLOSE or self._purse:
            return False
        best = self.best()
        if not (best.id or best is self._grower.solution) or best.answer is not None or not self._closing(best):
            return False
        self._held, self._short = 0, None
        request = Answer(best.id)
        if self._over(request):
            return False
        self._asked_to_close = True
        self._hand_out(Item(request, []))
        return True

    def _close(self, outcome: Outcome) -> None:
        self.closed = outcome
        self._settle_status()

    def _settle_status(self) -> None:
        """What the answer is worth, now that nothing more will be asked."""
        verified = isinstance(self.closed, Answered) and self.closed.verified
        if self._grower.solution is not None or verified:
            self.status = SearchStatus.SOLVED
        elif self.ended is Ended.ERROR or not self.best().id or self._must_verify():
            self.status = SearchStatus.FAILED
        else:
            self.status = SearchStatus.UNVERIFIED

    def _must_verify(self) -> bool:
        """Whether an unverified answer is worth nothing here.

        A claim that nobody can check, or a finished state that nobody can judge, is another thing.
        """
        nobody_can = self._grower.claim is not None or self.best().reason is UNJUDGED
        return self.controller.must_verify and not nobody_can

    # ---- what it asks next

    def _fill(self) -> None:
        while self.status is SearchStatus.RUNNING:
            if self._refused and not self._open:
                return self._end(self._refused)
            if self._refused or len(self._live) >= self._at_once:
                return None
            routine = next(self._fresh, None)
            if routine is None:
                if not self._live:
                    self._end(self._why_over())
                return None
            self._live.append(routine)
            self._resume(routine)
        return None

    def _why_over(self) -> Ended:
        """Why no routine follows: the controller may know better than that nothing is left."""
        say = getattr(self.controller, "why_over", None)
        return Ended.SEARCHED_OUT if say is None else say(self.tree)

    def _after_direct_answer(self, routines: Iterator[Routine], at_once: int) -> Iterator[Routine]:
        """One direct answer first, alone; where code accepts it the search ends there, at one call."""

        def answer() -> Routine:
            yield [Answer(0)]
            return None

        yield answer()
        self._at_once = at_once
        yield from routines

    def _resume(self, routine: Routine) -> None:
        """Run `routine` up to its next non-empty batch, and issue that batch as far as the budget goes."""
        if self.status is not SearchStatus.RUNNING:
            return
        while True:
            try:
                while not (requests := next(routine)):
                    pass
            except StopIteration as finished:
                self._live.remove(routine)
                if finished.value is not None:
                    self._end(finished.value)
                return
            batch = self._issue(routine, requests)
            if batch.missing:
                return
            del self._batches[batch]  # another routine had asked all of it, and was told: nothing to wait for
            self._apply(batch)
            if self.status is not SearchStatus.RUNNING:
                return

    def _issue(self, routine: Routine, requests: Sequence[Request]) -> Batch:
        batch = Batch(routine, requests.log if type(requests) is Logged else None)
        self._batches[batch] = None
        if not self._reflects:
            requests = [request for request in requests if type(request) is not Reflect]
        for request in samples(requests) if self._sampled else requests:
            item = self._shared.get(request)
            if item is None:
                self._refused = self._refused or self._over(request)
                if self._refused:
                    batch.missing = 1  # never complete: the routine is closed when the last reply is in
                    break
                item = self._shared[request] = Item(request, [batch])
                self._hand_out(item)
            else:
                item.batches.append(batch)
            batch.items.append(item)
        batch.missing += sum(item.outcome is None for item in batch.items)
        return batch

    def ceiling(self, request: Request) -> Ended | None:
        """The ceiling reached since `request` was asked: its call may not start, and is told Refused."""
        return self._ceilings.met(self.spent, 0, 0) if self.price(request) else None

    def price(self, request: Request) -> int:
        """The LM calls that `request` reserves; 0: code or an environment answers it."""
        if type(request) is Rate and request.rater == "cheap":
            return self._calls["cheap"]
        return self._calls[type(request)]

    def _over(self, request: Request) -> Ended | None:
        calls = self.price(request)
        return self._short or self._ceilings.met(self.spent, self._reserved + self._held, calls) if calls else None

    def _hand_out(self, item: Item, delay: float = 0.0) -> None:
        self._open[self._next_id] = item
        self._reserved += self.price(item.request)
        self._outbox.append(Ask(self._next_id, item.request, item.attempt, delay))
        self._next_id += 1
