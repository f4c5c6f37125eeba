"""The four actions of Blocksworld: as a model writes them, and what they do to a set of facts."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ..search.protocol import Illegal
from .blocksworld_facts import blocks_of, fact, parts
from .blocksworld_text import called
from .blocksworld_words import NAME

NO_ACTION = "not an action of Blocksworld"
NO_BLOCK = "unknown block"
SEVERAL = "several actions"
HAND_FULL = "hand not empty"
NOT_HELD = "block not held"
NOT_CLEAR = "block not clear"
NOT_ON_TABLE = "block not on the table"
NOT_ON_IT = "block not on that block"
TARGET_NOT_CLEAR = "block below not clear"


@dataclass(frozen=True, slots=True)
class BlockMove:
    """verb: "pick up", "put down", "stack" or "unstack". other: what it is stacked on, or unstacked from."""

    verb: str
    block: str
    other: str | None = None

    def __str__(self) -> str:
        """As `read_move` reads it again: `stack the red block on top of the blue block`."""
        between = " on top of " if self.verb == "stack" else " from on top of "
        return f"{self.verb} {called(self.block)}" + ("" if self.other is None else between + called(self.other))

    @property
    def pddl(self) -> str:
        """`(pick-up a)`, `(stack a b)`."""
        blocks = self.block if self.other is None else f"{self.block} {self.other}"
        return f"({self.verb.replace(' ', '-')} {blocks})"


_ONE, _TWO = (rf"(?:the |an? )?(?:block )?(?P<{group}>{NAME})(?: block)?" for group in ("block", "other"))
_TABLE = r"(?:the )?(?:table|ground|floor)"
_ON = r"(?:on(?:to)?(?: the)? top(?: of)?|on(?:to)?|upon|atop)"
_OFF = r"(?:from(?: on)?(?: top)?(?: of)?|off(?: of)?|from off)"
_PUT = rf"(?:put|place|set|lay|drop|move|stack)(?: down)? {_ONE}(?: back)?(?: down)? (?:on(?:to)?|to) {_TABLE}"
_FORMS = tuple(
    (verb, re.compile(form))
    for verb, form in (
        ("put down", rf"(?:put[ -]?down|set down|lay down) {_ONE}(?: on(?:to)? {_TABLE})?"),
        ("put down", _PUT),
        ("put down", rf"put {_ONE} down"),
        ("pick up", rf"(?:pick[ -]?up|lift|grab|take)(?: up)? {_ONE}(?: (?:up )?(?:from|off(?: of)?) {_TABLE})?"),
        ("pick up", rf"(?:pick|lift) {_ONE} up(?: from {_TABLE})?"),
        ("stack", rf"(?:stack|put|place|set|drop)(?: down)? {_ONE} {_ON} {_TWO}"),
        ("unstack", rf"(?:unstack|pick[ -]?up|lift|take|remove|grab)(?: up)? {_ONE}(?: up)? {_OFF} {_TWO}"),
        ("stack", rf"stack {_ONE} {_TWO}"),
        ("unstack", rf"unstack {_ONE} {_TWO}"),
    )
)
_SEPARATE = re.compile(r"[.;!\n]|\bthen\b|\band (?=(?:pick|put|stack|unstack|place|lift|take)\b)")
_TALK = re.compile(r"(?:(?:action|step|move|next)(?:\s?[0-9]{1,3}\s?:?|\s?:)|i (?:will |would )?|now |first |next )\s*")


def read_move(text: str, blocks: Collection[str]) -> BlockMove | Illegal:
    """The one action that `text` states, in PDDL or in words, or why there is none."""
    text = re.sub(r"[ \t_]+", " ", text.casefold()).strip()
    text = re.sub(r"[()\[\]\"'`*,]+", " ", text).strip()
    text = text[talk.end() :] if (talk := _TALK.match(text)) else text
    found = [move for part in _SEPARATE.split(text) if (move := _form(" ".join(part.split())))]
    if not found:
        return Illegal(NO_ACTION)
    if len(found) > 1:
        return Illegal(SEVERAL)
    move = found[0]
    if not {move.block, move.other} - {None} <= set(blocks):
        return Illegal(NO_BLOCK)
    return move


def _form(text: str) -> BlockMove | None:
    for verb, form in _FORMS:
        if match := form.fullmatch(text):
            return BlockMove(verb, match["block"], match["other"] if "other" in form.groupindex else None)
    return None


def after(facts: frozenset[str], move: BlockMove) -> frozenset[str] | Illegal:
    """The facts after a move, by the rules of the four-operator Blocksworld, or the rule that forbids it."""
    a, b = move.block, move.other
    held, free, table, clear = fact("holding", a), "handempty", fact("ontable", a), fact("clear", a)
    if not {a, b} - {None} <= blocks_of(facts):
        return Illegal(NO_BLOCK)
    if move.verb in ("put down", "stack"):
        if held not in facts:
            return Illegal(NOT_HELD)
        if b is None:
            return facts - {held} | {table, clear, free}
        if a == b or fact("clear", b) not in facts:
            return Illegal(TARGET_NOT_CLEAR)
        return facts - {held, fact("clear", b)} | {fact("on", a, b), clear, free}
    if free not in facts:
        return Illegal(HAND_FULL)
    place = table if b is None else fact("on", a, b)
    if place not in facts:
        return Illegal(NOT_ON_TABLE if b is None else NOT_ON_IT)
    if clear not in facts:
        return Illegal(NOT_CLEAR)
    return facts - {place, clear, free} | {held} | ({fact("clear", b)} if b is not None else frozenset())


def legal(facts: frozenset[str]) -> list[BlockMove]:
    """The legal moves: put down, stack; unstack, pick up; by the names of the blocks."""
    clear = sorted(parts(each)[1] for each in facts if each.startswith("clear("))
    held = [parts(each)[1] for each in facts if each.startswith("holding(")]
    if held:
        return [BlockMove("put down", held[0]), *(BlockMove("stack", held[0], b) for b in clear if b != held[0])]
    if "handempty" not in facts:
        return []
    below = {parts(each)[1]: parts(each)[2] for each in facts if each.startswith("on(")}
    top = [BlockMove("unstack", block, below[block]) for block in clear if block in below]
    return top + [BlockMove("pick up", block) for block in clear if fact("ontable", block) in facts]
