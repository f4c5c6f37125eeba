"""What a reader of predicted states has to know of a world: which text is a fact, and what makes a whole state."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .lists import items


class Stated(Protocol):
    """A fact that a text states (holds) or denies."""

    @property
    def fact(self) -> str: ...

    @property
    def holds(self) -> bool: ...


class SaidOf(Protocol):
    """What a text says of a world. unread: what in it is no fact. dangling: it breaks off inside of one."""

    @property
    def statements(self) -> Sequence[Stated]: ...

    @property
    def unread(self) -> Sequence[str]: ...

    @property
    def dangling(self) -> bool: ...


class Vocabulary(Protocol):
    """The words of one world. A task may hold one; `Lines` is the one of a world that code knows nothing of."""

    def said(self, text: str, given: Collection[str]) -> SaidOf:
        """The facts that a text states and denies, in the state `given`."""
        ...

    def names(self, given: Collection[str]) -> frozenset[str]:
        """The things that the facts are about."""
        ...

    def changed(self, given: Collection[str], stated: Collection[str], denied: Collection[str]) -> frozenset[str]:
        """The state after a change that makes these facts true and those false."""
        ...

    def clash(self, facts: Collection[str], given: Collection[str]) -> str | None:
        """Why these facts cannot hold together in the world of `given`, if they cannot."""
        ...

    def lost(self, facts: Collection[str], given: Collection[str]) -> str | None:
        """What a whole state would have to say, and these facts do not."""
        ...


@dataclass(frozen=True, slots=True)
class Line:
    fact: str
    holds: bool = True


@dataclass(frozen=True, slots=True)
class SaidLines:
    statements: list[Line] = field(default_factory=list[Line])
    unread: list[str] = field(default_factory=list[str])
    dangling: bool = False


_DENIED = re.compile(r"(?:not|no longer|¬|~)\s+", re.IGNORECASE)


class Lines:
    """Each line, or item of a list, is a fact as it stands; `not ..` denies it."""

    def said(self, text: str, given: Collection[str]) -> SaidLines:
        known = {_spelled(fact): fact for fact in given}
        found: list[Line] = []
        for said in [*items(text), *_passed_over(text)]:
            said = said.rstrip(".;,")
            denied = _DENIED.match(said)
            said = said[denied.end() :] if denied else said
            found.append(Line(known.get(_spelled(said), said), denied is None))
        return SaidLines(found)

    def names(self, given: Collection[str]) -> frozenset[str]:
        return frozenset()

    def changed(self, given: Collection[str], stated: Collection[str], denied: Collection[str]) -> frozenset[str]:
        return frozenset(given) - frozenset(denied) | frozenset(stated)

    def clash(self, facts: Collection[str], given: Collection[str]) -> str | None:
        return None

    def lost(self, facts: Collection[str], given: Collection[str]) -> str | None:
        return None


# What ends a list of proposals, or numbers one, may be what holds in a world: `done`, `step 4`. `Done.` is talk.
_BARE = re.compile(r"^[ \t]*(?:[-*•][ \t]+|\d{1,3}[.)][ \t]+)?(done|end|step[ \t]?\d{1,6})[ \t]*$", re.MULTILINE)
_ALONE = re.compile(r"\s*(step[ \t]?\d{1,6})\s*", re.IGNORECASE)


def _passed_over(text: str) -> list[str]:
    """Facts that a reader of proposals takes for none."""
    alone = _ALONE.fullmatch(text)
    return [alone[1]] if alone else _BARE.findall(text)


def _spelled(fact: str) -> str:
    return " ".join(fact.casefold().split())
