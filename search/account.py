"""What a search was told: what the replies cost, and how many of each kind went wrong."""

from __future__ import annotations

from array import array
from itertools import zip_longest

from .budget import Tally
from .protocol import FREE, Failed, Illegal, Outcome, Rate, Rated, Request, Stepped, Unread, Usage
from .roles import ROLES

SPARE = 64  # nodes that a column has room for, beside those that were paid for


class Account:
    """spent: in all, and by role. told: replies. unread: by role, those that came and could not be read. failed: calls,
    and steps of the task's own code, that raised; errors: their texts, in order of appearance, with how often.
    clamped: ratings off their scale. foreseen, unforeseen: steps that a world model predicted, and others that it was
    asked about.
    """

    def __init__(self) -> None:
        self.spent, self.by_role = Tally(), {role: Tally() for role in ROLES.values()}
        # Calls, tokens, dollars, seconds: of node 0, of node 1, ... What nothing was ever spent in takes no memory.
        self._by_node = array("d"), array("d"), array("d"), array("d")
        self.unread = dict.fromkeys(ROLES.values(), 0)
        self.told = self.failed = self.clamped = self.foreseen = self.unforeseen = 0
        self.errors: dict[str, int] = {}
        self._replies = dict.fromkeys(ROLES.values(), 0)
        self._faults: dict[str, tuple[int, str | None]] = {}  # by role: how many, and the first error

    def pay(self, request: Request, usage: Usage) -> None:
        """A reply was told, whatever it says."""
        self.told += 1
        self._replies[ROLES[type(request)]] += 1
        if usage is not FREE:
            self.spent.add(usage)
            self.by_role[ROLES[type(request)]].add(usage)
            self._share(request.nodes if type(request) is Rate else (request.node,), usage)  # type: ignore[union-attr]

    def charge(self, kind: type[Request], usage: Usage) -> None:
        """A reply was paid for that is not told."""
        self.spent.add(usage)
        self.by_role[ROLES[kind]].add(usage)

    def _share(self, nodes: tuple[int, ...], usage: Usage) -> None:
        amounts = usage.calls, usage.tokens, usage.cost, usage.seconds
        for column, amount in zip(self._by_node, amounts, strict=True):
            if amount:
                share, missing = amount / len(nodes), max(nodes) + 1 - len(column)
                if missing > 0:
                    column.frombytes(bytes((missing + SPARE) * column.itemsize))
                for id in nodes:
                    column[id] += share

    @property
    def by_node(self) -> dict[int, tuple[float, ...]]:
        """Calls, tokens, dollars and seconds of the replies about a node, by its id, for those that took something.

        Replies about several nodes are shared out evenly.
        """
        found = zip_longest(*self._by_node, fillvalue=0.0)
        return {id: spent for id, spent in enumerate(found) if any(spent)}

    @property
    def lost(self) -> dict[str, tuple[int, str | None]]:
        """The roles of which no reply was of any use: how many there were, and the first error; None: none was read."""
        return {role: fault for role, fault in self._faults.items() if fault[0] == self._replies[role]}

    def count_fault(self, kind: type[Request], outcome: Unread | Failed) -> None:
        count, first = self._faults.get(ROLES[kind], (0, None))
        error = outcome.error if isinstance(outcome, Failed) else None
        self._faults[ROLES[kind]] = count + 1, first or error
        if isinstance(outcome, Unread):
            self.unread[ROLES[kind]] += 1
        else:
            self.failed += 1
            self.errors[outcome.error] = self.errors.get(outcome.error, 0) + 1

    def count(self, outcome: Outcome) -> None:
        """What a reply says that the search still goes by."""
        if type(outcome) is Rated:
            self.clamped += outcome.clamped
        elif (type(outcome) is Stepped or type(outcome) is Illegal) and outcome.foreseen is not None:
            self.foreseen += outcome.foreseen
            self.unforeseen += not outcome.foreseen
