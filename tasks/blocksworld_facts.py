"""The facts of Blocksworld, and which sets of them no world can have.

A fact is text: `on(a,b)`, `ontable(a)`, `clear(a)`, `holding(a)`, `handempty`. A state is a frozenset of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

ARITY = {"on": 2, "ontable": 1, "clear": 1, "holding": 1, "handempty": 0}

UNKNOWN_FACT = "unknown fact"
UNKNOWN_BLOCK = "unknown block"
TWO_PLACES = "block in two places"
NOWHERE = "block nowhere"
TWO_ON_ONE = "two blocks on one"
TWO_HELD = "two blocks held"
EMPTY_AND_HOLDING = "hand empty and holding"
COVERED_AND_CLEAR = "block clear under another"
HELD_AND_CLEAR = "block clear in the hand"
ON_HELD = "block on one in the hand"
CIRCLE = "blocks in a circle"


def fact(predicate: str, *blocks: str) -> str:
    """`on(a,b)` of "on", "a", "b"; `handempty` of itself."""
    return f"{predicate}({','.join(blocks)})" if blocks else predicate


@lru_cache(maxsize=4096)
def parts(fact: str) -> tuple[str, ...]:
    """("on", "a", "b") of `on(a,b)`."""
    predicate, _, rest = fact.partition("(")
    return (predicate, *rest.removesuffix(")").split(",")) if rest else (predicate,)


def blocks_of(facts: Iterable[str]) -> frozenset[str]:
    """The blocks that the facts name."""
    return frozenset(block for each in facts for block in parts(each)[1:])


def places(facts: Iterable[str]) -> dict[str, list[str]]:
    """Block -> the facts that say where it is: on another, on the table, in the hand."""
    found: dict[str, list[str]] = {}
    for each in facts:
        predicate, *blocks = parts(each)
        if predicate in ("on", "ontable", "holding"):
            found.setdefault(blocks[0], []).append(each)
    return found


def completed(facts: Iterable[str]) -> frozenset[str]:
    """The facts, and those of `clear` and `handempty` that follow from where the blocks are."""
    facts = frozenset(facts)
    placed = places(facts)
    covered = {parts(place)[-1] for where in placed.values() for place in where if place.startswith("on(")}
    held = {block for block, where in placed.items() if fact("holding", block) in where}
    clear = {fact("clear", block) for block in placed if block not in covered and block not in held}
    return facts | clear | (frozenset() if held else {"handempty"})


def moved(facts: Iterable[str], new: Iterable[str]) -> frozenset[str]:
    """The facts after the blocks that `new` places have gone there; what follows from places is worked out."""
    where = places(facts)
    for block, place in places(new).items():
        where[block] = place
    held = {block for block in where if fact("holding", block) in where[block]}
    if "handempty" in new:
        for block in held - set(places(new)):
            where[block] = []
    return completed(place for found in where.values() for place in found)


def violated(facts: Collection[str], blocks: Collection[str] | None = None) -> list[str]:
    """The rules of the world that these facts break, in a fixed order. blocks: all that there are; None: those named.

    A `clear` or `handempty` that is left out breaks none; a block of which no place is said does.
    """
    if any(len(parts(each)) - 1 != ARITY.get(parts(each)[0], -1) for each in facts):
        return [UNKNOWN_FACT]
    known = blocks_of(facts) if blocks is None else frozenset(blocks)
    placed = places(facts)
    found = dict.fromkeys(_of_places(placed, facts))
    if not blocks_of(facts) <= known:
        found[UNKNOWN_BLOCK] = None
    if not known <= placed.keys():
        found[NOWHERE] = None
    return list(found)


def _of_places(placed: dict[str, list[str]], facts: Collection[str]) -> Iterator[str]:
    below = {block: parts(place)[2] for block, where in placed.items() for place in where if place.startswith("on(")}
    under = [parts(each)[2] for each in facts if each.startswith("on(")]
    held = [parts(each)[1] for each in facts if each.startswith("holding(")]
    if any(len(where) > 1 for where in placed.values()):
        yield TWO_PLACES
    if len(under) > len(set(under)):
        yield TWO_ON_ONE
    if len(held) > 1:
        yield TWO_HELD
    if held and "handempty" in facts:
        yield EMPTY_AND_HOLDING
    if any(fact("clear", block) in facts for block in under):
        yield COVERED_AND_CLEAR
    if any(fact("clear", block) in facts for block in held):
        yield HELD_AND_CLEAR
    if any(block in under for block in held):
        yield ON_HELD
    if any(_returns(block, below) for block in below):
        yield CIRCLE


def _returns(block: str, below: dict[str, str]) -> bool:
    """Does going down from this block lead back to it?"""
    at = below[block]
    for _ in range(len(below)):
        if at == block:
            return True
        if at not in below:
            return False
        at = below[at]
    return False
