"""What an evaluation is of: so much that a run under the same description may go on where another was killed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from importlib.metadata import version
from types import CodeType
from typing import Any

import dspy
from dspy.predict.parameter import Parameter

from ..modules.header import digest, settled
from ..modules.parts import parts_of
from .fields import as_json
from .scoring import Scorer

FORMAT = "thoughtree.evaluation/1"
SAMPLING = ("temperature", "max_tokens", "top_p", "rollout_id", "reasoning_effort")  # of an LM; never its key
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def describe(program: Any, scorer: Scorer, devset: list[dspy.Example], keys: list[str]) -> dict[str, Any]:
    """As JSON, the same in every process."""
    inputs = [sorted(example.inputs().keys()) for example in devset]
    return {
        "format": FORMAT,
        "program": _program(program),
        "lm": _lm(dspy.settings.lm),
        "adapter": None if dspy.settings.adapter is None else type(dspy.settings.adapter).__name__,
        "metric": called(scorer.metric),
        "devset": {"examples": len(devset), "digest": digest([keys, inputs])},
        "versions": {name: version(name) for name in ("thoughtree", "dspy")},
    }


def _program(program: Any) -> dict[str, Any]:
    """Each part by a digest, so that what differs can be named."""
    if not isinstance(program, dspy.Module):
        return {"kind": called(program) if callable(program) else _name(program)}
    found: dict[str, Any] = {"kind": _name(type(program))}
    for name, parameter in program.named_parameters():
        found[name] = digest(_state(parameter))
    for name, module in parts_of(program):
        knobs = {key: value for key, value in vars(module).items() if _is_knob(key, value)}
        if knobs and not isinstance(module, Parameter):  # which has said what it is; a predictor draws random names
            found[f"{name or 'self'}.*"] = digest([_name(type(module)), knobs])
    return found


def _state(parameter: Any) -> Any:
    if isinstance(parameter, dspy.Predict) and parameter.lm is not None:
        bare: Any = copy(parameter)
        bare.lm = None  # told below; one with an engine of the user's own cannot be saved
        return [settled(bare.dump_state()), as_json(parameter.config), _lm(parameter.lm)]
    try:
        state = settled(parameter.dump_state())
    except TypeError:  # a controller of the user's own, which cannot be saved
        return _ADDRESS.sub("", repr(vars(parameter)))
    # DSPy saves no config of a predictor, and a temperature makes another evaluation.
    return [state, as_json(getattr(parameter, "config", None)), _lm(getattr(parameter, "lm", None))]


def _is_knob(name: str, value: Any) -> bool:
    return not name.startswith("_") and (value is None or isinstance(value, str | int | float | bool))


def _lm(lm: Any) -> Any:
    if lm is None:
        return None
    kwargs: Mapping[str, Any] = getattr(lm, "kwargs", None) or {}
    settings = {name: as_json(kwargs[name]) for name in SAMPLING if name in kwargs}
    return [str(getattr(lm, "model", type(lm).__name__)), settings]


def called(metric: Any) -> Any:
    """By where it is defined; a function by its code too, since many are called `metric`; an object by its fields."""
    if isinstance(metric, dspy.Module):
        return _program(metric)
    code = getattr(metric, "__code__", None)  # a method has its function's
    return [_name(metric), digest(_ADDRESS.sub("", repr(metric)) if code is None else _code(code))]


def _code(code: Any) -> list[Any]:
    """What a function does, and not where it stands."""
    constants = [_code(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    return [code.co_code.hex(), code.co_names, code.co_varnames, constants]


def _name(thing: Any) -> str:
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}:{named.__qualname__}"
