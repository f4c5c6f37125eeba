"""What a controller is to the state machine: knobs, routines that ask in batches, and a choice at the end."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from random import Random
from typing import Any, Protocol, TypeAlias

from .budget import Ended
from .protocol import Request
from .rating import Rating
from .tree import Node, Tree

# A routine yields a batch of requests and is resumed once all are answered and applied. It may return why the
# search ends with it; None: the next routine goes on, and after the last one the search is searched out.
Routine: TypeAlias = Generator[Sequence[Request], None, Ended | None]


class Log(Protocol):
    """Where a routine keeps account of what it asked."""

    def count(self, kind: type[Request], calls: int) -> None:
        """A reply to a request of that kind was told, and took so many LM calls."""
        ...


class Logged(list[Request]):
    """A batch whose replies are counted in `log`: those of requests that no other batch asked before it."""

    __slots__ = ("log",)

    def __init__(self, requests: Sequence[Request], log: Log) -> None:
        super().__init__(requests)
        self.log = log


class Controller(Protocol):
    """A frozen recipe. Holds knobs only; all run state lives in the tree and in the routines.

    dedupe: drop repeated actions and states. stop: "first" lets a goal end the search before the rest of its
    batch is told. must_verify: without a verified solution the search has failed.
    """

    @property
    def dedupe(self) -> bool: ...

    @property
    def stop(self) -> str: ...

    @property
    def must_verify(self) -> bool: ...

    def routines(self, tree: Tree[Any, Any], rating: Rating, rng: Random) -> Iterator[Routine]: ...

    def choose(self, tree: Tree[Any, Any]) -> Node[Any, Any]:
        """The node to give back when nothing was verified."""
        ...
