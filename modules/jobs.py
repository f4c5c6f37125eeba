"""How each request of a search is answered: at once by code, or by one call that a driver makes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import dspy

from ..search.protocol import (
    FREE,
    Answer,
    Ask,
    Failed,
    Illegal,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Reply,
    Request,
    Step,
    Unread,
)
from ..search.tree import Tree
from ..tasks import stepping
from . import own
from .finish import Finisher
from .own import calls_of
from .plan import Plan
from .propose import proposed
from .rate import Rate as RateRole
from .sampling import chosen, more_room, sampling
from .shown import NodeView, view


@dataclass(frozen=True, slots=True)
class Job:
    """One request as one call. acall None: there is no asynchronous form, and a thread makes the call."""

    call: Callable[[], Any]
    acall: Callable[[], Awaitable[Any]] | None
    read: Callable[[Any], Outcome]
    calls: int
    read_cut: Callable[[Any], Outcome] | None = None  # of a reply that the token limit cut; None: the same
    config: dict[str, Any] = field(default_factory=dict[str, Any])  # of the LM call
    model: str = ""


def unread_cut(prediction: Any) -> Outcome:
    """A rating or an answer that ends in the middle says nothing that can be relied on."""
    return Unread("\n".join(str(value) for value in prediction.toDict().values() if value is not None))


class Jobs:
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
        self.program, self.plan, self.task, self.inputs = program, plan, task, inputs
        self.finisher, self._gated, self._per_prediction = finisher, gated, per_prediction
        self.refused: set[str] = set()  # models that take no temperature
        self.cut: set[Request] = set()  # requests whose last reply the token limit cut
        self._lms: dict[tuple[int, int], Any] = {}  # of a role and an LM of its own, by their ids
        self._reserved: dict[int, int] = {}  # the calls of one request to a role, by its id
        self.originals: dict[int, Any] = {}  # of predictors that are called as copies, by the copy's id
        self._behind: dict[int, Any] = {}  # modules of the user's own whose bound LMs are behind the gate

    def of(self, ask: Ask, tree: Tree[Any, Any]) -> Job | Reply:
        """How to answer `ask`. Runs on the driver's thread, where the tree stands still."""
        request = ask.request
        if isinstance(request, Propose):
            return self._propose(request, ask.attempt, view(tree, request.node, self.task))
        if isinstance(request, Rate):
            return self._rate(request, ask.attempt, [view(tree, id, self.task) for id in request.nodes])
        if isinstance(request, Answer):
            return self._answer(request, ask.attempt, tree)
        assert isinstance(request, Step)
        return self._step(request, tree)

    def _propose(self, request: Propose, attempt: int, node: NodeView) -> Job | Reply:
        program, inputs, n = self.program, self.inputs, request.n
        if self.plan.propose == "moves":
            return Reply(Proposed(tuple(self.task.moves(node.state))[:n]), FREE, by_code=True)
        if program.propose_fn is not None:
            return self._function(program.propose_fn, (dict(inputs), node, n), lambda given: proposed(given, n))
        role = program.propose
        if self.plan.propose == "own":
            fields = own.accepted(role, {**inputs, **own.node_fields(node, n)})
            return self._module(role, fields, lambda given: proposed(given, n))
        independent = self.plan.propose == "samples"
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

    def _rate(self, request: Rate, attempt: int, nodes: list[NodeView]) -> Job | Reply:
        program, inputs, count = self.program, self.inputs, len(nodes)
        lm = program.rate_lm
        if request.rater == "cheap":
            if not isinstance(program.cheap_rate, dspy.BaseLM):
                return self._rated_by(program.cheap_rate, nodes)
            lm = program.cheap_rate
        elif self.plan.rate == "code":
            return Reply(Rated(tuple(float(self.task.value(node.state)) for node in nodes)), FREE, by_code=True)
        elif program.value_fn is not None:
            (node,) = nodes
            fn = program.value_fn
            return self._function(
                fn, (dict(inputs), list(node.path)), lambda given: own.rated_by_function(given, 1, _name(fn))
            )
        elif program.rate_fn is not None:
            return self._rated_by(program.rate_fn, nodes)
        role = program.rate
        if not isinstance(role, RateRole):
            fields = own.accepted(role, {**inputs, **own.nodes_fields(nodes)})
            return self._module(role, fields, lambda given: own.rated_by_module(given, self.plan.scale))
        fields = {**inputs, **role.render(nodes)}
        return self._role(
            request,
            attempt,
            role,
            lm,
            fields,
            read=lambda given: role.read(given, count),
            independent=self.plan.samples > 1,
        )

    def _rated_by(self, fn: Any, nodes: list[NodeView]) -> Job:
        count = len(nodes)
        return self._function(
            fn, (dict(self.inputs), nodes), lambda given: own.rated_by_function(given, count, _name(fn))
        )

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
        )

    def _step(self, request: Step, tree: Tree[Any, Any]) -> Job | Reply:
        """A step is code, unless it states an answer that a reward function has to ask a model about."""
        node = tree[request.node]
        state, action, finisher = tree[node.parent or 0].state, node.action, self.finisher
        landing = stepping.step(self.task, state, action)
        if isinstance(landing, Illegal) or not (landing.claimed or landing.solved) or finisher.reward is None:
            return Reply(landing, FREE, by_code=True)
        return Job(lambda: finisher.step(landing, action), None, lambda made: made, finisher.reward.calls)

    def _role(
        self,
        request: Request,
        attempt: int,
        role: Any,
        own_lm: Any,
        fields: dict[str, Any],
        *,
        read: Callable[[Any], Outcome],
        read_cut: Callable[[Any], Outcome] = unread_cut,
        independent: bool = False,
        extra: int = 0,
    ) -> Job:
        """One call of a role of ours. independent: samples are to differ. extra: calls of what reads it."""
        predict, lm = role.predict, self._lm(role, own_lm, request)
        config = sampling(lm, getattr(request, "sample", 0), attempt, independent, self.refused)
        if attempt and request in self.cut:
            config |= more_room(lm)
        return Job(
            lambda: predict(**fields, lm=lm, config=config),
            lambda: predict.acall(**fields, lm=lm, config=config),
            read,
            self._calls(role) + extra,
            read_cut,
            config,
            lm.model,
        )

    def _calls(self, role: Any) -> int:
        """As `calls_of`, which walks the role's attributes, but once a role."""
        if id(role) not in self._reserved:
            self._reserved[id(role)] = calls_of(role, self._per_prediction)
        return self._reserved[id(role)]

    def _lm(self, role: Any, own_lm: Any, request: Request) -> Any:
        """The LM that the role calls, behind the gate; chosen once, as a choice may be a new copy."""
        key = id(role), id(own_lm)
        if key not in self._lms:
            cheap = isinstance(request, Rate) and request.rater == "cheap"
            lm = chosen(role.predict.lm, own_lm, dspy.settings.lm, cheap=cheap)
            self._lms[key] = self._gated(lm)
        return self._lms[key]

    def _gated_module(self, module: Any) -> Any:
        """`module`, or a copy of it where predictors have LMs of their own: those too must pass the gate."""
        if all(predictor.lm is None for predictor in module.predictors()):
            return module
        found = self._behind.get(id(module))
        if found is None:
            found = self._behind[id(module)] = module.deepcopy()
            pairs = zip(module.predictors(), found.predictors(), strict=True)
            for original, copied in pairs:
                self.originals[id(copied)] = original
                if original.lm is not None:
                    copied.lm = self._gated(original.lm)
        return found

    def _module(self, module: Any, fields: dict[str, Any], read: Callable[[Any], Outcome]) -> Job:
        module = self._gated_module(module)
        return Job(
            lambda: module(**fields),
            (lambda: module.acall(**fields)) if hasattr(type(module), "aforward") else None,
            read,
            self._calls(module),
        )

    def _function(self, fn: Any, args: tuple[Any, ...], read: Callable[[Any], Outcome]) -> Job:
        return Job(lambda: fn(*args), (lambda: fn(*args)) if own.is_coroutine(fn) else None, read, calls_of(fn))

    def refuse_coroutines(self) -> None:
        """TypeError for a coroutine function in a program that is not awaited."""
        for name in own.FUNCTIONS:
            fn = getattr(self.program, name)
            if own.is_coroutine(fn):
                raise TypeError(
                    f"{_name(fn)} is a coroutine function: await program.acall(...), or give an ordinary one"
                )


def _name(fn: Any) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def refusal_of_temperature(model: str) -> Failed:
    """The same call will go through without its temperature: ask again at once."""
    return Failed(f"{model} takes no temperature", transient=True, retry_after=0.0)
