"""The only place where an outcome changes the tree: statuses, reasons, duplicates, the solution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Generic

from .order import UNREAD
from .protocol import (
    Answer,
    Answered,
    Failed,
    Illegal,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Reflect,
    Reflected,
    Request,
    Step,
    Stepped,
    Unread,
)
from .rating import Rating
from .tree import DUPLICATE, EXPANDED, FAILED, ILLEGAL, OPEN, SOLVED, TERMINAL, UNJUDGED, WRONG, A, Node, S, Tree

ParseAction = Callable[[S, Any], Any]  # (state, what was proposed) -> action, or Illegal
CodeStep = Callable[[S, A], Stepped | Illegal]  # (state, action) -> where it leads
Landing = Stepped | Illegal | Unread | Failed  # where an action leads
Landings = list[tuple[Any, Landing | None]]  # action, landing; None: an equal action came before it


def _failure(landing: Unread | Failed) -> str:
    if isinstance(landing, Failed):
        return landing.error
    return "the reply could not be read" + (f": {landing.why}" if landing.why else "")


def describe(error: BaseException) -> str:
    """The error in words; one that cannot even say what it is has its name."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as another:
        return f"{type(error).__name__}, whose text raised {type(another).__name__}"


def _name(action: Any) -> Any:
    """What an action is known by among its siblings: itself, or its text where it has no hash (a tool call's dict)."""
    try:
        hash(action)
    except Exception:  # mostly a TypeError; a `__hash__` of the user's own may raise anything
        return repr(action)
    return action


class Grower(Generic[S, A]):
    """Applies outcomes to a tree.

    solution: the first node that code verified. claim: the first one that the model calls final where nothing
    in code can tell. full: the tree has as many nodes as it may have, and something was left out.
    """

    def __init__(
        self,
        tree: Tree[S, A],
        rating: Rating,
        parse: ParseAction[S] | None,
        step: CodeStep[S, A] | None,
        dedupe: bool,
        root_key: Any,
        most_nodes: float = inf,
        describe: Callable[[Exception], str] = describe,
    ) -> None:
        self.tree, self.rating, self.parse, self.step = tree, rating, parse, step
        self.dedupe, self.most_nodes, self.describe = dedupe, most_nodes, describe
        self.solution: Node[S, A] | None = None
        self.claim: Node[S, A] | None = None
        self.full = False
        self._seen: dict[Any, int] = {} if root_key is None else {root_key: 0}
        self._named: dict[int, tuple[int, dict[Any, int]]] = {}

    def landings(self, id: int, proposed: Sequence[Any]) -> Landings | None:
        """Where code says that the actions lead. An error in the task is that child's failure."""
        step, parse, dedupe = self.step, self.parse, self.dedupe
        if step is None and parse is None:
            return None
        state: Any = self.tree[id].state
        said = self._said(self.tree[id]) if dedupe else {}
        new = set[Any]()
        found: Landings = []
        for thing in proposed:
            action: Any = thing
            try:
                if parse is not None:
                    action = parse(state, thing)
                if isinstance(action, Illegal):
                    found.append((thing, action))
                    continue
                if dedupe:
                    name = _name(action)
                    if name in said or name in new:
                        found.append((action, None))
                        continue
                    new.add(name)
                found.append((action, step(state, action) if step is not None else None))
            except Illegal as illegal:
                found.append((action, illegal))
            except Exception as error:
                found.append((action, Failed(self.describe(error))))
        return found

    def apply(self, request: Request, outcome: Outcome, landings: Landings | None) -> None:
        tree = self.tree
        match request:
            case Propose():
                self._propose(tree[request.node], outcome, landings)
            case Step():
                assert isinstance(outcome, Landing)
                self._land(tree[request.node], outcome)
            case Rate():
                self._rate(request, outcome)
            case Reflect():
                if isinstance(outcome, Reflected):
                    tree.lessons.append(outcome.lesson)
            case Answer():
                if isinstance(outcome, Answered):
                    self._answer(tree[request.node], outcome)

    def _said(self, node: Node[S, A]) -> dict[Any, int]:
        """Of each action that leads on from `node`, the first child. Kept: a node may get thousands, one at a time."""
        if not node.children:
            return {}
        known, said = self._named.get(node.id, (0, {}))
        for id in node.children[known:]:
            said.setdefault(_name(self.tree[id].action), id)
        self._named[node.id] = len(node.children), said
        return said

    def _add(self, node: Node[S, A], action: A, prior: float) -> Node[S, A] | None:
        if len(self.tree) >= self.most_nodes:
            self.full = True
            return None
        return self.tree.add(node, action, prior)

    def _propose(self, node: Node[S, A], outcome: Outcome, landings: Landings | None) -> None:
        if node.status is OPEN:
            grown = node.id and node.children  # a simulated node that is asked for more children keeps those it has
            node.status = FAILED if isinstance(outcome, Failed) and not grown else EXPANDED
            if isinstance(outcome, Failed):
                node.reason = outcome.error
            elif isinstance(outcome, Unread):
                node.reason = "the proposals could not be read"
        elif node.status is FAILED and isinstance(outcome, Proposed):
            node.status, node.reason = EXPANDED, None  # one sample was lost, another came
        if not isinstance(outcome, Proposed):
            return
        tree, priors = self.tree, outcome.priors
        said = self._said(node) if self.dedupe else {}
        for i, thing in enumerate(outcome.actions):
            action, landing = landings[i] if landings is not None else (thing, None)
            child = self._add(node, action, priors[i] if priors else 1.0)
            if child is None:
                return
            if self.dedupe and (first := said.setdefault(_name(action), child.id)) != child.id:
                child.status, child.reason = DUPLICATE, first
                tree[first].prior += child.prior  # said twice: by two samples, it is twice as likely to be said
            elif landing is not None:
                self._land(child, landing)
                if self.solution is not None or self.claim is not None:
                    return

    def _land(self, node: Node[S, A], landing: Landing) -> None:
        if not isinstance(landing, Stepped):
            if isinstance(landing, Illegal):
                node.status, node.reason = ILLEGAL, landing.rule
            else:
                node.status, node.reason = FAILED, _failure(landing)
            return
        node.state = landing.state
        if landing.key is not None and self.dedupe:
            first = self.tree[self._seen.setdefault(landing.key, node.id)]
            if first is not node:
                # A state met again nearer the root, or whose first node failed, is not a duplicate. A finished one is:
                # nothing follows it at any depth.
                if first.status is not FAILED and (first.depth <= node.depth or first.reason is UNJUDGED):
                    node.status, node.reason = DUPLICATE, first.id
                    return
                self._seen[landing.key] = node.id
        node.reward, node.observation, node.missed = landing.reward, landing.observation, landing.missed
        if landing.value is not None:
            node.value = landing.value
        if landing.solved:
            node.status = SOLVED
            self.solution = self.solution or node
        elif landing.terminal or landing.claimed:
            node.status = TERMINAL
            if not landing.claimed:
                node.reason = UNJUDGED if landing.unjudged else WRONG
            if landing.claimed:
                self.claim = self.claim or node

    def _answer(self, node: Node[S, A], outcome: Answered) -> None:
        """A direct answer becomes a finished child; its fields stand in for a state."""
        action: Any = "; ".join(str(value) for value in outcome.fields.values())
        child = self._add(node, action, 1.0)
        if child is None:
            return
        child.answer, child.value, child.observation = outcome.fields, outcome.reward, outcome.feedback
        if outcome.verified:
            child.status, self.solution = SOLVED, self.solution or child
        else:
            child.status, child.reason = TERMINAL, outcome.rule

    def _rate(self, request: Rate, outcome: Outcome) -> None:
        rating, rater, tree = self.rating, request.rater, self.tree
        if isinstance(outcome, Rated):
            verdicts = outcome.verdicts
            for i, id in enumerate(request.nodes):
                rating.add(tree[id], outcome.values[i], verdicts[i] if verdicts else None, rater, outcome.settled)
        elif isinstance(outcome, Unread):
            unread = rating.unread if outcome.value is None else outcome.value
            if unread is not None:
                for id in request.nodes:
                    rating.add(tree[id], unread, UNREAD, rater)
        else:
            # A lost call fails the one node it was about; a shared one leaves its nodes unrated.
            assert isinstance(outcome, Failed)
            for id in request.nodes:
                node = tree[id]
                if rating.lose(node, rater):
                    node.status, node.reason = FAILED, outcome.error
