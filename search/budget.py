"""What a search may spend, what became of it, and why it ended."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import inf
from sys import float_info
from typing import Any

from .protocol import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Hard ceilings of one search; None is no ceiling.

    calls: LM calls, retries and the closing call included. Reserved before each call, never exceeded.
    tokens, cost (dollars): no call starts once reached. seconds: wall time; nothing starts after it, and the
    search returns then, whatever is still in flight. nodes: nodes of the tree, the root and dropped ones included.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    nodes: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            whole = field.name in ("calls", "tokens", "nodes")
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                kind = "an integer" if whole else "a number"
                raise TypeError(f"Budget({field.name}={value!r}): must be {kind}, or None for no ceiling")
            if not (0 < value < inf if whole else 0 < value <= float_info.max):
                raise ValueError(f"Budget({field.name}={value!r}): must be above 0, or None for no ceiling")

    @classmethod
    def of(cls, value: Budget | int | Mapping[str, Any] | None) -> Budget:
        """A budget from what people write: 60 (calls), a mapping of ceilings, a Budget, None."""
        if value is None:
            return cls()
        if isinstance(value, Budget):
            return value
        if isinstance(value, Mapping):
            return cls(**value)
        return cls(calls=value)

    def dump(self) -> dict[str, Any]:
        """The ceilings that are set, as JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Tally:
    """A running sum of `Usage`, without an object per reply."""

    __slots__ = ("calls", "cost", "seconds", "tokens")

    def __init__(self) -> None:
        self.calls, self.tokens, self.cost, self.seconds = 0, 0, 0.0, 0.0

    def add(self, usage: Usage) -> None:
        self.calls += usage.calls
        self.tokens += usage.tokens
        self.cost += usage.cost
        self.seconds += usage.seconds

    def usage(self) -> Usage:
        return Usage(self.calls, self.tokens, self.cost, self.seconds)


class Ceilings:
    """A budget as a search checks it: once a request, so without a None to test."""

    __slots__ = ("calls", "cost", "nodes", "tokens")

    def __init__(self, budget: Budget) -> None:
        self.calls = inf if budget.calls is None else budget.calls
        self.tokens = inf if budget.tokens is None else budget.tokens
        self.cost = inf if budget.cost is None else budget.cost
        self.nodes = inf if budget.nodes is None else budget.nodes

    def met(self, spent: Tally, reserved: int, more: int) -> Ended | None:
        """The ceiling that `more` calls would pass, `reserved` being promised already."""
        if spent.calls + reserved + more > self.calls:
            return Ended.CALLS
        if spent.tokens >= self.tokens:
            return Ended.TOKENS
        return Ended.COST if spent.cost >= self.cost else None


class SearchStatus(enum.StrEnum):
    """What the answer is worth. `SearchResult.ended` says why the search ended."""

    RUNNING = "running"
    CLOSING = "closing"  # the search is over; its closing call is still out
    SOLVED = "solved"
    UNVERIFIED = "unverified"
    FAILED = "failed"


class Ended(enum.StrEnum):
    """Why a search ended."""

    GOAL = "goal"
    SEARCHED_OUT = "searched out"
    ROLLOUTS = "rollouts"
    PATIENCE = "patience"
    EXPANSIONS = "expansions"
    CALLS = "calls"
    TOKENS = "tokens"
    COST = "cost"
    SECONDS = "seconds"
    NODES = "nodes"
    STOPPED = "stopped"
    ERROR = "error"
