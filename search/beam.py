"""Beam search, i.e. ToT-BFS (Yao et al. 2023, arXiv 2305.10601, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

from .best import best_of_deepest, best_seen
from .budget import Ended
from .controller import Routine
from .expand import expand
from .knobs import Knobs, knob
from .order import prune, ranked, sampled, value
from .rating import Rating
from .tree import PRUNED, A, Node, S, Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Beam(Knobs):
    """Expand every kept state of a level, rate all children, keep the best few.

    width: states kept per level, the paper's b (None: all). branching: children proposed per state (None:
    all). max_depth: levels.
    solved_threshold: end with a level whose best value reaches it. min_score: drop children valued under it.
    select: keep the "top" states, or "sample" them with probability proportional to value.
    stop: on a goal, "level" finishes the proposals of the level begun (the counts then do not depend on which
        state solves); "first" ends at once.
    best: without a verified solution, give the best state of the "deepest" level, or the best "seen" at any.
    """

    width: int | None = knob(5, low=1, high=20)
    branching: int | None = knob(5, low=1, high=10)
    max_depth: int = knob(3, low=1, high=20)
    solved_threshold: float | None = knob(None, of="value")
    min_score: float | None = knob(None, of="value")
    select: Literal["top", "sample"] = knob("top", choices=("top", "sample"))
    stop: Literal["level", "first"] = knob("level")
    best: Literal["deepest", "seen"] = knob("deepest", choices=("deepest", "seen"))

    must_verify = False

    def __post_init__(self) -> None:
        self.check(width="count or None", branching="count or None", max_depth="count", dedupe="bool")
        self.check(solved_threshold="number or None", min_score="number or None")
        self.check_choices(
            ties=("age", "seed"),
            select=("top", "sample"),
            stop=("level", "first"),
            best=("deepest", "seen"),
        )

    def routines(self, tree: Tree[S, A], rating: Rating, rng: Random) -> Iterator[Routine]:
        yield self._search(tree, rating, rng)

    def _search(self, tree: Tree[S, A], rating: Rating, rng: Random) -> Routine:
        beam = [tree.root]
        for _ in range(self.max_depth):
            children = yield from expand(tree, beam, self.branching, rating, self.width)
            children = prune(children, self.min_score)
            if self.solved_threshold is not None and any(value(c) >= self.solved_threshold for c in children):
                return Ended.GOAL
            beam = self._keep(children, rng)
            if not beam:
                return None
        return None

    def _keep(self, children: list[Node[S, A]], rng: Random) -> list[Node[S, A]]:
        """The next level's beam, best first; the others are marked with what they fell short of, or as not drawn."""
        order = ranked(children, self.ties, rng)
        if self.width is None or len(order) <= self.width:
            return order
        if self.select == "sample":
            drawn = {node.id for node in sampled(order, self.width, rng)}
            order.sort(key=lambda node: node.id not in drawn)  # stable: the drawn first, each group best first
        kept = order[: self.width]
        for node in order[self.width :]:
            node.status, node.reason = PRUNED, value(kept[-1]) if self.select == "top" else "not drawn"
        return kept

    def choose(self, tree: Tree[S, A]) -> Node[S, A]:
        return best_of_deepest(tree) if self.best == "deepest" else best_seen(tree)

    def most(self, moves: int | None = None) -> tuple[int, int] | None:
        """The most expansions and nodes of a run; None where they have no bound of their own."""
        from .estimate import most_expanded

        return most_expanded(self.branching or moves, self.max_depth, self.width, None)
