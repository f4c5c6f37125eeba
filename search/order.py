"""Which of several nodes comes first: by value, and among equals by age or by the seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from random import Random
from typing import Any, TypeVar

from .knobs import Ties
from .tree import PRUNED, Node

N = TypeVar("N", bound=Node[Any, Any])

UNREAD = "unread"  # the verdict of a node of whose ratings none could be read


def value(node: Node[Any, Any]) -> float:
    """The node's value; an unrated node comes after all rated ones."""
    return -inf if node.value is None else node.value


def ranked(nodes: Iterable[N], ties: Ties, rng: Random) -> list[N]:
    """Best value first. Equal values keep the given order, or are shuffled by `rng`."""
    nodes = list(nodes)
    if ties == "seed":
        rng.shuffle(nodes)
    return sorted(nodes, key=value, reverse=True)


def sampled(nodes: Sequence[N], k: int, rng: Random) -> list[N]:
    """`k` nodes drawn without replacement, each draw with probability proportional to value.

    The "sample" selection of the ToT authors' code. Values that are not positive weigh as the smallest
    positive one times 1e-3, so that no node is impossible; unrated nodes likewise.
    """
    positive = [v for n in nodes if (v := value(n)) > 0]
    floor = min(positive, default=1.0) * 1e-3
    weighed = [(node, max(value(node), floor)) for node in nodes]
    drawn: list[N] = []
    while weighed and len(drawn) < k:
        at = rng.random() * sum(weight for _, weight in weighed)
        for i, (_, weight) in enumerate(weighed):
            at -= weight
            if at <= 0 or i == len(weighed) - 1:
                drawn.append(weighed.pop(i)[0])
                break
    return drawn


def prune(nodes: Sequence[N], below: float | None) -> list[N]:
    """Close the nodes valued under `below`; return the others.

    Never pruned: an unrated node, and one of whose ratings none could be read, whatever an unread one counts for.
    """
    if below is None:
        return list(nodes)
    kept: list[N] = []
    for node in nodes:
        if node.value is not None and node.value < below and node.verdict != UNREAD:
            node.status, node.reason = PRUNED, below
        else:
            kept.append(node)
    return kept
