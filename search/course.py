"""The course of a search: what a reply leads to, what is asked next, and how it ends.

A batch's outcomes are applied in the batch's order once all are told, so with one routine at a time, and no ceiling
met, the tree does not depend on the order of the replies. It runs the controller's `Routines`, asks `Requests`, and
keeps an `Account`.
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
from .protocol import Answer, Failed, Outcome, Propose, Proposed, Refused, Request
from .rating import Rating
from .requests import Requests
from .routines import Routines
from .tree import SOLVED, A, Node, S, Tree

# Module constants: reading a member through its enum class costs a lookup per reply.
RUNNING, CLOSING = SearchStatus.RUNNING, SearchStatus.CLOSING


class Course(Generic[S, A]):
    """The state of a `Search`, which says what its arguments are, and the ways on from it."""

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

    def best(self) -> Node[S, A]:
        """The solution, else what the model calls final, else the controller's choice, else a direct answer."""
        found = self._grower.solution or self._grower.claim or self.controller.choose(self.tree)
        if found.id == 0:
            return max((n for n in self.tree if n.answer is not None), key=lambda n: n.value or 0.0, default=found)
        return self.tree[found.id]  # once it was left, the tree is a copy
