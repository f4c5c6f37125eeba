"""Calls of proposers and raters of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dspy

from ..search.protocol import Outcome, Request
from . import own
from .calls.inert import inert
from .job import Job
from .own import calls_of, name_of
from .sampling import another
from .shown import NodeView


class OwnJobs:
    """Jobs around functions and modules, for one call of a program.

    gated: puts an LM behind the gate. per_prediction: LM calls that the adapter makes for one prediction.
    originals: predictors that are called as copies, by the copy's id.
    """

    def __init__(self, gated: Callable[[Any], Any], per_prediction: int) -> None:
        self._gated, self._per_prediction = gated, per_prediction
        self.originals: dict[int, Any] = {}
        self._behind: dict[int, Any] = {}  # modules by their id: themselves, or a copy behind the gate
        self._reserved: dict[int, int] = {}  # the calls of one request to a module, by its id

    def function(self, fn: Any, args: tuple[Any, ...], read: Callable[[Any], Outcome]) -> Job:
        acall = (lambda: fn(*args)) if own.is_coroutine(fn) else None
        return Job(lambda: fn(*args), acall, read, calls_of(fn), reads_long=True)  # what it gave may be a generator

    def rater(self, fn: Any, inputs: dict[str, Any], nodes: list[NodeView]) -> Job:
        """A function that rates nodes together."""
        return self.function(fn, (dict(inputs), nodes), lambda given: own.rated_by_function(given, len(nodes), fn))

    def module(
        self, module: Any, fields: dict[str, Any], read: Callable[[Any], Outcome], request: Request, attempt: int
    ) -> Job:
        """A module, under another rollout of the configured LM for each sample and attempt."""
        module, fields = self._behind_the_gate(module), inert(fields)
        lm = dspy.settings.lm
        return Job(
            lambda: module(**fields),
            (lambda: module.acall(**fields)) if hasattr(type(module), "aforward") else None,
            read,
            self.calls(module),
            lm=None if lm is None else another(self._gated(lm), getattr(request, "sample", 0), attempt),
        )

    def calls(self, role: Any) -> int:
        """As `calls_of`, which walks the role's attributes, but once a role."""
        if id(role) not in self._reserved:
            self._reserved[id(role)] = calls_of(role, self._per_prediction)
        return self._reserved[id(role)]

    def _behind_the_gate(self, module: Any) -> Any:
        """`module`, or a copy of it where predictors have LMs of their own: those too must pass the gate."""
        if all(predictor.lm is None for predictor in module.predictors()):
            return module
        found = self._behind.get(id(module))
        if found is None:
            found = self._behind[id(module)] = module.deepcopy()
            for original, copied in zip(module.predictors(), found.predictors(), strict=True):
                self.originals[id(copied)] = original
                if original.lm is not None:
                    copied.lm = self._gated(original.lm)
        return found


def refuse_coroutines(program: Any) -> None:
    """TypeError for a coroutine function in a program that is not awaited."""
    for name in own.FUNCTIONS:
        fn = getattr(program, name)
        if own.is_coroutine(fn):
            raise TypeError(
                f"{name_of(fn)} is a coroutine function: await program.acall(...), or give an ordinary function"
            )
