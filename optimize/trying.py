"""Trying one setting on some examples, within what the study may still pay."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, Literal, get_args

import dspy

from ..modules.calls.limit import Refusal, active, limit
from ..modules.parts import copy_of
from ..modules.recording import Recording, RecordLM
from ..modules.recording.ledger import Ledger as Served
from ..search.protocol import Usage
from .ledger import KINDS, Amounts, Ledger
from .metering import Metering
from .outcome import Outcome
from .own_lms import with_own_lms
from .race import Result
from .running import Runner
from .scoring import Scorer
from .unshared import Unshared
from .workers import TimeIsUp, in_threads

Cost = Literal["calls", "tokens", "dollars", "seconds"]
GUESS = 60.0  # paid calls of an example, before any was run
ROOM = 1.5  # how much more than the mean is asked for


class Spent(Exception):
    """The study's budget does not let another example begin. why: which ceiling."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Hopeless(RuntimeError):
    """No example would fare better: a wrong key, an empty account. The first error."""


@dataclass(slots=True)
class Tried:
    """What one example came to, with all that a report may want to know."""

    result: Result
    outcome: Outcome


@dataclass(slots=True)
class Trier:
    """examples: all of them, by their place. recording: what LM calls are shared through; None: they are not."""

    examples: Sequence[dspy.Example]
    scorer: Scorer
    cost: Cost
    threads: int
    recording: Recording | None
    ledger: Ledger
    deadline: Callable[[], float | None]
    per_example: Amounts = field(default_factory=dict[str, float])
    seconds: float = 0.0  # wall time in which examples ran
    _ran: int = 0
    _paid: Amounts = field(default_factory=lambda: dict.fromkeys(KINDS, 0.0))

    def __post_init__(self) -> None:
        if self.cost not in get_args(Cost):
            raise ValueError(f"cost={self.cost!r}: must be one of {', '.join(map(repr, get_args(Cost)))}")

    @property
    def paid_calls(self) -> int:
        """What this process has paid."""
        return int(self._paid["calls"])

    def purse(self) -> limit:
        """A limit that nothing has been spent of, for `tries` of one holder."""
        return limit(seconds=self._seconds())

    def _seconds(self) -> float | None:
        left = self.deadline()
        if left is not None and left <= 0:
            raise Spent("seconds")
        return left

    def try_all(
        self,
        program: dspy.Module,
        ids: Sequence[int],
        holder: int | str,
        purse: limit,
        share: float,
        done: Callable[[int, Tried], None],
    ) -> None:
        """Run these examples; `done` hears of each as it ends, one at a time.

        purse: the holder's own, from its first examples on. Raises Spent where the budget ends first, and Hopeless.
        """
        lock, waiting, over = Lock(), list(ids), False
        if self.recording is None:  # else what its own LMs use is paid from the purse already
            program = with_own_lms(program, Metering.here().metered)
        while waiting:
            self._fund(holder, purse, len(waiting), share)
            before, refused = purse.spent, list[int]()

            def one(id: int, runner: Runner) -> None:
                tried = self._one(runner, id) if _has_a_call(purse) else None
                with lock:
                    if over:  # noqa: B023  # nobody waits for it any more
                        return
                    if tried is None:
                        refused.append(id)  # noqa: B023  # runs within this turn of the loop
                        return
                    if tried.outcome.fatal:
                        raise Hopeless(tried.outcome.error)
                    if self.cost == "dollars" and tried.outcome.unpriced:
                        raise Hopeless("cost='dollars': the price of an LM that was called is not known; give 'tokens'")
                    self._ran += 1
                    done(id, tried)

            began = time.monotonic()
            try:
                with self._sharing(purse):
                    runner = Runner(program, self.scorer, Metering.here())  # here, where the LM is the shared one
                    in_threads(waiting, partial(one, runner=runner), self.threads, cut=True)
            except TimeIsUp:
                with lock:
                    over = True
                raise Spent("seconds") from None
            finally:
                self.seconds += time.monotonic() - began
                self.ledger.settle(holder, purse.spent)
                self._learn(before, purse.spent)
            if refused and len(refused) == len(waiting) and purse.spent == before:
                self._stuck(purse)
            waiting = refused

    def _stuck(self, purse: limit) -> None:
        """Nothing was paid, and all was refused: more of the study's budget would not help. Spent, or Hopeless."""
        self._seconds()
        try:
            purse.check(1)
        except Refusal as refusal:
            raise Spent(refusal.why) if refusal.why == "seconds" else Hopeless(str(refusal)) from refusal
        try:
            for around in active():
                around.check(1)
        except Refusal as refusal:
            raise Spent(refusal.why) from refusal
        raise Hopeless("no example was let come to its end, though there is a budget left")

    def _one(self, runner: Runner, id: int) -> Tried | None:
        """None where a ceiling of the study did not let it come to its end."""
        served = Served()
        with dspy.context(search_saved=served):
            if hasattr(type(runner.program), "forward"):
                outcome = runner.run(id, self.examples[id], str(id))
            else:  # it has an asynchronous form only
                outcome = asyncio.run(runner.arun(id, self.examples[id], str(id)))
        if served.refused or outcome.at == "limit":
            return None
        spent = outcome.spent
        cost = {
            "calls": float(spent.calls),
            "tokens": float(spent.tokens),
            "dollars": spent.cost + served.hits.cost,
            "seconds": outcome.seconds,
        }[self.cost]
        return Tried(Result(outcome.score, cost, outcome.error), outcome)

    @contextmanager
    def _sharing(self, purse: limit) -> Iterator[None]:
        """LM calls are paid from `purse`; those that the recording answers are not."""
        if self.recording is None:
            with purse:
                yield
            return
        if purse.seconds is not None and purse.deadline is None:
            with purse:
                pass  # its time begins
        before, self.recording.purse = self.recording.purse, purse
        lm = dspy.settings.lm
        try:
            callbacks = [*(dspy.settings.callbacks or []), Unshared(purse)]
            with dspy.context(lm=recorded(lm, self.recording), callbacks=callbacks), limit(seconds=self._seconds()):
                yield
        finally:
            self.recording.purse = before

    def _fund(self, holder: int | str, purse: limit, examples: int, share: float) -> None:
        """Raise the purse's ceilings by what these examples are likely to take. Spent where nothing is left."""
        self._seconds()
        if not self.ledger.ceilings:
            return
        each = self.per_example or {"calls": GUESS}
        spent = purse.spent
        have = {"calls": float(spent.calls), "tokens": float(spent.tokens), "cost": spent.cost}
        more = {kind: ROOM * amount * examples for kind, amount in each.items() if amount}
        granted = self.ledger.claim(holder, have, more, share)
        if granted is None:
            why = min(self.ledger.left(holder, share).items(), key=lambda pair: pair[1] - have[pair[0]])[0]
            raise Spent(why)
        for kind, amount in granted.items():
            setattr(purse, kind, amount if kind == "cost" else int(amount))

    def _learn(self, before: Usage, now: Usage) -> None:
        """What an example takes on the average, by all that this worker has run."""
        self._paid["calls"] += now.calls - before.calls
        self._paid["tokens"] += now.tokens - before.tokens
        self._paid["cost"] += now.cost - before.cost
        if self._ran:
            self.per_example = {kind: paid / self._ran for kind, paid in self._paid.items()}
            self.per_example["calls"] = max(1.0, self.per_example["calls"])


def _has_a_call(purse: limit) -> bool:
    """Or else an example whose calls are all shared would begin, and then its judge's could not be refused."""
    try:
        purse.check(1)
    except Refusal:
        return False
    return True


def recorded(lm: Any, recording: Recording) -> Any:
    """`lm`, with its calls shared through the recording. ValueError for one whose calls cannot be."""
    if not isinstance(lm, dspy.BaseLM) or isinstance(lm, RecordLM):
        return lm
    try:
        return RecordLM(lm, recording)
    except TypeError as error:
        raise ValueError(f"lm={lm!r}: its calls cannot be shared between trials ({error}); give share=False") from error


def with_shared_calls(program: dspy.Module, recording: Recording | None) -> dspy.Module:
    """A copy whose own LMs go through the recording."""
    if recording is None:
        copied: dspy.Module = copy_of(program)
        return copied
    return with_own_lms(program, partial(recorded, recording=recording))
