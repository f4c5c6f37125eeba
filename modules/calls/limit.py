"""`limit`: ceilings that all searches inside a `with` block share, nested and concurrent ones too.

    with thoughtree.limit(calls=200, cost=0.50, in_flight=16) as purse:
        programs_and_pipelines()
    print(purse.spent, purse.left)

A call passes every limit around it, the innermost first. One that would pass a ceiling does not start:
it raises `Refusal`, and the search ends with what it has found. Limits travel in a `dspy.context` key,
which reaches the threads of dspy.Parallel and dspy.Evaluate; a ContextVar of ours would be lost there.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import dspy

from ...search.protocol import Usage
from .slots import Pace, Slots

IN_FLIGHT = 64  # LM calls at once in this process, by default: DSPy's own connection pool holds 100


class Refusal(Exception):
    """A ceiling outside the search did not let a call start. `why`: calls, tokens, cost, seconds, stopped."""

    def __init__(self, why: str, message: str) -> None:
        super().__init__(message)
        self.why = why


@dataclass(slots=True)
class _Sum:
    """What has been spent. unpriced: a model that was paid for, and whose price nobody knows."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    stopped: bool = False
    unpriced: str | None = None


class limit:
    """What the LM calls inside this block may use together; a ceiling left out is no ceiling.

    seconds: from the first entry on. cost: dollars; tokens: in and out. Both are known only after a call,
    so once reached they stop new calls. calls: never exceeded, retries and nested searches included.
    in_flight: calls at once; further ones wait in order of arrival. It stands in place of the process's own 64, so more
    is possible (DSPy's native clients keep 100 connections). per_minute: starts in any 60 seconds;
    further ones wait.

    One limit may be entered many times, from several threads and tasks: they share its ceilings.
    """

    def __init__(
        self,
        *,
        seconds: float | None = None,
        cost: float | None = None,
        calls: int | None = None,
        tokens: int | None = None,
        in_flight: int | None = None,
        per_minute: int | None = None,
    ) -> None:
        self.seconds = _amount("seconds", seconds)
        self.cost = _amount("cost", cost)
        self.calls = _count("calls", calls)
        self.tokens = _count("tokens", tokens)
        in_flight, per_minute = _count("in_flight", in_flight), _count("per_minute", per_minute)
        self.slots = Slots(in_flight) if in_flight is not None else None
        self.pace = Pace(per_minute) if per_minute is not None else None
        self.deadline: float | None = None  # time.monotonic(), set on the first entry
        self._sum: Any = _Sum()
        self._lock: AbstractContextManager[Any] = threading.Lock()

    @property
    def spent(self) -> Usage:
        """What has been spent, calls in flight included. Seconds are call time: they overlap."""
        with self._lock:
            return Usage(self._sum.calls, self._sum.tokens, self._sum.cost, self._sum.seconds)

    @property
    def left(self) -> dict[str, float]:
        """What is left under each ceiling that was given."""
        spent, now = self.spent, time.monotonic()
        left: dict[str, float] = {}
        if self.seconds is not None:
            left["seconds"] = self.seconds if self.deadline is None else max(0.0, self.deadline - now)
        if self.cost is not None:
            left["cost"] = max(0.0, self.cost - spent.cost)
        if self.calls is not None:
            left["calls"] = max(0, self.calls - spent.calls)
        if self.tokens is not None:
            left["tokens"] = max(0, self.tokens - spent.tokens)
        return left

    def stop(self) -> None:
        """No further call starts inside, from now on: searches end with what they have found."""
        with self._lock:
            self._sum.stopped = True

    def check(self, n: int = 0) -> None:
        """Raise Refusal if `n` more calls may not start now."""
        with self._lock:
            self._check(n)

    def enter(self, n: int, deadline: float | None) -> None:
        """Reserve `n` calls and wait for a turn. Raises Refusal, and then holds nothing."""
        held = self._reserve(n)
        try:
            if self.slots is not None:
                self.slots.acquire(deadline)
                held.append(self.slots)
            if self.pace is not None:
                self.pace.acquire(deadline)
            self.check()  # others may have reached the cost while this one waited
        except BaseException as error:
            self._undo(n, held)
            if isinstance(error, TimeoutError):
                raise Refusal("seconds", str(error)) from error
            raise

    async def aenter(self, n: int, deadline: float | None) -> None:
        """The same for a task."""
        held = self._reserve(n)
        try:
            if self.slots is not None:
                await self.slots.aacquire(deadline)
                held.append(self.slots)
            if self.pace is not None:
                await self.pace.aacquire(deadline)
            self.check()
        except BaseException as error:
            self._undo(n, held)
            if isinstance(error, TimeoutError):
                raise Refusal("seconds", str(error)) from error
            raise

    def leave(self, unused: int = 0, holder: Any = None) -> None:
        """Give the turn back, and `unused` calls that never started."""
        self._undo(unused, [self.slots] if self.slots is not None else [], holder)

    def add(self, tokens: int, cost: float | None, seconds: float, model: str = "") -> None:
        """Count what a call has cost; `cost` None: it was paid for, and nobody knows how much."""
        with self._lock:
            self._sum.tokens += tokens
            self._sum.cost += cost or 0.0
            self._sum.seconds += seconds
            if cost is None:
                self._sum.unpriced = model

    def saw(self) -> None:
        """Count a call that passed the gate by."""
        with self._lock:
            self._sum.calls += 1

    def _reserve(self, n: int) -> list[Slots]:
        with self._lock:
            self._check(n)
            self._sum.calls += n
        return []

    def _undo(self, n: int, held: list[Slots], holder: Any = None) -> None:
        for slots in held:
            slots.release(holder)
        if n:
            with self._lock:
                self._sum.calls -= n

    def _check(self, n: int) -> None:
        if self._sum.stopped:
            raise Refusal("stopped", "stopped from outside")
        if self.calls is not None and self._sum.calls + n > self.calls:
            raise Refusal("calls", f"limit(calls={self.calls}) is used up")
        if self.tokens is not None and self._sum.tokens >= self.tokens:
            raise Refusal("tokens", f"limit(tokens={self.tokens}) is used up: {self._sum.tokens} were spent")
        if self.cost is not None and self._sum.cost >= self.cost:
            raise Refusal("cost", f"limit(cost={self.cost}) is used up: ${self._sum.cost:.4f} were spent")
        if self.cost is not None and self._sum.unpriced is not None:
            raise Refusal(
                "cost",
                f"limit(cost={self.cost}) cannot be held: the price of {self._sum.unpriced} is unknown; "
                "give its prices, or use tokens= or calls=",
            )
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise Refusal("seconds", f"limit(seconds={self.seconds}) is over")

    def __enter__(self) -> limit:
        with self._lock:
            if self.seconds is not None and self.deadline is None:
                self.deadline = time.monotonic() + self.seconds
        around = active()
        context = dspy.context(search_limit=around if self in around else (self, *around))
        context.__enter__()
        _entered.set((*_entered.get(), (self, context)))
        return self

    def __exit__(self, *error: Any) -> None:
        """RuntimeError where it is not the last one entered here: to leave it would put back what is around another."""
        entered = _entered.get()
        if not entered or entered[-1][0] is not self:
            open_here = any(one is self for one, _ in entered)
            why = "one that was entered after it is still open" if open_here else "it was not entered here"
            raise RuntimeError(f"limit left out of order: {why}; use `with`, in the thread or task that enters it")
        _entered.set(entered[:-1])
        entered[-1][1].__exit__(*error)

    async def __aenter__(self) -> limit:
        return self.__enter__()

    async def __aexit__(self, *error: Any) -> None:
        self.__exit__(*error)


# What `with limit(...)` opened in this thread or task; not kept on the limit, which others may enter too.
_entered: ContextVar[tuple[tuple[limit, AbstractContextManager[Any]], ...]] = ContextVar(
    "thoughtree_limits", default=()
)


def active() -> tuple[limit, ...]:
    """The limits around this call, innermost first; the process's own comes last, and is not among them."""
    found = dspy.settings.get("search_limit")
    return found if isinstance(found, tuple) else ()


def _count(name: str, value: int | None) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise ValueError(f"limit({name}={value!r}): give a whole number above 0, or leave it out for no ceiling")


def _amount(name: str, value: float | None) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= sys.float_info.max:
        return float(value)
    raise ValueError(f"limit({name}={value!r}): give a finite number above 0, or leave it out for no ceiling")


PROCESS = limit(in_flight=IN_FLIGHT)  # around all others, always


def _in_child() -> None:
    """A fork copies the turns that are taken, and not the threads that would give them back."""
    PROCESS.slots, PROCESS._lock = Slots(IN_FLIGHT), threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_in_child)
