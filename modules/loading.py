"""A program from its saved JSON alone. Nothing in it is run; a task of the user's is imported on consent."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dspy
import orjson

from .. import tasks
from ..tasks import Task
from .about import signature_of
from .inputs import PER_CALL
from .loading_into import load_into
from .plan import FORMAT, Plan
from .predictor import DAMAGED
from .program import Program
from .tree_of_thoughts import TreeOfThoughts

LOOSER = ("without", "paths")  # what lets programs out of a Sandbox; only code may say so
MOST_BYTES = 256_000_000  # of a file; demos may hold images
PROGRAMS = ("TreeOfThoughts", "LATS", "RAP")


class UntrustedTask(ValueError):
    """The task of a saved program is none of this package's, and its import was not allowed."""


def load(
    path: str | Path,
    *,
    task: Task[Any, Any] | None = None,
    allow_task_import: bool = False,
    custom_types: Mapping[str, Any] | None = None,
    into: dspy.Module | None = None,
    **given: Any,
) -> Any:
    """The program that `program.save(path)` wrote: signature, controller, budget, prompts and demos.

    task: the task to use; needed where the saved one has settings that its class cannot tell. allow_task_import:
    import a task class from outside thoughtree by the path in the file; only for files that you trust.
    custom_types: what the signature's own types are, by name. A LATS needs its env, tools or reward_fn again, unless it
    was saved with Programming().
    into: a module of your own that was saved, newly built: its searches become as the saved ones, whatever a tuner had
    made of them, and it is given back. It takes nothing else.
    given: constructor arguments that are never saved (propose_lm, reward_fn, a propose function, ...), knobs to set
    instead of the saved ones, or `signature` itself.
    Raises ValueError, with what is wrong, for a file that is no saved program.
    """
    if into is not None:
        if task is not None or allow_task_import or custom_types is not None or given:
            raise TypeError("into=: a module of your own has its tasks and arguments; give the path alone")
        return load_into(into, path)
    state = _state(Path(path))
    settings = state["settings"]
    plan = _plan(path, settings)
    kind, acts = _program(settings["program"])
    if acts:
        if not {"env", "tools", "reward_fn"} & set(given):
            given["env"] = _environment(path, _field(path, settings, "task"))
    elif task is None:
        task = _task(path, _field(path, settings, "task"), allow_task_import)
    signature = given.pop("signature", None) or _signature(path, settings, custom_types)
    taken = inspect.signature(kind.__init__).parameters
    arguments = {name: getattr(plan, name) for name in plan.__dataclass_fields__ if name in taken}
    if task is not None:
        arguments["task"] = task
    for name in ("propose", "rate"):
        if arguments.get(name) == "own":
            del arguments[name]
            if name not in given and not (name == "rate" and "value_fn" in given):
                raise ValueError(
                    f"{path}: saved with a {name} of the user's own, which is not in the file; give {name}="
                )
    try:
        program = kind(signature, **{**_written(arguments, acts), **given})
        program.load_state(state)
        changed = {name: given[name] for name in PER_CALL if name in given}
        program.plan = program.plan.replace(**changed) if changed else program.plan
    except DAMAGED as error:
        raise ValueError(f"{path}: cannot be loaded ({type(error).__name__}: {error})") from error
    return program


def _state(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{path}: too large for a saved program (more than {MOST_BYTES:,} bytes)")
    try:
        state = orjson.loads(content)  # as DSPy, which wrote it
    except ValueError as error:
        raise ValueError(f"{path}: not a saved program (not JSON: {error})") from error
    settings = state.get("settings") if isinstance(state, dict) else None
    if not isinstance(settings, dict) or settings.get("format") != FORMAT:
        found = settings.get("format") if isinstance(settings, dict) else None
        raise ValueError(f"{path}: not a saved thoughtree program (format {found!r}, expected {FORMAT!r})")
    if settings.get("program") not in PROGRAMS:
        raise ValueError(f"{path}: program {settings.get('program')!r} is not one of this release")
    state.pop("metadata", None)
    return dict(state)


def _program(name: str) -> tuple[type[Program], bool]:
    """The class of that name, and whether it acts in an environment."""
    if name == "TreeOfThoughts":
        return TreeOfThoughts, False
    if name == "RAP":
        from .rap import RAP

        return RAP, False
    from .lats import LATS

    return LATS, True


def _written(arguments: dict[str, Any], acts: bool) -> dict[str, Any]:
    """The constructor's arguments. A reward's threshold goes with a reward function, which is not saved."""
    if acts:
        return {name: value for name, value in arguments.items() if value is not None}
    return arguments


def _field(path: Any, settings: dict[str, Any], name: str) -> Any:
    if name not in settings:
        raise ValueError(f"{path}: a damaged program (its settings have no {name!r})")
    return settings[name]


def _plan(path: Any, settings: dict[str, Any]) -> Plan:
    try:
        return Plan.load(_field(path, settings, "plan"))
    except DAMAGED as error:
        raise ValueError(f"{path}: its settings cannot be read ({error})") from error


def _signature(path: Any, settings: dict[str, Any], types: Any) -> type[dspy.Signature]:
    try:
        return signature_of(settings, types)
    except DAMAGED as error:
        raise ValueError(
            f"{path}: its signature cannot be built ({error}); give custom_types={{'Name': type}}, signature="
        ) from error


def _environment(path: Any, described: Any) -> Any:
    """That of a saved LATS, where it is one of ours that its settings can make again."""
    from ..tasks import Programming

    _, brace, settings = str(described).partition("{")
    try:
        own = json.loads(brace + settings)
        runner = own.get("runner") or {}
        if not isinstance(runner, dict) or any(runner.get(name) for name in LOOSER):
            raise ValueError(f"its runner is {runner!r}")
        if own.pop("env") == f"{Programming.__module__}:{Programming.__qualname__}":
            return Programming(**own)
    except DAMAGED:
        pass  # a runner of the user's own, say, or a file that opens the sandbox
    raise ValueError(
        f"{path}: a LATS acts in an environment, which is not in the file; give env=, tools= or reward_fn=, "
        "or on the command line --program"
    )


def _ours() -> dict[str, type[Task[Any, Any]]]:
    """The tasks of this package, by the names that files have for them."""
    kinds = [getattr(tasks, name) for name in tasks.__all__]
    found = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Task)]
    return {f"{kind.__module__}:{kind.__qualname__}": kind for kind in found}


def _task(path: Any, described: Any, allowed: bool) -> Task[Any, Any]:
    if not isinstance(described, str):
        raise ValueError(f"{path}: its task is {described!r}, and no name; give task=...")
    name, _, settings = described.partition("{")
    module, _, attribute = name.partition(":")
    found: Any = _ours().get(name)
    if found is None and not allowed:
        raise UntrustedTask(
            f"{path}: its task is {name!r}, whose import would run code; give task=..., or "
            "allow_task_import=True if you trust the file"
        )
    if found is None:
        try:
            found = importlib.import_module(module)
            for part in attribute.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError, ValueError) as error:  # ValueError: a NUL in the name
            raise ValueError(f"{path}: its task {name!r} cannot be imported ({error}); give task=...") from error
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise ValueError(f"{path}: {name} is no task; give task=...")
    try:
        made: Task[Any, Any] = found(**(json.loads("{" + settings) if settings else {}))
    except DAMAGED as error:
        raise ValueError(f"{path}: its task {name} cannot be made again ({error}); give task=...") from error
    return made
