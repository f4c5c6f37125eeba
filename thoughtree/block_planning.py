"""Blocksworld as someone plans it in the head: which moves come to mind first, and whether one was a good step.

It sees facts and a goal and looks one move ahead. A block is in place if it and all that is under it are where they
may stay; what is not in place is taken down, what has its place ready is put there.
"""

from __future__ import annotations

from dataclasses import dataclass

from .tasks.blocksworld_facts import completed, fact, parts
from .tasks.blocksworld_move import BlockMove, legal

Facts = frozenset[str]
TABLE, HAND = "(table)", "(hand)"  # where a block may be, besides on another: no names that blocks can have


def moves_to_try(facts: Facts, goal: Facts) -> list[BlockMove]:
    """The legal moves, good ones first."""
    return sorted(legal(facts), key=lambda move: not good(move, facts, goal))


def good(move: BlockMove, before: Facts, goal: Facts) -> bool:
    """Whether a move brings the goal nearer, as far as one sees."""
    view, block = View(where(before), where(goal), goal), move.block
    if move.verb == "stack":
        return view.wanted.get(block) == move.other and view.ready(block)
    if move.verb == "put down":
        return view.wanted.get(block) != HAND and (view.wanted.get(block) == TABLE or not view.ready(block))
    if view.in_place(block):
        return False
    return move.verb == "unstack" or view.ready(block)


def enough_steps(facts: Facts, goal: Facts) -> int:
    """How many actions reach the goal at the most: each block that is not in place is taken and put twice."""
    view = View(where(facts), where(goal), goal)
    return 4 * sum(place == HAND or not view.in_place(block) for block, place in view.at.items())


def undone(move: BlockMove, after: Facts) -> Facts:
    """What held before a move that was made."""
    block, places = move.block, {fact("holding", move.block), fact("ontable", move.block)}
    places |= {each for each in after if parts(each)[:2] == ("on", block)}
    if move.verb in ("stack", "put down"):
        was = fact("holding", block)
    else:
        was = fact("on", block, move.other) if move.other is not None else fact("ontable", block)
    stays = (each for each in after - places if parts(each)[0] not in ("clear", "handempty"))
    return completed([*stays, was])


def where(facts: Facts) -> dict[str, str]:
    """Block -> what it is on."""
    found: dict[str, str] = {}
    for predicate, *blocks in map(parts, facts):
        if predicate == "on":
            found[blocks[0]] = blocks[1]
        elif predicate in ("ontable", "holding"):
            found[blocks[0]] = TABLE if predicate == "ontable" else HAND
    return found


@dataclass(frozen=True, slots=True)
class View:
    """at: block -> what it is on. wanted: block -> what the goal has it on. goal: its facts."""

    at: dict[str, str]
    wanted: dict[str, str]
    goal: Facts

    def in_place(self, block: str) -> bool:
        """Whether a block may stay where it is: it is wanted there, or in nobody's way."""
        below = self.at[block]
        if below != self.wanted.get(block, below):
            return False
        return below in (TABLE, HAND) or (self.in_place(below) and self.free_for(block, below))

    def free_for(self, block: str, below: str) -> bool:
        """Whether the goal wants nothing else on `below`."""
        wants = [above for above, place in self.wanted.items() if place == below]
        return wants == [block] or not (wants or fact("clear", below) in self.goal)

    def ready(self, block: str) -> bool:
        """Whether the place that is wanted for a block can take it now."""
        place = self.wanted.get(block, TABLE)
        if place in (TABLE, HAND):
            return place == HAND
        return self.in_place(place) and not self.over(place)

    def over(self, block: str) -> list[str]:
        return [above for above, place in self.at.items() if place == block]
