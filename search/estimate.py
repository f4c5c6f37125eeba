"""The most that a search can cost, before it is run."""

from __future__ import annotations

from math import inf


def most_expanded(
    branching: int | None, max_depth: int, width: int | None, expansions: int | None
) -> tuple[int, int] | None:
    """The most expansions and evaluations, when each expansion gives `branching` children.

    Level by level: the root, then as many of a level's nodes as `width` allows, to the last level that is
    expanded. With branching 3 and depth 3: 13 and 39 exhaustively, 5 and 15 with width 2. None where
    nothing bounds it (branching None).
    """
    if branching is None:
        return None
    most, expanded, level = inf if expansions is None else expansions, 0, 1
    for _ in range(max_depth):
        level = level if width is None else min(level, width)
        expanded += level
        if expanded >= most:
            return int(most), int(most) * branching
        level *= branching
        if level > 10**15:  # an estimate of this size says only: too many
            break
    return expanded, expanded * branching
