"""The search tree: an append-only list of nodes, addressed by integer id."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, TypeVar

S = TypeVar("S")  # State: whatever the task calls a partial solution.
A = TypeVar("A")  # Action: one thought, tool call or move.


class NodeStatus(enum.StrEnum):
    """What became of a node. `Node.reason` says why, in numbers or names."""

    OPEN = "open"
    EXPANDED = "expanded"
    SOLVED = "solved"
    TERMINAL = "terminal"
    PRUNED = "pruned"
    DUPLICATE = "duplicate"
    ILLEGAL = "illegal"
    FAILED = "failed"


# Module constants: reading a member through its enum class costs a lookup per node.
OPEN, EXPANDED, SOLVED, TERMINAL = (
    NodeStatus.OPEN,
    NodeStatus.EXPANDED,
    NodeStatus.SOLVED,
    NodeStatus.TERMINAL,
)
PRUNED, DUPLICATE, ILLEGAL, FAILED = (
    NodeStatus.PRUNED,
    NodeStatus.DUPLICATE,
    NodeStatus.ILLEGAL,
    NodeStatus.FAILED,
)
DEAD = (DUPLICATE, ILLEGAL, FAILED, PRUNED)  # of no use to the search; what led there can still be told
# The reason of a terminal node: rated like any other, since no code judges it; or judged to be no solution.
UNJUDGED, WRONG = "no check in code", "not a goal"


@dataclass(slots=True, eq=False)
class Node(Generic[S, A]):
    """One node. `state` is None until stepped, `value` is None until rated.

    reason: pruned: the value that it fell short of, or "not drawn"; duplicate: the id of the node met first;
    illegal: the rule; failed: the error; expanded or terminal: what its reply could not give, if anything.
    """

    id: int
    parent: int | None
    depth: int
    action: A | None = None
    prior: float = 1.0
    state: S | None = None
    status: NodeStatus = OPEN
    reason: Any = None
    reward: float = 0.0
    value: float | None = None
    ratings: int = 0  # how many are behind `value`, an unread one where it counts for something
    sampled: float = 0.0  # their sum, on the scale of one sample
    lost: int = 0  # ratings that never came
    verdict: str | None = None
    rater: str = ""  # who gave `value`: "rate", "cheap", or "" where code did
    observation: Any = None
    answer: dict[str, Any] | None = None  # output fields, where this node is a finished answer
    missed: bool = False  # an attempt that was judged wrong: reflected on, may still be built upon
    children: Sequence[int] = ()  # a list once there are any: an empty one per leaf costs memory and GC time
    visits: int = 0  # N(s)
    total: float = 0.0  # W(s), the sum of the returns backed up; V(s) = W / N
    peak: float = -inf  # the highest return backed up
    virtual: int = 0  # O(s), rollouts in flight at or below this node
    closed: bool = False  # nothing is left to do at or below this node

    @property
    def q(self) -> float:
        """The mean of what was backed up; 0 before the first visit."""
        return self.total / self.visits if self.visits else 0.0


class Tree(Generic[S, A]):
    """All nodes found so far. Node 0 is the root, at depth 0; a parent precedes its children."""

    def __init__(self, root: S) -> None:
        self._nodes: list[Node[S, A]] = [Node(0, None, 0, state=root)]
        self.lessons: list[str] = []  # what reflection taught, oldest first
        self.rollouts: list[Any] = []  # the logs of Monte-Carlo rollouts, in order of their start
        self.coming: int | None = None  # as a journal is told again: the node that is expanded next, where it tells

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, id: int) -> Node[S, A]:
        return self._nodes[id]

    def __iter__(self) -> Iterator[Node[S, A]]:
        return iter(self._nodes)

    @property
    def root(self) -> Node[S, A]:
        return self._nodes[0]

    def add(self, parent: Node[S, A], action: A, prior: float = 1.0) -> Node[S, A]:
        """Append a child of `parent`, without a state."""
        nodes = self._nodes
        node: Node[S, A] = Node(len(nodes), parent.id, parent.depth + 1, action, prior)
        nodes.append(node)
        children = parent.children
        if isinstance(children, list):
            children.append(node.id)
        else:
            parent.children = [*children, node.id]
        return node

    def children(self, node: Node[S, A]) -> list[Node[S, A]]:
        """The children of `node`, in the order in which they were proposed."""
        nodes = self._nodes
        return [nodes[i] for i in node.children]

    def copy(self) -> Tree[S, A]:
        """The same nodes as others, with the same states: what is added or changed here does not show there."""
        root: Any = self.root.state
        copied: Tree[S, A] = Tree(root)
        copied._nodes = [copy(node) for node in tuple(self._nodes)]
        for node in copied:  # of a tree that grows meanwhile, what there was at the start
            if node.children:
                node.children = [id for id in tuple(node.children) if id < len(copied)]
        copied.lessons, copied.rollouts = list(self.lessons), list(map(copy, self.rollouts))
        return copied

    def path(self, node: Node[S, A]) -> list[Node[S, A]]:
        """The nodes from the root to `node`, both included."""
        path = [node]
        while (parent := path[-1].parent) is not None:
            path.append(self._nodes[parent])
        return path[::-1]
