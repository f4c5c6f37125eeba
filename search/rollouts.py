"""What the rollouts of one Monte-Carlo tree search share: where each works, what is taken, and what is done with.

A node in the making is expanded by the rollout that came first. Another one takes the best place that is free; where
none is, it waits for the oldest batch in flight (the same requests, so nothing is asked twice), and selects anew.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Generic, Protocol, TypeAlias

from .controller import Logged
from .policy import Siblings, close, puct, reopen, selection, uct
from .protocol import Propose, Request
from .rating import Rating
from .returns import Returns, backup
from .rollout_log import RolloutLog
from .tree import DEAD, EXPANDED, OPEN, TERMINAL, A, Node, S, Tree

Batches: TypeAlias = Generator[Sequence[Request], None, None]


class Recipe(Protocol):
    """The knobs that a rollout reads."""

    @property
    def branching(self) -> int | None: ...

    @property
    def max_depth(self) -> int: ...

    @property
    def exploration(self) -> float: ...

    @property
    def selection(self) -> str: ...

    @property
    def simulate(self) -> bool: ...

    @property
    def lazy(self) -> bool: ...

    @property
    def widening(self) -> float | None: ...

    @property
    def reroot(self) -> bool | None: ...


@dataclass(slots=True)
class Rollouts(Generic[S, A]):
    """growing: by the node where a rollout works, its batch in flight. reflecting: likewise, by the first of the nodes
    that it asks about, batches of questions about failures. asked: proposals that a node which comes again was asked
    for. barren: nodes that gave no more children. unrated: nodes that were looked at, and whose rating was lost.
    leader: the rollout that first came to the best value. stale: those that ended after it. pending: visits that a
    rollout brings.
    """

    tree: Tree[S, A]
    rating: Rating
    recipe: Recipe
    returns: Returns
    logs: list[RolloutLog] = field(default_factory=list[RolloutLog])
    growing: dict[int, Logged] = field(default_factory=dict[int, Logged])
    reflecting: dict[int, Logged] = field(default_factory=dict[int, Logged])
    asked: dict[int, int] = field(default_factory=dict[int, int])
    barren: set[int] = field(default_factory=set[int])
    unrated: set[int] = field(default_factory=set[int])
    leader: RolloutLog | None = None
    stale: int = 0
    pending: float = 1.0

    # ---- where to work

    def scores(self, parent: Node[S, A], children: Siblings) -> list[float]:
        formula = puct if self.recipe.selection == "puct" else uct
        return formula(parent, children, self.recipe.exploration, self.returns, self.pending)

    def may_widen(self, node: Node[S, A]) -> bool:
        """Progressive widening: another child while there are fewer than N^alpha, and more were to be had."""
        alpha = self.recipe.widening
        wanted = alpha is not None and len(node.children) < ceil(max(1, node.visits) ** alpha)
        return wanted and node.id not in self.barren

    def may_reroot(self) -> bool:
        """Everything is spent: whether to propose again at the root. By default, if there are lessons to show."""
        wanted = self.recipe.reroot
        return bool(self.tree.lessons) if wanted is None else wanted

    def path(self) -> list[Node[S, A]] | None:
        """The way down to the best node where no other rollout works; to one where another does, if all are taken.

        None: nothing is left to do.
        """
        tree, root, growing = self.tree, self.tree.root, self.growing
        if root.closed:
            return [root] if self.may_reroot() else None
        if root.virtual and (ended := len(self.logs) - root.virtual):
            self.pending = max(1.0, root.visits / ended)
        may_widen = None if self.recipe.widening is None else self.may_widen
        best = path = selection(tree, self.scores, growing, may_widen)
        taken: set[int] = set()
        while (end := path[-1]).id in growing or (
            end.status is EXPANDED and not (may_widen is not None and may_widen(end))
        ):
            if not end.id:
                return best  # nowhere is a free place
            taken.add(end.id)  # or all that is below it is taken
            path = selection(tree, self.scores, growing, may_widen, taken)
        return path

    def place(self) -> Generator[Sequence[Request], None, list[Node[S, A]] | None]:
        """Wait until there is a place to work; the path to it. None: nothing is left to do."""
        while True:
            path = self.path()
            if path is None:
                if not self.reflecting:
                    return None
                yield next(iter(self.reflecting.values()))  # there may be lessons soon, and a reason to go on
            elif path[-1].id in self.growing:
                yield next(iter(self.growing.values()))  # the oldest: likely to be through next, wherever it works
            else:
                return path

    # ---- what a rollout does there

    def begin(self, path: Sequence[Node[S, A]]) -> RolloutLog:
        for node in path:
            node.virtual += 1
        log = RolloutLog(path[-1].id)
        self.logs.append(log)
        return log

    def end(self, path: Sequence[Node[S, A]], log: RolloutLog) -> None:
        for node in path:
            node.virtual -= 1
        self.stale = 0 if log is self.leader else self.stale + 1

    @staticmethod
    def descend(path: list[Node[S, A]], child: Node[S, A]) -> None:
        """Go on to `child`."""
        child.virtual += 1
        path.append(child)

    def holds(self, node: Node[S, A], requests: Sequence[Request], log: RolloutLog) -> Logged:
        """The batch, to be yielded: whoever comes to `node` meanwhile waits for it."""
        batch = self.growing[node.id] = Logged(requests, log)
        return batch

    def proposal(self, leaf: Node[S, A], n: int | None) -> Propose:
        """Ask for `n` more children. Samples asked for before are not asked for again."""
        sample = 0
        if not leaf.id or self.comes_again():
            each = n or 1
            sample = -(-self.asked.get(leaf.id, 0) // each)
            self.asked[leaf.id] = (sample + 1) * each
        return Propose(leaf.id, n, sample, len(self.tree.lessons))

    def comes_again(self) -> bool:
        """Whether a node may be expanded more than once: a simulated or a widened one. The root may always."""
        return self.recipe.simulate or self.recipe.widening is not None

    def width(self, leaf: Node[S, A]) -> int | None:
        """How many children to ask for: `branching`; one, where the node is widened."""
        widened = self.recipe.widening is not None and leaf.status is EXPANDED and not leaf.closed
        return 1 if widened else self.recipe.branching

    def is_unseen(self, node: Node[S, A]) -> bool:
        """Whether it was only proposed so far, and is to be looked at once it is selected."""
        if not self.recipe.lazy or not node.id or node.value is not None or node.id in self.unrated:
            return False
        return node.status is OPEN or (node.status is TERMINAL and node.state is not None)

    # ---- afterwards

    @staticmethod
    def keep_open(node: Node[S, A]) -> None:
        """A simulated node may get more children."""
        if node.status is EXPANDED:
            node.status = OPEN

    def back_up(self, path: Sequence[Node[S, A]], log: RolloutLog) -> None:
        """The last node's value, if it has one that counts."""
        value = path[-1].value
        if value is None or path[-1].status in DEAD:
            return
        backup(path, value, self.returns)
        if self.leader is None or self.leader.value is None or value > self.leader.value:
            self.leader = log
        log.value = value if log.value is None else max(log.value, value)

    def settle(self, node: Node[S, A]) -> None:
        """Close a node after which nothing can come, once it was looked at."""
        over = node.status is TERMINAL or node.depth >= self.recipe.max_depth
        if node.status in DEAD or (over and not self.is_unseen(node)):
            close(self.tree, node)

    def settle_children(self, leaf: Node[S, A], new: Sequence[Node[S, A]]) -> None:
        """After an expansion: close what is over, and `leaf` itself if no child has anything left to do."""
        self.growing.pop(leaf.id, None)
        if self.recipe.widening is not None and all(child.status in DEAD for child in new):
            self.barren.add(leaf.id)
        children = self.tree.children(leaf)
        for child in children:
            self.settle(child)
        if leaf.status is not EXPANDED or all(child.closed for child in children):
            close(self.tree, leaf)
        else:
            reopen(self.tree, leaf)
