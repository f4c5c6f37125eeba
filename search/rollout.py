"""One rollout of Monte-Carlo tree search: select, expand, evaluate, back up, reflect, simulate.

What several rollouts in flight share is in `Rollouts`; it lives as long as the search. A node in the making is
expanded by the first that comes: the others wait for the oldest batches in flight (they are the same requests, so
nothing is asked twice), then select anew.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Generic, Protocol

from .policy import Bounds, Siblings, backup, close, pucts, select, ucts
from .protocol import Propose, Reflect, Request, Step
from .rating import Rating
from .tree import DUPLICATE, EXPANDED, FAILED, ILLEGAL, OPEN, PRUNED, TERMINAL, A, Node, S, Tree

DEAD = (DUPLICATE, ILLEGAL, FAILED, PRUNED)
TRIES = 8  # ways down that a rollout looks at before it waits for another one
Batches = Generator[Sequence[Request], None, None]


class Recipe(Protocol):
    """The knobs of MCTS that a rollout reads."""

    @property
    def branching(self) -> int | None: ...

    @property
    def max_depth(self) -> int: ...

    @property
    def exploration(self) -> float: ...

    @property
    def selection(self) -> str: ...

    @property
    def returns(self) -> str: ...

    @property
    def discount(self) -> float: ...

    @property
    def simulate(self) -> bool: ...

    @property
    def lazy(self) -> bool: ...

    @property
    def widening(self) -> float | None: ...

    @property
    def reroot(self) -> bool | None: ...


@dataclass(slots=True)
class RolloutLog:
    """What one rollout asked for, and came to. value: the best that it evaluated; None: nothing."""

    leaf: int
    proposals: int = 0
    steps: int = 0
    ratings: int = 0
    reflections: int = 0
    value: float | None = None


@dataclass(slots=True)
class Rollouts(Generic[S, A]):
    tree: Tree[S, A]
    rating: Rating
    recipe: Recipe
    bounds: Bounds
    growing: dict[int, Sequence[Request]] = field(default_factory=dict[int, Sequence[Request]])
    rounds: dict[int, int] = field(default_factory=dict[int, int])  # how often nodes that come again were expanded
    logs: list[RolloutLog] = field(default_factory=list[RolloutLog])
    best: RolloutLog | None = None  # the first rollout, by its end, that came to the best value

    # ---- selection

    def scores(self, parent: Node[S, A], children: Siblings) -> list[float]:
        formula = pucts if self.recipe.selection == "puct" else ucts
        how: Any = "max" if self.recipe.returns == "max" else "mean"
        return formula(parent, children, self.recipe.exploration, self.bounds, how)

    def may_widen(self, node: Node[S, A]) -> bool:
        """Progressive widening: another child while there are fewer than N^alpha."""
        alpha = self.recipe.widening
        return alpha is not None and len(node.children) < ceil(max(1, node.visits) ** alpha)

    def may_reroot(self) -> bool:
        """Everything is spent: whether to propose again at the root. By default, if there are lessons to show."""
        wanted = self.recipe.reroot
        return bool(self.tree.lessons) if wanted is None else wanted

    def comes_again(self, node: Node[S, A]) -> bool:
        """Whether this node may be expanded more than once: the root anew, a simulated or a widened one further."""
        return not node.id or self.recipe.simulate or self.recipe.widening is not None

    # ---- one rollout

    def path(self) -> list[Node[S, A]] | None:
        """The way down to the node where the next rollout works; None: nothing is left to do."""
        if not self.tree.root.closed:
            may_widen = None if self.recipe.widening is None else self.may_widen
            return select(self.tree, self.scores, self.growing, may_widen)
        return [self.tree.root] if self.may_reroot() else None

    def place(self) -> list[Node[S, A]] | None:
        """The path to a node where no other rollout works, if one is found soon; else to one where another does.

        Each way that is taken already counts as one more rollout in flight while the others are tried, so that a place
        that is free is found before this rollout has to wait.
        """
        path: list[Node[S, A]] | None = None
        taken: list[Node[S, A]] = []
        try:
            for _ in range(TRIES):
                path = self.path()
                if path is None or path[-1].id not in self.growing:
                    break
                for node in path:
                    node.virtual += 1
                taken += path
            return path
        finally:
            for node in taken:
                node.virtual -= 1

    def rollout(self) -> Batches:
        while True:
            path = self.place()
            if path is None:
                return
            if path[-1].id not in self.growing:
                break
            # All is taken. Look again as soon as one is likely to be through, wherever it works: its new children may
            # be the better place by then.
            yield next(iter(self.growing.values()))
        for node in path:
            node.virtual += 1
        log = RolloutLog(path[-1].id)
        self.logs.append(log)
        try:
            yield from self._work(path, log)
        finally:
            for node in path:
                node.virtual -= 1

    def _work(self, path: list[Node[S, A]], log: RolloutLog) -> Batches:
        leaf = path[-1]
        if self.recipe.lazy and leaf.id and leaf.value is None and leaf.status is OPEN:
            yield from self._visit(path, log)  # proposed earlier, looked at now
            return
        new = yield from self.expand(leaf, self.recipe.branching, log)
        if not self.recipe.lazy:
            yield from self.evaluate(leaf, new, log)
        del self.growing[leaf.id]
        for child in new:
            self._settle(child)
            if child.value is not None and child.status not in DEAD:
                self._back_up([*path, child], child.value, log)
        self._close_if_spent(leaf)
        missed = [Reflect(child.id) for child in new if child.missed and child.status not in DEAD]
        log.reflections += len(missed)
        yield missed
        open_ = [child for child in new if not child.closed and child.value is not None]
        if self.recipe.simulate and open_:
            best = max(open_, key=lambda child: (child.value or 0.0, -child.id))
            yield from self.simulate([*path, best], log)

    def expand(
        self, leaf: Node[S, A], n: int | None, log: RolloutLog
    ) -> Generator[Sequence[Request], None, list[Node[S, A]]]:
        """Ask for `n` more children of `leaf`, and where they lead; return those that are new."""
        known = len(leaf.children)
        nth = self.rounds.get(leaf.id, 0)
        if self.comes_again(leaf):
            self.rounds[leaf.id] = nth + 1
        asked = [Propose(leaf.id, n, nth, len(self.tree.lessons))]
        log.proposals += 1
        self.growing[leaf.id] = asked
        yield asked
        if leaf.children:
            leaf.children = list(leaf.children)  # exactly as long as it is: one appended to holds spare places
        new = [self.tree[id] for id in leaf.children[known:]]
        if not self.recipe.lazy:
            yield from self._step(leaf, new, log)
        return new

    def _step(self, leaf: Node[S, A], new: list[Node[S, A]], log: RolloutLog) -> Batches:
        steps = [Step(child.id) for child in new if child.state is None and child.status is OPEN]
        if steps:
            log.steps += len(steps)
            self.growing[leaf.id] = steps
            yield steps

    def evaluate(self, leaf: Node[S, A], nodes: Sequence[Node[S, A]], log: RolloutLog) -> Batches:
        """Give the usable ones of `nodes` their values; who comes to `leaf` meanwhile waits."""
        usable = [node for node in nodes if node.status not in DEAD and node.state is not None]
        for batch in self.rating.rate([usable], None):
            if batch:
                log.ratings += len(batch)
                self.growing[leaf.id] = batch
                yield batch

    def simulate(self, path: list[Node[S, A]], log: RolloutLog) -> Batches:
        """From the best new child to a terminal state or the depth limit, one sample a step; back its end's value up.

        The nodes stay in the tree with one visit each, and are open: a later rollout may give them more children.
        """
        start = len(path)
        while (node := path[-1]).status is OPEN and node.depth < self.recipe.max_depth and node.id not in self.growing:
            new = yield from self.expand(node, 1, log)
            self.growing.pop(node.id, None)
            live = [child for child in new if child.status not in DEAD]
            self._reopen(node)
            for child in new:
                self._settle(child)
            if not live:
                break
            path.append(live[0])
        end = path[-1]
        if len(path) == start:
            return
        yield from self.evaluate(end, [end], log)
        self.growing.pop(end.id, None)
        if end.value is not None and end.status not in DEAD:
            self._back_up(path, end.value, log)
        if end.missed:
            log.reflections += 1
            yield [Reflect(end.id)]

    @staticmethod
    def _reopen(node: Node[S, A]) -> None:
        if node.status is EXPANDED:
            node.status = OPEN

    def _visit(self, path: list[Node[S, A]], log: RolloutLog) -> Batches:
        """Step and rate a child that was only proposed, the first time that it is selected."""
        node = path[-1]
        yield from self._step(node, [node], log)
        yield from self.evaluate(node, [node], log)
        self.growing.pop(node.id, None)
        self._settle(node)
        if node.value is not None and node.status not in DEAD:
            self._back_up(path, node.value, log)
        if node.missed:
            log.reflections += 1
            yield [Reflect(node.id)]

    # ---- afterwards

    def _back_up(self, path: Sequence[Node[S, A]], value: float, log: RolloutLog) -> None:
        least, most = backup(path, value, self.recipe.discount, rewards=self.recipe.returns == "discounted")
        self.bounds.widen(least)
        self.bounds.widen(most)
        log.value = value if log.value is None else max(log.value, value)
        if self.best is None or self.best.value is None or value > self.best.value:
            self.best = log

    def _settle(self, node: Node[S, A]) -> None:
        """Close a child after which nothing can come."""
        if node.status in DEAD or node.status is TERMINAL or (node.depth >= self.recipe.max_depth and self._seen(node)):
            close(self.tree, node)

    def _seen(self, node: Node[S, A]) -> bool:
        return node.value is not None or not self.recipe.lazy

    def _close_if_spent(self, leaf: Node[S, A]) -> None:
        """After an expansion: a node without a child that is open has nothing left, unless it may get more."""
        leaf.closed = False
        if leaf.status is not EXPANDED or all(self.tree[id].closed for id in leaf.children):
            close(self.tree, leaf)
        else:
            node = leaf
            while node.parent is not None and (node := self.tree[node.parent]).closed:
                node.closed = False
