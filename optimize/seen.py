"""One search that is over, as its roles saw it: what each was asked, and what is known of the right reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

from ..modules.act import Act
from ..modules.choose import Choose, listed_in
from ..modules.judge import Judge
from ..modules.listing import open_steps
from ..modules.rate import Rate as Rater
from ..modules.roles import OURS
from ..modules.shown import view
from ..modules.trace import Entry, Trace
from ..modules.world import World, true_step
from ..search import SearchResult
from ..search.protocol import Answer, Illegal, Propose, Rate, Reflect, Request, Step
from ..search.tree import EXPANDED, ILLEGAL, Node
from ..tasks import stepping
from ..tasks.environment_task import EnvironmentTask
from .hindsight import Label, Why, labels
from .real_steps import RealSteps
from .step_evidence import Steps
from .verdict_evidence import Transition, Verdicts
from .wording import written

Evidence: TypeAlias = Steps | Verdicts | Transition
NEAR = 0.5  # of an attempt that failed: a share of tests from which a judge may well be in doubt
ROLE_OF = {Propose: "propose", Rate: "rate", Step: "world", Reflect: "reflect", Answer: "answer"}


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """program: whose roles were asked. labels: of the nodes of which something is known. entries: the calls, where they
    were traced; without them, what was asked is rendered again. accepted: what a metric says of the answer, if it was
    asked. path: of the program, in the pipeline that it is part of.
    """

    program: Any
    inputs: dict[str, Any]
    result: SearchResult[Any, Any]
    labels: Mapping[int, Label]
    entries: Mapping[Request, list[Entry]] = field(default_factory=dict[Request, list[Entry]])
    accepted: bool | None = None
    path: str = ""
    _real: RealSteps = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_real", RealSteps(self.result))

    @classmethod
    def of(cls, trace: Trace, *, accepted: bool | None = None, proposals_are_all: bool = False, path: str = "") -> Seen:
        """ValueError for a search that is not over."""
        if trace.result is None:
            raise ValueError("this trace is of a search that is not over")
        found = labels(trace.result, accepted=accepted, proposals_are_all=proposals_are_all)
        # They were kept as they came, which hangs on who was faster.
        entries = {request: trace.kept[request] for request in sorted(trace.kept, key=_place)}
        return cls(trace.program, trace.inputs, trace.result, found, entries, accepted, path)

    @property
    def tells(self) -> bool:
        """Whether code knows good states from bad ones here."""
        return any(label.why is Why.UNSOLVABLE for label in self.labels.values())

    def leads(self, id: int) -> bool:
        """Whether the node is on the path to a solution that was found."""
        return id in self.labels and self.labels[id].why in (Why.SOLUTION, Why.METRIC)

    def role(self, request: Request) -> Any:
        """The role of ours that answers such a request; None for code, and for functions and modules of the user's."""
        found = getattr(self.program, ROLE_OF[type(request)], None)
        cheap = isinstance(request, Rate) and request.rater != "rate"
        return found if isinstance(found, OURS) and not cheap else None

    def requests(self) -> Iterator[Request]:
        """What was asked of roles of ours: as traced, else as the tree tells."""
        for request in self.entries or self._of_tree():
            if self.role(request) is not None:
                yield request

    def _of_tree(self) -> Iterator[Request]:
        result, n = self.result, self.result.controller.get("branching")
        for node in result.tree:
            if node.status is EXPANDED and node.state is not None:
                yield Propose(node.id, n)
            if isinstance(self.program.world, World) and node.action is not None:
                yield Step(node.id)
            rated = tuple(child.id for child in result.tree.children(node) if child.ratings)
            yield from self._ratings(rated)

    def _ratings(self, family: tuple[int, ...]) -> Iterator[Rate]:
        mode = self.program.rate.mode if isinstance(self.program.rate, Rater) else "value"
        if mode == "value":
            yield from (Rate((id,)) for id in family)
        elif mode == "pairs":
            good = [id for id in family if id in self.labels and self.labels[id].truth]
            bad = [id for id in family if id in self.labels and not self.labels[id].truth]
            for number, (one, other) in enumerate(product(good, bad)):
                yield Rate((one, other) if number % 2 else (other, one))
        elif family:
            yield Rate(family)

    def fields(self, request: Request) -> dict[str, Any]:
        """The inputs of the role's predictor."""
        role = self.role(request)
        for predictor, inputs, _ in self.entries.get(request, ()):
            if predictor is role.predict:
                return dict(inputs)
        result, task = self.result, self.result.task
        if isinstance(request, Step):
            node = result.tree[request.node]
            own = role.render(task, result.tree[node.parent or 0].state, node.action)
        elif isinstance(request, Rate) and isinstance(role, Rater):
            own = role.render([view(result.tree, id, task) for id in request.nodes])
        elif isinstance(request, Rate):
            own = role.render(view(result.tree, request.nodes[0], task))
        elif isinstance(request, Propose) and isinstance(role, Choose):
            listed = open_steps(task, result.tree, request.node, before=True)
            own = role.render(view(result.tree, request.node, task), request.n, listed, self.program.plan.lessons)
        elif isinstance(request, Propose):
            more = request.n if not hasattr(role, "action_format") else self.program.plan.lessons
            own = role.render(view(result.tree, request.node, task), more)
        else:
            own = role.render(view(result.tree, request.node, task))
        return {**self.inputs, **own}

    def evidence(self, request: Request) -> Evidence | None:
        """What is known of the right reply; None where nothing is."""
        if isinstance(request, Propose):
            return self._steps(request)
        if isinstance(request, Rate):
            return self._verdicts(request)
        if isinstance(request, Step):
            return self._transition(request)
        return None

    def _steps(self, request: Propose) -> Steps:
        result, role = self.result, self.role(request)
        node = result.tree[request.node]
        children = [child for child in result.tree.children(node) if self._real.is_so(child)]
        labelled = [(result.shown(c), c, label) for c in children if (label := self.label(c, role)) is not None]
        good = {shown: written(result, c) for shown, c, label in labelled if label.truth}
        task: Any = result.task
        keys = {task.key(child.state): label for _, child, label in labelled if child.state is not None}
        keys.pop(None, None)
        return Steps(
            role=role,
            task=task,
            state=node.state,
            n=request.n,
            by_action={shown: label for shown, _, label in labelled},
            by_key=keys,
            illegal={result.shown(c): str(c.reason) for c in children if c.status is ILLEGAL},
            good=tuple(good.values()),
            tells=self.tells,
            listed=tuple(listed_in(self.fields(request)["allowed_steps"])) if isinstance(role, Choose) else (),
        )

    def _verdicts(self, request: Rate) -> Verdicts | None:
        role = self.role(request)
        nodes = [self.result.tree[id] for id in request.nodes]
        known = tuple(self.label(node, role) for node in nodes)
        truths = [label.truth for label in known if label is not None]
        mode = role.mode if isinstance(role, Rater) else "value"
        if mode == "pairs" and set(truths) != {True, False}:
            return None
        if not truths or (mode == "vote" and not any(truths)):
            return None
        return Verdicts(role, known, tuple(self.name(node.id) for node in nodes))

    def label(self, node: Node[Any, Any], role: Any) -> Label | None:
        """A judge is asked how near an attempt has come, not what may become of it: one that failed has failed.

        Nor is an attempt that failed the right step, though a later one was built upon it.
        """
        if node.missed and isinstance(role, Judge | Act):
            known = node.observation.get("value") if isinstance(node.observation, dict) else None
            return Label(False, Why.FAILED) if known is None or known < NEAR else None
        return self.labels.get(node.id)

    def name(self, id: int) -> str:
        """A node as feedback calls it: its state, or the actions that led there."""
        task: Any = self.result.task
        node = self.result.tree[id]
        acts = isinstance(task, EnvironmentTask) or node.state is None
        return " -> ".join(self.result.steps(node)) if acts else str(task.render(node.state))

    def _transition(self, request: Step) -> Transition | None:
        task: Any = self.result.task
        node = self.result.tree[request.node]
        state = self.result.tree[node.parent or 0].state
        if isinstance(task, EnvironmentTask) or not task.has("apply") or state is None or node.action is None:
            return None
        if isinstance(node.action, str) and isinstance(stepping.parse(task, state, node.action), Illegal):
            return None  # what could not be read as an action led nowhere, and no world was asked
        return Transition(self.role(request), task, state, node.action, true_step(task, state, node.action))


def _place(request: Request) -> tuple[tuple[int, ...], str, int]:
    """By the nodes that it is about, in the order in which they were made."""
    nodes = request.nodes if isinstance(request, Rate) else (request.node,)
    return nodes, ROLE_OF[type(request)], getattr(request, "sample", 0)
