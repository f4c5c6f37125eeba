"""The most that a search can cost, before it is run."""

from __future__ import annotations

from math import inf

MANY = 10**15  # an estimate of this size says only: too many


def most_expanded(
    branching: int | None,
    max_depth: int,
    width: int | None,
    expansions: int | None,
    keep: int | None = None,
) -> tuple[int, int] | None:
    """The most expansions and evaluations, when each expansion gives `branching` children.

    Level by level: the root, then as many of a level's nodes as `width` (per level) and `keep` (per
    expansion) allow, to the last level that is expanded. With branching 3 and depth 3: 13 and 39
    exhaustively, 5 and 15 with width 2. None where nothing bounds it (branching None).
    """
    if branching is None:
        return None
    most = inf if expansions is None else expansions
    followed = branching if keep is None else min(branching, keep)
    expanded, level = 0, 1
    for depth in range(max_depth):
        expanded += level
        if expanded >= min(most, MANY):
            break
        grown = level * followed if width is None else min(level * followed, width)
        if grown == level:  # nor will any later level be larger
            expanded += level * (max_depth - 1 - depth)
            break
        level = grown
    expanded = int(min(expanded, most))
    return expanded, expanded * branching
