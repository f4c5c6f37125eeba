"""Can these numbers make that target? Exact, by taking target and numbers apart from the two ends.

The last operation joins the values of two groups. Given a value of the smaller group, the inverse
operations say what the larger one must come to, so the values of a large group are never listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

from .arithmetic import combine
from .notation import Number, exact

LISTED = 4  # groups up to this size are listed with all their values


@lru_cache(maxsize=65536)
def reachable(numbers: tuple[Number, ...], target: Number) -> bool:
    """Can the sorted `numbers`, each used once with + - * /, come to `target`?"""
    if len(numbers) <= LISTED:
        return target in values(numbers)
    for small, large in splits(numbers):
        for value in values(small):
            if value == target == 0:  # 0 times whatever the others come to
                return True
            if any(reachable(large, needed) for needed in partners(value, target)):
                return True
    return False


@lru_cache(maxsize=4096)
def values(numbers: tuple[Number, ...]) -> frozenset[Number]:
    """All that the sorted `numbers` can come to, each used once."""
    if len(numbers) == 1:
        return frozenset(numbers)
    found: set[Number] = set()
    for small, large in splits(numbers):
        for a in values(small):
            for b in values(large):
                found |= {combine(a, "+", b), combine(a, "-", b), combine(b, "-", a), combine(a, "*", b)}
                if b:
                    found.add(combine(a, "/", b))
                if a:
                    found.add(combine(b, "/", a))
    return frozenset(found)


def splits(numbers: tuple[Number, ...]) -> Iterator[tuple[tuple[Number, ...], tuple[Number, ...]]]:
    """Each way to put sorted `numbers` in two groups once, the smaller group first."""
    everyone = range(len(numbers))
    seen = set()
    for size in range(1, len(numbers) // 2 + 1):
        for chosen in combinations(everyone, size):
            small = tuple(numbers[i] for i in chosen)
            large = tuple(numbers[i] for i in everyone if i not in chosen)
            if (small, large) not in seen and (large, small) not in seen:
                seen.add((small, large))
                yield small, large


def partners(value: Number, target: Number) -> set[Number]:
    """Each b that one operation joins with `value`, in either order, to `target`. Not for 0 and 0."""
    needed = {exact(target - value), exact(value - target), exact(value + target)}
    if value:
        needed |= {exact(Fraction(target, value)), exact(target * value)}
        if target:
            needed.add(exact(Fraction(value, target)))
    return needed
