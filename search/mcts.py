"""Monte-Carlo tree search, as in LATS (Zhou et al. 2024, arXiv 2310.04406) and RAP (Hao et al. 2023, 2305.14992)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

from .best import best_of_deepest, best_seen, candidates
from .budget import Ended
from .controller import Routine
from .knobs import Knobs, knob
from .order import value
from .rating import Rating
from .returns import Bounds, Returns
from .rollout import rollout
from .rollouts import Rollouts
from .tree import DEAD, A, Node, S, Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class MCTS(Knobs):
    """Walk down by an upper confidence bound, grow the tree there, and back every new child's value up.

    rollouts: how often. branching: children per expansion (None: all). max_depth: the deepest node's depth; a node
        there is rated, not expanded.
    selection: "uct", or "puct" with the proposer's priors: the weights that it gives (`Proposed.priors`), or how many
        samples said the same. exploration: c of either.
    returns: what is backed up. Q(s,a) is the "mean" or the "max" of the values found below, or "discounted": the
        step's reward and `discount` times the mean return after it.
    simulate: go on from the best new child to a terminal state, one sample a step.
    lazy: step and rate a child only when it is selected, one child a rollout (the RAP paper).
    widening: alpha of progressive widening: one more child while a node has fewer than N^alpha; None: never.
    reroot: once everything is spent, propose again at the root (True), or end (False); None: if there are lessons.
    final: the node given back unsolved: the best "value"; or, from the root down, the child with the most "visits" or
        the best "mean" (its Q).
    patience: end after this many rollouts without a better value (None: never).
    at_once: rollouts in flight, kept apart by virtual loss: each counts as the visits that it will bring.
    """

    rollouts: int = knob(8, low=1, high=100)
    branching: int | None = knob(2, low=1, high=10)
    max_depth: int = knob(10, low=1, high=30)
    exploration: float = knob(1.0, low=0.0, high=3.0)
    selection: Literal["uct", "puct"] = knob("uct", choices=("uct", "puct"))
    returns: Literal["mean", "max", "discounted"] = knob("mean", choices=("mean", "max", "discounted"))
    discount: float = knob(1.0, low=0.5, high=1.0)
    simulate: bool = knob(False, choices=(False, True))
    lazy: bool = knob(False, choices=(False, True))
    widening: float | None = knob(None, low=0.2, high=0.8)
    reroot: bool | None = knob(None, choices=(None, False, True))
    final: Literal["value", "visits", "mean"] = knob("value", choices=("value", "visits", "mean"))
    patience: int | None = knob(None, low=2, high=20)
    at_once: int = knob(1, low=1, high=16, of="speed")

    stop = "first"
    must_verify = False

    def __post_init__(self) -> None:
        self.check(rollouts="count or 0", branching="count or None", max_depth="count")
        self.check(patience="count or None", at_once="count")
        self.check(exploration="number", discount="number", widening="number or None")
        self.check(simulate="bool", lazy="bool", reroot="bool or None", dedupe="bool")
        if self.exploration < 0:
            raise ValueError(f"MCTS(exploration={self.exploration!r}): must be at least 0")
        if not 0 < self.discount <= 1:
            raise ValueError(f"MCTS(discount={self.discount!r}): must be above 0 and at most 1")
        if self.widening is not None and not 0 < self.widening <= 1:
            raise ValueError(f"MCTS(widening={self.widening!r}): must be above 0 and at most 1, or None")
        self.check_choices(
            ties=("age",),
            selection=("uct", "puct"),
            returns=("mean", "max", "discounted"),
            final=("value", "visits", "mean"),
        )

    def routines(self, tree: Tree[S, A], rating: Rating, rng: Random) -> Iterator[Routine]:
        run = Rollouts(tree, rating, self, self._returns(Bounds.of(rating)))
        tree.rollouts = run.logs
        for _ in range(self.rollouts):
            if self.patience is not None and run.stale >= self.patience:
                return
            yield rollout(run)

    def _returns(self, bounds: Bounds) -> Returns:
        return Returns(bounds, self.returns, self.discount)

    def why_over(self, tree: Tree[S, A]) -> Ended:
        """Why no rollout follows, once the last one has ended."""
        if tree.root.closed and (self.reroot is False or not (self.reroot or tree.lessons)):
            return Ended.SEARCHED_OUT
        return Ended.ROLLOUTS if len(tree.rollouts) >= self.rollouts else Ended.PATIENCE

    def choose(self, tree: Tree[S, A]) -> Node[S, A]:
        if self.final == "value":
            return best_seen(tree) if any(n.value is not None for n in candidates(tree)) else best_of_deepest(tree)
        node, q = tree.root, self._returns(Bounds()).q
        while usable := [c for c in tree.children(node) if c.status not in DEAD and c.visits]:
            if self.final == "visits":
                node = max(usable, key=lambda c: (c.visits, value(c), -c.id))
            else:
                node = max(usable, key=lambda c: (q(c), c.visits, -c.id))
        return node

    def most(self, moves: int | None = None) -> tuple[int, int] | None:
        """The most expansions and nodes of a run; None where they have no bound.

        A simulation goes down from a new child, one node a step, and no deeper than any other.
        """
        n, steps = self.branching or moves, self.max_depth - 1 if self.simulate else 0
        return None if n is None else (self.rollouts * (1 + steps), self.rollouts * (n + steps))
