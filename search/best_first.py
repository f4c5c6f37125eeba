"""Best-first search: one priority queue over all depths."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from random import Random
from typing import Any, Literal

from .best import best_of_deepest, best_seen
from .budget import Ended
from .controller import Routine
from .expand import expand
from .knobs import Knobs, knob
from .order import prune, ranked, value
from .rating import Rating
from .tree import PRUNED, A, Node, S, Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class BestFirst(Knobs):
    """Expand the `open` best nodes at a time, wherever in the tree they are.

    branching: children proposed per node (None: all). max_depth: the deepest node's depth.
    keep: the best children of each expansion that enter the queue (None: all).
    expansions: nodes expanded at most; the bill's cap.
    prune_below: children valued under it are dropped (None: the rating scale's own cut).
    Shallow states look better, having committed to less: `depth_bonus` is added once per level, and
    `normalise` measures each value against the mean of its own depth. Equal priorities go to the "deeper"
    node by default.
    best: without a verified solution, give the best state "seen" at any depth, or the best of the "deepest".
    """

    ties: Literal["age", "seed", "deeper"] = "deeper"
    branching: int | None = knob(3, low=1, high=10)
    max_depth: int = knob(3, low=1, high=20)
    keep: int | None = knob(2, low=1, high=10)
    expansions: int = knob(25, low=1, high=200)
    prune_below: float | None = knob(None, of="value")
    depth_bonus: float = knob(0.0, low=0.0, high=2.0)
    normalise: bool = knob(False, choices=(False, True))
    open: int = knob(1, low=1, high=8, of="speed")
    best: Literal["seen", "deepest"] = knob("seen", choices=("seen", "deepest"))

    stop = "first"
    must_verify = False

    def __post_init__(self) -> None:
        self.check(branching="count or None", max_depth="count", keep="count or None", expansions="count")
        self.check(prune_below="number or None", depth_bonus="number", open="count", normalise="bool")
        self.check(dedupe="bool")
        self.check_choices(ties=("age", "seed", "deeper"), best=("seen", "deepest"))

    def routines(self, tree: Tree[S, A], rating: Rating, rng: Random) -> Iterator[Routine]:
        yield self._search(tree, rating, rng)

    def _search(self, tree: Tree[S, A], rating: Rating, rng: Random) -> Routine:
        below = rating.threshold if self.prune_below is None else self.prune_below
        queue = _Queue(self, rng)
        queue.push(tree.root)
        done = 0
        while queue:
            if done >= self.expansions:
                return Ended.EXPANSIONS
            nodes = [queue.pop() for _ in range(min(self.open, len(queue), self.expansions - done))]
            done += len(nodes)
            children = yield from expand(tree, nodes, self.branching, rating, self.keep if len(nodes) == 1 else None)
            queue.seen(children)
            survivors = prune(children, below)
            for node in nodes:
                for child in self._keep([c for c in survivors if c.parent == node.id], rng):
                    if child.depth < self.max_depth:
                        queue.push(child)
        return None

    def _keep(self, family: list[Node[S, A]], rng: Random) -> list[Node[S, A]]:
        if self.keep is None or len(family) <= self.keep:
            return family  # in the order of proposal: age
        order = ranked(family, "seed" if self.ties == "seed" else "age", rng)
        kept = order[: self.keep]
        for node in order[self.keep :]:
            node.status, node.reason = PRUNED, value(kept[-1])
        return kept

    def choose(self, tree: Tree[S, A]) -> Node[S, A]:
        return best_seen(tree) if self.best == "seen" else best_of_deepest(tree)

    def most(self, moves: int | None = None) -> tuple[int, int] | None:
        """The most expansions and nodes of a run; None where they have no bound of their own."""
        from .estimate import most_expanded

        return most_expanded(self.branching or moves, self.max_depth, None, self.expansions, self.keep)


class _Queue:
    """A heap a depth: what a depth's values are measured against may move, their order within it cannot."""

    def __init__(self, knobs: BestFirst, rng: Random) -> None:
        self.knobs, self.rng = knobs, rng
        self.heaps: dict[int, list[tuple[float, float, int, Node[Any, Any]]]] = {}
        self.sums: dict[int, tuple[float, int]] = {}  # of the values seen at each depth
        self.pushed = self.size = 0

    def __len__(self) -> int:
        return self.size

    def seen(self, nodes: list[Node[Any, Any]]) -> None:
        for node in nodes:
            if node.value is not None:
                total, count = self.sums.get(node.depth, (0.0, 0))
                self.sums[node.depth] = total + node.value, count + 1

    def push(self, node: Node[Any, Any]) -> None:
        tie = self.rng.random() if self.knobs.ties == "seed" else 0.0
        self.pushed += 1
        self.size += 1
        heapq.heappush(self.heaps.setdefault(node.depth, []), (-value(node), tie, self.pushed, node))

    def pop(self) -> Node[Any, Any]:
        """The node of highest priority; the root, unrated, is alone when it is taken."""
        depth = max((d for d, heap in self.heaps.items() if heap), key=self._priority)
        self.size -= 1
        return heapq.heappop(self.heaps[depth])[3]

    def _priority(self, depth: int) -> tuple[float, float, float]:
        worth, tie, pushed, _ = self.heaps[depth][0]
        total, count = self.sums.get(depth, (0.0, 0))
        mean = total / count if self.knobs.normalise and count else 0.0
        priority = -worth - mean + self.knobs.depth_bonus * depth if worth != inf else -inf
        by_depth = float(depth) if self.knobs.ties == "deeper" else -tie
        return priority, by_depth, float(-pushed)
