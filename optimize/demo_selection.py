"""Which demonstrations one predictor is shown: different ones, of many searches, both classes alike, within a cap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..modules.header import digest, settled
from .role_demos import Demo

NUMBERS = ("num_thoughts", "num_choices")  # how many were asked for makes no other problem


@dataclass(frozen=True, slots=True)
class Counts:
    """shown: of `found` that there were to choose from, no two alike. good, bad: of those shown that have a class.
    tokens: about, in all.
    """

    shown: int
    found: int
    good: int
    bad: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Selection:
    """demos: in the order in which they are shown. found: how many there were to choose from, no two alike."""

    demos: tuple[Demo, ...]
    found: int

    def counts(self) -> Counts:
        truths = [demo.truth for demo in self.demos]
        tokens = sum(demo.tokens for demo in self.demos)
        return Counts(len(self.demos), self.found, truths.count(True), truths.count(False), tokens)


def selected(searches: Sequence[Sequence[Demo]], *, most: int, per_search: int, tokens: int) -> Selection:
    """Of one predictor's demos, those of a search together.

    The first of each search, then the second of each, and so on. Where there are classes, a good one and a bad one in
    turn, in pairs: of one class alone none is shown, since a rater learns from it to say one thing.
    """
    ordered = _in_turn(_different(searches), per_search)
    classes = {truth: [demo for demo in ordered if demo.truth is truth] for truth in (True, False, None)}
    groups: list[tuple[Demo, ...]] = [(demo,) for demo in classes[None]]
    if classes[True] or classes[False]:
        groups = [*zip(classes[True], classes[False], strict=False), *groups]
    chosen: list[Demo] = []
    room = tokens
    for group in groups:
        size = sum(demo.tokens for demo in group)
        if len(chosen) + len(group) <= most and size <= room:  # one that is too long hides no other
            chosen.extend(group)
            room -= size
    return Selection(tuple(chosen), len(ordered))


def _different(searches: Sequence[Sequence[Demo]]) -> list[list[Demo]]:
    """Each question once: the first good reply stands for it."""
    seen: set[str] = set()
    kept: list[list[Demo]] = []
    for demos in searches:
        kept.append([])
        for demo in demos:
            key = digest(settled(_question(demo)))
            if key not in seen:
                seen.add(key)
                kept[-1].append(demo)
    return kept


def _question(demo: Demo) -> dict[str, Any]:
    inputs = demo.predictor.signature.input_fields
    return {name: value for name, value in demo.fields.items() if name in inputs and name not in NUMBERS}


def _in_turn(searches: Sequence[Sequence[Demo]], per_search: int) -> list[Demo]:
    """At most `per_search` of each class of each search."""
    ranked: list[tuple[int, int, Demo]] = []
    for number, demos in enumerate(searches):
        counts: Counter[bool | None] = Counter()
        for demo in demos:
            if counts[demo.truth] < per_search:
                ranked.append((counts[demo.truth], number, demo))
                counts[demo.truth] += 1
    return [demo for *_, demo in sorted(ranked, key=lambda item: item[:2])]
