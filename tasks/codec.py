"""States to JSON and back, by the type that a task was declared with: `class Maze(Task[Position, str])`."""

from __future__ import annotations

import json
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ForwardRef, TypeVar, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import PydanticSerializationError

if TYPE_CHECKING:
    from .task import Task

MEND = (
    "declare the state type, as in class MyTask(Task[State, Action]), with a State that pydantic can write"
    " (a dataclass, a model, a tuple of plain values), or override dump and load"
)


def dump(task: Task[Any, Any], state: Any) -> Any:
    """`state` as a JSON value. TypeError if it cannot be written, or would be read as something else."""
    adapter = _adapter_for(task)
    try:
        if adapter is not None:
            return adapter.dump_python(state, mode="json", warnings="error")
        written = json.loads(json.dumps(state))
    except (PydanticSerializationError, TypeError, ValueError) as error:
        raise _unwritable(type(task).__name__, type(state).__name__, str(error)) from error
    if written != state:  # a tuple would come back as a list, and a key of 1 as "1"
        raise _unwritable(type(task).__name__, type(state).__name__, "it would be read as something else")
    return written


def load(task: Task[Any, Any], value: Any) -> Any:
    """The state that `dump` wrote as `value`. ValueError if it is no such state."""
    adapter = _adapter_for(task)
    if adapter is None:
        return value
    try:
        return adapter.validate_json(json.dumps(value))
    except ValidationError as error:
        raise ValueError(f"{type(task).__name__}: not a state that dump wrote: {value!r}: {error}") from error


def texts(value: Any) -> tuple[str, ...]:
    """A list of texts from a file. ValueError for anything else."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{value!r} is no list of texts")
    return tuple(value)


def _unwritable(task: str, state: str, why: str) -> TypeError:
    return TypeError(f"{task}: a state of type {state} cannot be written to JSON ({why}); {MEND}")


def _adapter_for(task: Task[Any, Any]) -> TypeAdapter[Any] | None:
    if state_type(type(task)) is None and not task.has("initial") and not task.has("apply"):
        return _thoughts()
    cls: Any = type(task)
    return _adapter(cls)


@lru_cache
def _thoughts() -> TypeAdapter[Any]:
    return TypeAdapter(tuple[str, ...])


@lru_cache(maxsize=256)
def _adapter(cls: type[Any]) -> TypeAdapter[Any] | None:
    declared = state_type(cls)
    if declared is None:
        return None
    try:
        return TypeAdapter(declared)
    except (PydanticSchemaGenerationError, PydanticUserError, NameError) as error:
        name = getattr(declared, "__name__", str(declared))
        raise _unwritable(cls.__name__, name, str(error).splitlines()[0]) from error


def state_type(cls: type[Any]) -> Any | None:
    """The state type that a task class was declared with, or None where it was left open."""
    found = _first_parameter(cls)
    if isinstance(found, ForwardRef):
        found = getattr(sys.modules.get(cls.__module__), found.__forward_arg__, None)
    return None if found is Any or found is object or isinstance(found, TypeVar) else found


def _first_parameter(cls: type[Any]) -> Any | None:
    """What `cls` stands in for the first parameter of Task: a type, a type variable, or None."""
    from .task import S, Task

    if cls is Task:
        return S
    for base in cls.__dict__.get("__orig_bases__", cls.__bases__):
        origin = get_origin(base) or base
        if not (isinstance(origin, type) and issubclass(origin, Task)):
            continue
        found = _first_parameter(origin)
        if isinstance(found, TypeVar):
            given: dict[Any, Any] = dict(zip(getattr(origin, "__parameters__", ()), get_args(base), strict=False))
            found = given.get(found)
        if found is not None:
            return found
    return None
