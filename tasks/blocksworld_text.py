"""Facts of Blocksworld as people and models write them, in and out: PDDL, `on(a,b)`, plain words, lists of any."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .blocksworld_facts import ARITY, blocks_of, completed, fact, parts, places, violated
from .blocksworld_words import NAME, Said, Statement
from .blocksworld_words import said as said_in_words
from .layout import brief

_PREDICATE = r"on[-_]?table|on|clear|holding|in[-_]?hand|held|(?:hand|arm|gripper)[-_]?empty"
_NAMED = {"inhand": "holding", "held": "holding", "armempty": "handempty", "gripperempty": "handempty"}
_TABLE = ("table", "floor", "ground")
_NO_BLOCK = (*_TABLE, "the", "top", "it")
_FORMAL = re.compile(
    rf"(?P<no>\(\s*not\s*|\b(?:not|no longer)\s+|[¬~!]\s*)?"
    rf"(?:(?<![\w-])(?P<call>{_PREDICATE})\s*\(\s*(?P<arguments>{NAME}(?:\s*,\s*{NAME})*)?\s*\)"
    rf"|\(\s*(?P<list>{_PREDICATE})(?P<names>(?:\s+{NAME}){{0,3}})\s*\))(?(no)\s*\)?)"
    rf"|(?P<bare>(?<![^\n,;])[ \t]*(?P<word>{_PREDICATE})(?P<plain>(?:[ \t]+{NAME}){{0,2}})[ \t]*(?![^\n,;.]))",
)
_SECTION = {"initial": ":init", "goal": ":goal"}
_PDDL_WORDS = re.compile(r"(?<=\()\s*(?:and|:init|:goal)\b")
MEND = "write facts such as `on(a,b), ontable(b), clear(a), handempty`, PDDL, or `the red block is on the table`"


def said(text: str, blocks: Collection[str] | None = None) -> Said:
    """The facts that a text states and denies: those in formal notation, then those in plain words.

    blocks: the names of the blocks. None: any word that has no other meaning is one.
    """
    text = text.casefold()
    formal: list[Statement] = []

    def take(match: re.Match[str]) -> str:
        predicate = re.sub("[-_]", "", match["call"] or match["list"] or match["word"])
        predicate = _NAMED.get(predicate, predicate)
        names = re.findall(NAME, match["arguments"] or match["names"] or match["plain"] or "")
        if predicate == "on" and len(names) == 2 and names[1] in _TABLE and names[0] not in _NO_BLOCK:
            predicate, names = "ontable", names[:1]
        if len(names) != ARITY[predicate] or any(name in _NO_BLOCK for name in names):
            return match[0]
        formal.append(Statement(fact(predicate, *names), match["no"] is None))
        return ";"

    rest = _FORMAL.sub(take, text)
    rest = re.sub(r"\[\s?\]|\{\s?\}", " none ", _PDDL_WORDS.sub(" ", rest))  # an empty list
    words = said_in_words(re.sub(r"[()\[\]{}\"`*]", " ", rest), blocks if blocks is not None or not formal else ())
    return Said(formal + words.statements, words.unread, words.dangling or rest.count("(") > rest.count(")"))


def read_facts(given: Any, name: str, blocks: Collection[str] | None = None) -> frozenset[str]:
    """The facts in `given`, the value of the input `name`: a text or a list of texts.

    blocks: all that there are; None: those that it names. ValueError, naming input and value, for anything else.
    """
    if isinstance(given, str):
        texts = [_section(given, _SECTION.get(name, ""))]
    elif isinstance(given, Iterable) and not isinstance(given, Mapping | bytes):
        texts = list(given)
    else:
        raise ValueError(f"{name}={brief(given)}: no text and no list; {MEND}")
    found: set[str] = set()
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"{name}: {brief(text)} is no text; {MEND}")
        if text.count("(") != text.count(")"):
            raise ValueError(f"{name}: unbalanced brackets in {brief(text.strip())}; {MEND}")
        read = said(text)
        if read.denied:
            raise ValueError(f"{name}={brief(text.strip())} denies {min(read.denied)}; give only what holds")
        if read.unread or (text.strip() and not read.statements):
            unread = f", in {brief(read.unread[0])}" if read.unread else ""
            raise ValueError(f"{name}={brief(text.strip())}: no fact{unread}; {MEND}")
        found |= read.facts
    if blocks is not None and (unknown := sorted(blocks_of(found) - frozenset(blocks))):
        known = ", ".join(sorted(blocks))
        raise ValueError(f"{name}: unknown block {brief(unknown[0])}; the blocks are {known}")
    return frozenset(found)


def read_initial(given: Any) -> frozenset[str]:
    """A whole state; what follows from the places of its blocks may be left out. ValueError for anything else."""
    facts = read_facts(given, "initial")
    if not facts:
        raise ValueError(f"initial={brief(given)}: no facts; {MEND}")
    facts = completed(facts)
    if broken := violated(facts):
        lost = sorted(blocks_of(facts) - places(facts).keys())
        mend = f"; say where {lost[0]} is, such as `ontable({lost[0]})`" if lost else ""
        raise ValueError(f"initial={brief(given)}: {broken[0]}{mend}")
    return facts


def _section(text: str, name: str) -> str:
    """The part of a PDDL problem that has this name; the whole text where it has no such part."""
    start = text.casefold().find(f"({name}") if name else -1
    if start < 0:
        return text
    depth = 0
    for end in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if not depth:
            return text[start : end + 1]
    return text[start:]


# -- out

_WORDS = {
    "on": "the {} block is on top of the {} block",
    "ontable": "the {} block is on the table",
    "clear": "the {} block is clear",
    "holding": "the hand is holding the {} block",
    "handempty": "the hand is empty",
}


def in_words(fact: str) -> str:
    """`the red block is on the table` of `ontable(red)`; a name that is no word comes after `block`."""
    predicate, *blocks = parts(fact)
    text = _WORDS[predicate]
    for block in blocks:
        text = text.replace("the {} block", called(block), 1)
    return text


def called(block: str) -> str:
    """`the red block`, or `block b1`."""
    return f"the {block} block" if len(block) > 2 and block.isalpha() else f"block {block}"


def in_pddl(facts: Iterable[str]) -> str:
    """`(on a b)` a line, in a fixed order."""
    return "\n".join(f"({' '.join(parts(each))})" for each in sorted(facts))
