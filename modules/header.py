"""A call's journal: which file, and what its header says so that only the same call continues it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from os.path import isdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dspy
from pydantic import BaseModel, TypeAdapter

from ..search import Codec, Journal, JournalError
from ..search.journal import TELLING
from .about import describe
from .own import FUNCTIONS
from .plan import dump_scale
from .roles import lms_of
from .sampling import rollout_of

if TYPE_CHECKING:
    from .session import Session

ENDING = ".jsonl"


def journal(session: Session, given: Any) -> Journal:
    """The journal of `config={"journal": given}`: a Journal, a file, or a folder with a file a call."""
    if isinstance(given, Journal):
        if given.closed:  # by the call that it was given to before
            raise JournalError(f"journal {given.path} is closed: a Journal serves one call; give its path instead")
        return given
    path = Path(given)
    head = header(session)
    if isdir(path) or str(given).endswith(("/", "\\")):
        path = path / (digest({name: value for name, value in head.items() if name not in TELLING}) + ENDING)
    return Journal(path, head, codec=codec(session))


def header(session: Session) -> dict[str, Any]:
    program, plan = session.program, session.plan
    dump = getattr(plan.controller, "dump", None)
    warmth = [plan.temperature, plan.rate_temperature]
    return {
        "program": type(program).__name__,
        "roles": {name: _role(predictor) for name, predictor in program.named_predictors()},
        "controller": dump() if dump is not None else repr(plan.controller),
        "rating": [plan.propose, plan.rate, dump_scale(plan.scale), plan.samples, plan.join, plan.near],
        "functions": {name: _name(getattr(program, name)) for name in FUNCTIONS},
        "rollouts": {name: rollout_of(lm) for name, lm in lms_of(program).items()},
        "answer": [plan.answer, plan.first, plan.threshold],
        **({} if warmth == [None, None] else {"temperature": warmth}),
        **({} if plan.transition is None else {"transition": plan.transition}),
        **({"lessons": digest(plan.lessons)} if plan.lessons else {}),
        "seed": plan.seed,
        "task": describe(program.task),
        "inputs": digest({name: settled(value) for name, value in session.inputs.items()}),
        "versions": {name: version(name) for name in ("thoughtree", "dspy", "pydantic")},
    }


def _name(fn: Any) -> str | None:
    """A function of the user's own, by where it is defined; an LM, by its model."""
    if fn is None:
        return None
    name = getattr(fn, "__qualname__", type(fn).__qualname__)
    return str(getattr(fn, "model", None) or f"{fn.__module__}:{name}")


def _role(predictor: dspy.Predict) -> str:
    signature: Any = predictor.signature
    fields = {name: [str(info.annotation), str(info.json_schema_extra)] for name, info in signature.fields.items()}
    demos = [dict(demo) if isinstance(demo, dict) else demo.toDict() for demo in predictor.demos]
    return digest([signature.instructions, fields, demos])


def digest(value: Any) -> str:
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, default=str).encode("utf-8", "backslashreplace")
    ).hexdigest()[:16]


def codec(session: Session) -> Codec:
    """The task writes states; an output field is written by its type."""
    task, fields = session.task, session.program.signature.output_fields

    def dump_fields(given: dict[str, Any]) -> dict[str, Any]:
        return {name: _json(value) for name, value in given.items()}

    def load_fields(given: dict[str, Any]) -> dict[str, Any]:
        return {name: _typed(fields[name].annotation, value) for name, value in given.items() if name in fields}

    return Codec(task.dump, task.load, task.key, dump_fields, load_fields)


def settled(value: Any) -> Any:
    """`value` as JSON, the same in every process: a set has no order, and bytes need not be text."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, set | frozenset):
        return sorted(digest(settled(item)) for item in value)
    if isinstance(value, Mapping):
        return {str(name): settled(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [settled(item) for item in value]
    return value.hex() if isinstance(value, bytes) else _json(value)


def _json(value: Any) -> Any:
    return TypeAdapter(Any).dump_python(value, mode="json", fallback=str)


def _typed(annotation: Any, value: Any) -> Any:
    return None if value is None else TypeAdapter(annotation).validate_python(value)
