"""Adaptive branching MCTS, variant A (Inoue et al. 2025, arXiv 2503.04412): a new child or a deeper one, by draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from .best import best_of_deepest, best_seen, candidates
from .budget import Ended
from .controller import Routine
from .knobs import Knobs, knob
from .rating import Rating
from .returns import Bounds, Returns
from .rollout import rollout
from .rollouts import Rollouts
from .tree import DEAD, FAILED, TERMINAL, A, Node, S, Tree

PRIOR = 0.5  # both parameters of the Beta prior
DRAWS = 8  # ways down that a rollout draws before it waits for another one


@dataclass(frozen=True, slots=True, kw_only=True)
class ABMCTS(Knobs):
    """At each node draw from two beliefs: how good a new child would be, and how good the ones below are.

    Each belief is a Beta distribution over values brought to 0..1, with prior Beta(0.5, 0.5): of a new child, from the
    values of the node's children; of the others, from all values below them. The higher draw says whether to generate
    or to go down, and draws for each child say where to. One new child a rollout.
    rollouts: how many new nodes. max_depth: the deepest node's depth. at_once: rollouts in flight.
    """

    rollouts: int = knob(16, low=1, high=200)
    max_depth: int = knob(10, low=1, high=30)
    at_once: int = knob(1, low=1, high=16, of="speed")

    stop = "first"
    must_verify = False

    # What a rollout reads of any recipe; here they are no knobs.
    branching = 1
    exploration = 0.0
    selection = "sampled"
    simulate = False
    lazy = False
    widening = None
    reroot = False

    def __post_init__(self) -> None:
        self.check(rollouts="count or 0", max_depth="count", at_once="count", dedupe="bool")
        self.check_choices(ties=("age",))

    def routines(self, tree: Tree[S, A], rating: Rating, rng: Random) -> Iterator[Routine]:
        run: _Sampled[S, A] = _Sampled(tree, rating, self, Returns(Bounds.of(rating)), rng)
        tree.rollouts = run.logs
        for _ in range(self.rollouts):
            yield rollout(run)

    def why_over(self, tree: Tree[S, A]) -> Ended:
        return Ended.ROLLOUTS

    def choose(self, tree: Tree[S, A]) -> Node[S, A]:
        return best_seen(tree) if any(n.value is not None for n in candidates(tree)) else best_of_deepest(tree)

    def most(self, moves: int | None = None) -> tuple[int, int] | None:
        return self.rollouts, self.rollouts


class _Sampled(Rollouts[S, A]):
    """Rollouts whose way down is drawn, and whose nodes may always get another child."""

    def __init__(self, tree: Tree[S, A], rating: Rating, recipe: ABMCTS, returns: Returns, rng: Random) -> None:
        super().__init__(tree, rating, recipe, returns)
        self.rng, self._seed = rng, rng.getrandbits(64)
        self._ways = 0  # that were asked for

    def path(self) -> list[Node[S, A]] | None:
        """The way down, drawn anew a few times while it ends where another rollout works.

        Each way has random numbers of its own. So one that a journal tells again needs none: the draws at a node with
        many children take most of a long run's time.
        """
        self._ways += 1
        known, self.tree.coming = self.tree.coming, None
        if known is not None and known < len(self.tree) and not self.tree.root.closed:
            return self.tree.path(self.tree[known])
        self.rng.seed(self._seed + self._ways)
        path = None
        for _ in range(DRAWS):
            path = self._drawn()
            if path is None or path[-1].id not in self.growing:
                break
        return path

    def _drawn(self) -> list[Node[S, A]] | None:
        node = self.tree.root
        if node.closed:
            return None
        path = [node]
        while node.id not in self.growing:
            children = [c for c in self.tree.children(node) if c.status not in DEAD and c.value is not None]
            down = [c for c in children if not c.closed]
            if not down:
                break
            new = self._belief(len(children), sum(c.value or 0.0 for c in children))
            if new >= self._belief(sum(c.visits for c in children), sum(c.total for c in children)):
                break
            node = max(down, key=lambda c: self._belief(c.visits, c.total))
            path.append(node)
        return path

    def comes_again(self) -> bool:
        return True

    def _belief(self, n: int, total: float) -> float:
        """One draw from Beta(0.5 + sum r, 0.5 + sum (1 - r)), r being `n` values of that total, brought to 0..1.

        Each rated node is backed up once, so a node's visits and total are those of its own value and all below.
        """
        gained = n * self.returns.bounds.normal(total / n) if n else 0.0
        return self.rng.betavariate(PRIOR + gained, PRIOR + n - gained)

    def settle(self, node: Node[S, A]) -> None:
        """A parent of spent children is not spent: it may get another one."""
        node.closed = node.status in DEAD or node.status is TERMINAL or node.depth >= self.recipe.max_depth

    def settle_children(self, leaf: Node[S, A], new: Sequence[Node[S, A]]) -> None:
        self.growing.pop(leaf.id, None)
        for child in new:
            self.settle(child)
        leaf.closed = leaf.depth >= self.recipe.max_depth or leaf.status is FAILED
