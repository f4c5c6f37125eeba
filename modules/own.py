"""Proposers and raters of the user's own: functions, and modules of any kind."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, KeysView, Mapping, Set
from itertools import islice
from math import isfinite
from numbers import Real
from typing import Any

import dspy

from ..search.protocol import Outcome, Rated, Unread
from ..tasks import layout
from ..tasks.environment_task import EnvironmentTask
from .scale import Scale
from .shown import NodeView

FUNCTIONS = ("propose_fn", "rate_fn", "value_fn", "cheap_rate", "reward_fn")  # a program's attributes


def calls_of(role: Any, each: int = 1) -> int:
    """The most LM calls of one request to `role`: as declared, else `each` a predictor; a function's 0."""
    declared = getattr(role, "calls", None)
    if isinstance(declared, int):
        return declared
    return each * max(1, len(role.predictors())) if isinstance(role, dspy.Module) else 0


def runs_foreign_code(program: Any, plan: Any, task: Any) -> bool:
    """Whether answering a request may run code that names an LM of its own."""
    given = any(getattr(program, name) is not None for name in FUNCTIONS)
    return given or "own" in (plan.propose, plan.rate) or isinstance(task, EnvironmentTask)


def is_coroutine(fn: Any) -> bool:
    """Whether calling `fn` gives a coroutine: an `async def`, or an object whose `__call__` is one."""
    return inspect.iscoroutinefunction(fn) or (callable(fn) and inspect.iscoroutinefunction(type(fn).__call__))


def name_of(fn: Any) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def accepted(module: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Those of `fields` that the module takes: its signature's inputs, or the names in its forward()."""
    signature = getattr(module, "signature", None) or getattr(getattr(module, "predict", None), "signature", None)
    forward = object.__getattribute__(module, "forward")  # DSPy warns of whoever else reads it
    parameters = inspect.signature(forward).parameters.values()
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        if signature is not None and hasattr(signature, "input_fields"):
            return {name: value for name, value in fields.items() if name in signature.input_fields}
        return dict(fields)
    names = {p.name for p in parameters}
    return {name: value for name, value in fields.items() if name in names}


def node_fields(node: NodeView, n: int | None = None) -> dict[str, Any]:
    """What a module of the user's own may ask for beside the problem's inputs."""
    fields = {"search_path": node.steps, "search_state": node.text}
    return fields if n is None else {**fields, "num_thoughts": str(n)}


def nodes_fields(nodes: list[NodeView]) -> dict[str, Any]:
    return {**node_fields(nodes[0]), "search_candidates": layout.numbered("; ".join(n.path) for n in nodes)}


def ordered(given: Iterable[Any], name: str) -> Iterator[Any]:
    """What a function of the user's own gave, one after the other. TypeError for what has no order, or is no list."""
    unordered = isinstance(given, Set) and not isinstance(given, KeysView)
    if unordered or isinstance(given, Mapping | bytes | bytearray):
        raise TypeError(f"{name} gave a {type(given).__name__}: must be a list, or anything else that has an order")
    return iter(given)


def rated_by_function(given: Any, count: int, fn: Any) -> Outcome:
    """The values that a function of the user's own gave. ValueError for any that is no finite number."""
    values: list[Any] = [given]
    if isinstance(given, Iterable) and not isinstance(given, str):
        values = list(islice(ordered(given, name_of(fn)), count + 1))  # which may never end
    if len(values) != count:
        raise ValueError(f"{name_of(fn)} gave {len(values)} values for {count} nodes: one each is needed, in order")
    for value in values:
        if not isinstance(value, Real) or not isfinite(value):
            raise ValueError(f"{name_of(fn)} gave {value!r}: must be a finite number")
    return Rated(tuple(float(value) for value in values))


def rated_by_module(prediction: Any, scale: Scale) -> Outcome:
    """The rating in a module's last output field: a number, or text that the scale reads."""
    if isinstance(prediction, dspy.Prediction):
        fields = list(prediction.keys())
        prediction = prediction[fields[-1]] if fields else None
    if isinstance(prediction, int | float) and not isinstance(prediction, bool):
        if not isfinite(prediction):
            return Unread(str(prediction))
        value = min(max(float(prediction), scale.low), scale.high)
        return Rated((value,), None, int(value != prediction))
    found = scale.read(str(prediction or ""))
    return Unread(str(prediction)) if found is None else Rated((found[0],), (found[1],), int(found[2]))
