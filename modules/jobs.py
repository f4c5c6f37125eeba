"""How each request of a search is answered: at once by code, or by one call that a driver makes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from types import SimpleNamespace
from typing import Any

import dspy

from ..search.protocol import (
    FREE,
    Answer,
    Ask,
    Illegal,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Reflect,
    Reply,
    Step,
    Stepped,
)
from ..search.tree import Tree
from ..tasks import stepping
from ..tasks.environment_task import EnvironmentTask
from . import own
from .act import Act
from .approve import Approve
from .constrained import numbers_schema
from .finish import Finisher
from .job import Job
from .judge import Judge
from .listing import open_steps
from .plan import Plan
from .propose import proposed
from .rate import Rate as RateRole
from .role_jobs import RoleJobs
from .roles import WORKERS
from .shown import NodeView, agreement, view
from .world import checked, landed, true_step


class Jobs(RoleJobs):
    """The answers of one call of a program: its roles, with this call's inputs, task and LMs."""

    def __init__(
        self,
        program: Any,
        plan: Plan,
        task: Any,
        inputs: dict[str, Any],
        finisher: Finisher,
        gated: Callable[[Any], Any],
        per_prediction: int,
    ) -> None:
        super().__init__(plan, gated, per_prediction)
        # As they are now: DSPy looks a module's attributes up in Python, and each request asks for many.
        self.program = SimpleNamespace(**{name: getattr(program, name) for name in WORKERS})
        self._judges = isinstance(program.rate, Judge | Approve)
        self.task, self.inputs, self.finisher = task, inputs, finisher
        self.observed: dict[tuple[Hashable, str], Any] = {}  # states that are known, where a world model predicts

    def of(self, ask: Ask, tree: Tree[Any, Any]) -> Job | Reply:
        """How to answer `ask`. Runs with the driver's turn, while the tree stands still."""
        request = ask.request
        if isinstance(request, Propose):
            if self.plan.propose == "moves":
                return self._moves(request, tree)
            if self.plan.propose == "choose":
                return self._choose(request, ask.attempt, tree)
            return self._propose(request, ask.attempt, view(tree, request.node, self.task), tree.lessons)
        if isinstance(request, Rate):
            if self._judges:
                return self._judge(request, ask.attempt, tree)
            return self._rate(request, ask.attempt, [view(tree, id, self.task) for id in request.nodes])
        if isinstance(request, Answer):
            return self._answer(request, ask.attempt, tree)
        if isinstance(request, Reflect):
            return self._reflect(request, ask.attempt, tree)
        return self._step(request, ask.attempt, tree)

    def _moves(self, request: Propose, tree: Tree[Any, Any]) -> Reply:
        """The next `n` moves of the task, of which there may be no end: a node that is widened has had the first."""
        node, n = tree[request.node], request.n
        known = len(node.children)
        moves = islice(self.task.moves(node.state), known, None if n is None else known + n)
        return Reply(Proposed(tuple(moves)), FREE, by_code=True)

    def _propose(self, request: Propose, attempt: int, node: NodeView, lessons: Sequence[str]) -> Job | Reply:
        program, inputs, n = self.program, self.inputs, request.n
        if program.propose_fn is not None:
            return self.own.function(program.propose_fn, (dict(inputs), node, n), lambda given: proposed(given, n))
        role = program.propose
        if self.plan.propose == "own":
            fields = own.accepted(role, {**inputs, **own.node_fields(node, n)})
            return self.own.module(role, fields, lambda given: proposed(given, n), request, attempt)
        independent = self.plan.propose == "samples"
        told = [*self.plan.lessons, *lessons[: request.lessons]]
        if isinstance(role, Act):
            fields = {**inputs, **role.render(node, told)}
            own_lm = program.propose_lm
            return self._role(request, attempt, role, own_lm, fields, read=role.read, independent=independent)
        fields = {**inputs, **role.render(node, n)}
        return self._role(
            request,
            attempt,
            role,
            program.propose_lm,
            fields,
            read=lambda given: role.read(given, n),
            read_cut=lambda given: role.read_cut(given, n),
            independent=independent,
        )

    def _choose(self, request: Propose, attempt: int, tree: Tree[Any, Any]) -> Job | Reply:
        """Where there are no more legal moves than are wanted, or but one, there is nothing to choose, and no call."""
        role, n = self.program.propose, request.n
        steps = open_steps(self.task, tree, request.node)
        if len(steps) <= max(1, n or 0):
            return Reply(Proposed(tuple(steps)), FREE, by_code=True)
        told = [*self.plan.lessons, *tree.lessons[: request.lessons]]
        fields = {**self.inputs, **role.render(view(tree, request.node, self.task), n, steps, told)}

        def read(given: Any, cut: bool = False) -> Outcome:
            found: Outcome = role.read(given, n, steps, cut=cut)
            return found

        return self._role(
            request,
            attempt,
            role,
            self.program.propose_lm,
            fields,
            read=read,
            read_cut=lambda given: read(given, cut=True),
            schema=numbers_schema(len(steps), n),
        )

    def _rate(self, request: Rate, attempt: int, nodes: list[NodeView]) -> Job | Reply:
        program, inputs, count = self.program, self.inputs, len(nodes)
        lm = program.rate_lm
        if request.rater == "cheap":
            if not isinstance(program.cheap_rate, dspy.BaseLM):
                return self.own.rater(program.cheap_rate, inputs, nodes)
            lm = program.cheap_rate
        elif self.plan.rate == "code":
            return Reply(Rated(tuple(float(self.task.value(node.state)) for node in nodes)), FREE, by_code=True)
        elif program.value_fn is not None:
            fn, given = program.value_fn, (dict(inputs), list(nodes[0].path))
            return self.own.function(fn, given, lambda value: own.rated_by_function(value, 1, fn))
        elif program.rate_fn is not None:
            return self.own.rater(program.rate_fn, inputs, nodes)
        role = program.rate
        if isinstance(role, RateRole) and role.mode == "vote" and count == 1:
            return Reply(Rated((1.0,)), FREE, by_code=True)  # nobody to vote against
        if not isinstance(role, RateRole):
            fields = own.accepted(role, {**inputs, **own.nodes_fields(nodes)})
            read = partial(own.rated_by_module, scale=self.plan.scale)
            return self.own.module(role, fields, read, request, attempt)
        fields = {**inputs, **role.render(nodes)}
        return self._role(
            request,
            attempt,
            role,
            lm,
            fields,
            read=lambda given: self._worth(role.read(given, count), nodes),
            independent=self.plan.samples > 1,
        )

    def _worth(self, outcome: Outcome, nodes: list[NodeView]) -> Outcome:
        worth = self.plan.worth
        return outcome if worth is None else worth.of(outcome, [node.depth for node in nodes])

    def _judge(self, request: Rate, attempt: int, tree: Tree[Any, Any]) -> Job:
        role, plan, (id,) = self.program.rate, self.plan, request.nodes
        node = view(tree, id, self.task)
        if plan.agreement:
            node = replace(node, agreement=agreement(tree, tree[id]))
        fields = {**self.inputs, **role.render(node)}

        independent, own_lm = plan.samples > 1, self.program.rate_lm
        if isinstance(role, Approve):
            return self._role(
                request,
                attempt,
                role,
                own_lm,
                fields,
                read=lambda given: role.read(given, node, plan.blend),
                read_cut=lambda given: role.unread(given, node, plan.blend),
                independent=independent,
                probabilities=True,
            )

        def read(given: Any) -> Outcome:
            found: Outcome = role.read(given, node, plan.blend, plan.agreement)
            return found

        return self._role(request, attempt, role, own_lm, fields, read=read, independent=independent)

    def _reflect(self, request: Reflect, attempt: int, tree: Tree[Any, Any]) -> Job:
        role, node = self.program.reflect, view(tree, request.node, self.task)
        fields = {**self.inputs, **role.render(node)}

        def read(given: Any) -> Outcome:
            found: Outcome = role.read(given, node.path)
            return found

        return self._role(request, attempt, role, self.program.reflect_lm, fields, read=read)

    def _answer(self, request: Answer, attempt: int, tree: Tree[Any, Any]) -> Job:
        role, finisher = self.program.answer, self.finisher
        fields = {**self.inputs, **role.render(view(tree, request.node, self.task))}
        known = finisher.known(tree[request.node]) if self.plan.answer == "auto" else {}
        extra = finisher.reward.calls if finisher.reward is not None else 0
        return self._role(
            request,
            attempt,
            role,
            self.program.answer_lm,
            fields,
            read=lambda given: finisher.read(given, known),
            extra=extra,
            reads_long=finisher.reward is not None,
        )

    def _predicted(self, request: Step, attempt: int, state: Any, action: Any) -> Job:
        role, task = self.program.world, self.task
        fields = {**self.inputs, **role.render(task, state, action)}

        def read(given: Any, cut: bool = False) -> Outcome:
            said: Outcome = role.read(given, task, state, action, cut=cut)
            if self.plan.transition != "check" or not isinstance(said, Stepped | Illegal):
                return said
            return checked(said, true_step(task, state, action))

        return self._role(
            request,
            attempt,
            role,
            self.program.world_lm,
            fields,
            read=read,
            read_cut=lambda given: read(given, cut=True),
        )

    def _step(self, request: Step, attempt: int, tree: Tree[Any, Any]) -> Job | Reply:
        """A step is the environment's, a world model's, or code; unless a reward function asks about an answer."""
        node = tree[request.node]
        state, action, finisher = tree[node.parent or 0].state, node.action, self.finisher
        if isinstance(self.task, EnvironmentTask):
            task = self.task
            acall = (lambda: task.aobserve(state, action)) if task.has("astep") else None
            return Job(lambda: task.observe(state, action), acall, lambda made: made, task.calls)
        foreseen = self.program.world is not None or self.plan.transition == "replace"
        if foreseen and self.observed:
            known = self.observed.get((self.task.key(state), self.task.show(action)))
            if known is not None:
                return Reply(landed(self.task, self.task.predicted(state, action, known.facts)), FREE, by_code=True)
        if self.program.world is not None:
            return self._predicted(request, attempt, state, action)
        if self.plan.transition == "replace":
            return Reply(true_step(self.task, state, action), FREE, by_code=True)
        landing = stepping.step(self.task, state, action)
        if isinstance(landing, Illegal) or not (landing.claimed or landing.solved) or finisher.reward is None:
            return Reply(landing, FREE, by_code=True)
        return Job(lambda: finisher.step(landing, action), None, lambda made: made, finisher.reward.calls)
