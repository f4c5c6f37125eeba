"""What one request of a search may call, and what its calls have spent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import dspy

from ...search.protocol import Usage
from .limit import Refusal


class OverCalls(RuntimeError):
    """A role made more LM calls for one request than were reserved for it."""

    def __init__(self, reserved: int) -> None:
        super().__init__(
            f"this role made more LM calls than the {reserved} reserved for one request; "
            "declare `calls=k` for it, k being the most that it makes"
        )


def current() -> Meter | None:
    """The meter of the request that is being answered here, or None outside a search.

    It travels in DSPy's own settings: a ContextVar of ours is lost in the threads of dspy.Parallel.
    """
    found = dspy.settings.get("search_meter")
    return found if isinstance(found, Meter) else None


def not_known(error: Exception) -> Exception:
    """`error`, of a request that no recording holds, after the request of a search that is being answered has it."""
    if (meter := current()) is not None:
        meter.unknown = meter.unknown or error
    return error


@dataclass(slots=True, eq=False)
class Meter:
    """What one request spends. Thread-safe: a role may call from threads of its own.

    left: calls still reserved. calls: calls started. cost: dollars. seconds: call time.
    unpriced: calls that were paid for at an unknown price. records: one dict for each reply.
    deadline: a reading of `time.monotonic()` past which no call of this request may start, or wait.
    ended: whether the search is over, so that a call which waited for its turn is not made any more.
    inside: shared by all requests of the search.
    unknown: the request that a ReplayLM did not know. It breaks the search off, whatever the role makes of it.
    parent: the meter of an outer search's request, if this search runs inside one: its calls count there too.
    """

    left: int = 1
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    unpriced: int = 0
    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    passed_by: str | None = None  # a model that was called past the gate
    unknown: Exception | None = None
    deadline: float | None = None
    ended: Callable[[], bool] | None = field(default=None, repr=False)
    parent: Meter | None = field(default_factory=current, repr=False)
    secrets: set[str] = field(default_factory=set[str], repr=False)  # never to appear in a message
    spellings: tuple[str, ...] = field(default=(), repr=False)  # of those, what an observation must not tell
    inside: set[Any] = field(default_factory=set[Any], repr=False)  # the calls of its search that have their turn
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def goes_in(self, passage: Any) -> None:
        """Note a call that has its turn, for the searches that may end without it."""
        self.inside.add(passage)
        if self.parent is not None:
            self.parent.goes_in(passage)

    def comes_out(self, passage: Any) -> None:
        self.inside.discard(passage)
        if self.parent is not None:
            self.parent.comes_out(passage)

    def take(self, n: int = 1) -> None:
        """Reserve `n` calls. OverCalls: there are no more; Refusal: an outer search has no more."""
        with self._lock:
            if self.left < n:
                raise OverCalls(self.left + self.calls)
            self.left -= n
            self.calls += n
        if self.parent is not None:
            try:
                self.parent.take(n)
            except OverCalls as over:
                self.give_back(n, outer=False)
                raise Refusal("calls", f"a search inside another: {over}") from over
            except BaseException:
                self.give_back(n, outer=False)
                raise

    def give_back(self, n: int = 1, *, outer: bool = True) -> None:
        """Return reservations of calls that did not start."""
        with self._lock:
            self.left += n
            self.calls -= n
        if outer and self.parent is not None:
            self.parent.give_back(n)

    def saw(self, model: str) -> None:
        """Count a call that passed the gate by. It cannot be refused any more; see `settle`."""
        with self._lock:
            self.left -= 1
            self.calls += 1
            self.passed_by = model
        if self.parent is not None:
            self.parent.saw(model)

    def settle(self) -> None:
        """OverCalls if more calls were made than reserved: those past the gate are known only after they were made.

        `unknown` is raised again: code around the call may have caught it.
        """
        if self.unknown is not None:
            raise self.unknown
        if self.left < 0:
            raise OverCalls(self.left + self.calls)

    def record(self, entry: dict[str, Any]) -> None:
        """Add a reply: see `gate` for what an entry holds."""
        with self._lock:
            self.tokens += total_tokens(entry["usage"])
            self.cost += entry["cost"] or 0.0
            self.seconds += entry["seconds"]
            self.unpriced += entry["cost"] is None
            self.records.append(entry)
        if self.parent is not None:
            self.parent.record(entry)

    def lost(self, seconds: float, secrets: Iterable[str] = ()) -> None:
        """Add the time of a call that brought no reply, and what its error must not tell."""
        with self._lock:
            self.seconds += seconds
            self.secrets.update(secrets)
        if self.parent is not None:
            self.parent.lost(seconds, secrets)

    @property
    def until(self) -> float | None:
        """The earliest deadline, outer searches included."""
        return self.deadline if self.parent is None else earliest([self.deadline, self.parent.until])

    @property
    def unwanted(self) -> bool:
        """Whether nobody waits for this request's reply any more: its search has ended, or an outer one."""
        if self.ended is not None and self.ended():
            return True
        return self.parent is not None and self.parent.unwanted

    @property
    def text(self) -> str:
        """What the model said last, whether or not an adapter could parse it."""
        return "\n".join(self.records[-1]["outputs"]) if self.records else ""

    def usage(self) -> Usage:
        return Usage(self.calls, self.tokens, self.cost, self.seconds)


def earliest(moments: Iterable[float | None]) -> float | None:
    """The first of these moments; None: there is none among them."""
    known = [moment for moment in moments if moment is not None]
    return min(known) if known else None


def total_tokens(usage: dict[str, Any]) -> int:
    """Tokens in and out, whichever counters the provider sends. What is no count counts nothing: the reply is good."""
    total = count_of(usage.get("total_tokens"))
    if total is None:
        return (count_of(usage.get("prompt_tokens")) or 0) + (count_of(usage.get("completion_tokens")) or 0)
    return total


def count_of(told: Any) -> int | None:
    """A provider's counter, or None. One below 0 would lift a ceiling."""
    try:
        count = int(told)
    except (TypeError, ValueError, OverflowError):
        return None
    return count if count >= 0 else None
