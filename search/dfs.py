"""Depth-first search, i.e. ToT-DFS (Yao et al. 2023, arXiv 2305.10601, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from .best import best_of_deepest
from .budget import Ended
from .controller import Routine
from .expand import Steps, expand
from .knobs import Knobs, knob
from .order import prune, ranked
from .protocol import Propose, Step
from .rating import Rating
from .tree import OPEN, UNJUDGED, A, Node, S, Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class DFS(Knobs):
    """Follow the best child first; the next pop is the backtrack.

    branching: children proposed per node (None: all). max_depth: the deepest node's depth.
    threshold: children valued under it are dropped (None: the rating scale's own cut, "impossible").
    expansions: nodes expanded at most (None: no limit of its own).
    lazy: step and rate a child only when its turn comes, by itself, so that those never reached cost nothing. Children
        are then followed in the proposer's order, as in Algorithm 2, and not the best-rated first.
    Without a solution the search has failed, and gives the deepest state that it did not drop.
    """

    branching: int | None = knob(3, low=1, high=10)
    max_depth: int = knob(3, low=1, high=20)
    threshold: float | None = knob(None, of="value")
    expansions: int | None = knob(None, low=1, high=200)
    lazy: bool = knob(False, choices=(False, True))

    stop = "first"
    must_verify = True

    def __post_init__(self) -> None:
        self.check(branching="count or None", max_depth="count", threshold="number or None", dedupe="bool")
        self.check(expansions="count or None", lazy="bool")
        self.check_choices(ties=("age", "seed"))

    def routines(self, tree: Tree[S, A], rating: Rating, rng: Random) -> Iterator[Routine]:
        yield self._search(tree, rating, rng)

    def _search(self, tree: Tree[S, A], rating: Rating, rng: Random) -> Routine:
        below = rating.threshold if self.threshold is None else self.threshold
        stack, done = [tree.root], 0
        while stack:
            node = stack.pop()
            if self.lazy and node.id:
                yield from self._look(node, rating)
                if node.status is not OPEN or not prune([node], below):
                    continue
            if node.depth >= self.max_depth:
                continue
            if self.expansions is not None and done >= self.expansions:
                return Ended.EXPANSIONS
            done += 1
            if self.lazy:
                yield [Propose(node.id, self.branching)]
                children = [c for c in tree.children(node) if c.status is OPEN or c.reason is UNJUDGED]
            else:
                children = yield from expand(tree, [node], self.branching, rating, None)
            stack.extend(reversed(ranked(prune(children, below), self.ties, rng)))
        return None

    @staticmethod
    def _look(node: Node[S, A], rating: Rating) -> Steps[None]:
        """Step and rate a child whose turn has come."""
        if node.state is None:
            yield [Step(node.id)]
        if node.status is OPEN or node.reason is UNJUDGED:
            yield from rating.rate([[node]], None)

    def choose(self, tree: Tree[S, A]) -> Node[S, A]:
        return best_of_deepest(tree)

    def most(self, moves: int | None = None) -> tuple[int, int] | None:
        """The most expansions and nodes of a run; None where they have no bound of their own."""
        from .estimate import most_expanded

        return most_expanded(self.branching or moves, self.max_depth, None, self.expansions)
