"""A call's journal: which file, and what its header says so that only the same call continues it."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib.metadata import version
from os.path import isdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dspy
from pydantic import BaseModel, TypeAdapter

from ..search import Codec, Journal, Node, NodeStatus
from ..search.journal import TELLING
from ..tasks.environment_task import EnvironmentTask
from .about import describe
from .calls.failures import describe as describe_error
from .calls.redaction import hide, redact
from .own import FUNCTIONS
from .plan import dump_scale
from .roles import lms_of
from .sampling import rollout_of

if TYPE_CHECKING:
    from .session import Session

ENDING = ".jsonl"
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of an object without words of its own: another in every process


def journal(session: Session, given: Any, *, fsync: bool = False) -> Journal:
    """The journal of `config={"journal": given}`: a file, or a folder with a file a call."""
    path = Path(given)
    head = header(session)
    if isdir(path) or str(given).endswith(("/", "\\")):
        path = path / (digest({name: value for name, value in head.items() if name not in TELLING}) + ENDING)
    return Journal(path, head, codec=codec(session), fsync=fsync)


def header(session: Session) -> dict[str, Any]:
    program, plan = session.program, session.plan
    dump = getattr(plan.controller, "dump", None)
    warmth = [plan.temperature, plan.rate_temperature]
    return {
        "program": type(program).__name__,
        "roles": {name: _role(predictor) for name, predictor in program.named_predictors()},
        "signature": _signature(program.signature),
        "controller": dump() if dump is not None else redact(_words(plan.controller), session.secrets),
        "propose": plan.propose,
        "rating": {"rate": plan.rate, "scale": dump_scale(plan.scale), "samples": plan.samples, "join": plan.join}
        | {"near": plan.near, "blend": plan.blend, "agreement": plan.agreement},
        "functions": {name: _name(getattr(program, name)) for name in FUNCTIONS},
        "rollouts": {name: rollout_of(lm) for name, lm in lms_of(program).items()},
        "answer": {"answer": plan.answer, "first": plan.first, "threshold": plan.threshold},
        **({} if warmth == [None, None] else {"temperature": warmth}),
        **({} if plan.worth is None else {"worth": digest(plan.worth.dump())}),
        **({} if plan.transition is None else {"transition": plan.transition}),
        **({"lessons": digest(plan.lessons)} if plan.lessons else {}),
        "retries": plan.retries,  # what fails for good hangs on it
        "seed": plan.seed,
        "task": redact(session.hook("config", describe)(program.task), session.secrets),  # its settings may hold a key
        "inputs": digest({name: settled(value) for name, value in session.inputs.items()}),
        "versions": dict(_versions()),
    }


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    installed = [(name, version(name)) for name in ("thoughtree", "dspy", "pydantic")]
    return *installed, ("python", platform.python_version())


def _name(fn: Any) -> str | None:
    """A function of the user's own, by where it is defined; an LM, by its model."""
    if fn is None:
        return None
    name = getattr(fn, "__qualname__", type(fn).__qualname__)
    return str(getattr(fn, "model", None) or f"{fn.__module__}:{name}")


def _role(predictor: dspy.Predict) -> str:
    demos = [dict(demo) if isinstance(demo, dict) else demo.toDict() for demo in predictor.demos]
    return digest([_signature(predictor.signature), settled(demos)])


def _signature(signature: Any) -> str:
    said = {name: [str(info.annotation), str(info.json_schema_extra)] for name, info in signature.fields.items()}
    return digest([signature.instructions, ADDRESS.sub("", json.dumps(said))])


def digest(value: Any) -> str:
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, default=str).encode("utf-8", "backslashreplace")
    ).hexdigest()[:16]


def codec(session: Session) -> Codec:
    """The task writes states; an output field is written by its type."""
    task, outputs = session.task, session.program.signature.output_fields

    def dump_fields(given: dict[str, Any]) -> dict[str, Any]:
        return {name: _json(value) for name, value in given.items()}

    def load_fields(given: dict[str, Any]) -> dict[str, Any]:
        return {name: _typed(outputs[name].annotation, value) for name, value in given.items() if name in outputs}

    def show(node: Node[Any, Any]) -> tuple[str | None, str | None]:
        return _shown(node, task, session)

    made = Codec(task.dump, task.load, task.key, dump_fields=dump_fields, load_fields=load_fields, show=show)
    if isinstance(task, EnvironmentTask) and not task.has("key"):
        return replace(made, dump_key=task.dump_key, load_key=task.load_key)
    return made


def _shown(node: Node[Any, Any], task: Any, session: Session) -> tuple[str | None, str | None]:
    """A node's action and state in the task's words. A hook that raises costs the words: the search may do without."""
    words: list[str | None] = []
    said = node.status in (NodeStatus.ILLEGAL, NodeStatus.FAILED)  # what the task could not read itself
    for value, hook in ((node.action, str if said else task.show), (node.state, task.render)):
        try:
            words.append(None if value is None else hide(str(hook(value)), session.spellings))
        except Exception as error:
            words.append(f"({describe_error(error, session.secrets)})")
    return words[0], words[1]


def settled(value: Any) -> Any:
    """`value` as JSON, the same in every process: a set has no order, and bytes need not be text."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(digest(settled(item)) for item in value)
    if isinstance(value, Mapping):
        return {str(name): settled(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [settled(item) for item in value]
    return value.hex() if isinstance(value, bytes) else _json(value)


def _words(value: Any) -> str:
    """What an object says of itself, without its address: if it says no more, then what it holds."""
    said = str(value)
    words = ADDRESS.sub("", said)
    return words if words == said or not hasattr(value, "__dict__") else f"{words} {digest(settled(vars(value)))}"


def _json(value: Any) -> Any:
    return TypeAdapter(Any).dump_python(value, mode="json", fallback=_words)


def _typed(annotation: Any, value: Any) -> Any:
    return None if value is None else TypeAdapter(annotation).validate_python(value)
