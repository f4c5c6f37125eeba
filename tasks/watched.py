"""A task whose hooks are watched: it is known which one hangs, and one that comes back too late reaches nobody."""

from __future__ import annotations

from typing import Any, cast

from ..search.hooks import Hooks
from .task import HOOKS, Task

# Beside the hooks of every task: those of worlds that a model predicts, and of environments.
WATCHED = (HOOKS - {"config", "for_inputs", "instructions"}) | {"predicted", "goal_share", "trajectory"}
WATCHED |= {"dump_key", "load_key", "inputs_at"}


class _Watched:
    """Is its task in all, `isinstance` included. A hook that calls another calls the task's own."""

    def __init__(self, task: Task[Any, Any], hooks: Hooks) -> None:
        object.__setattr__(self, "_watched", (task, hooks))

    def __getattribute__(self, name: str) -> Any:
        task, hooks = object.__getattribute__(self, "_watched")
        found = getattr(task, name)
        return hooks.watched(name, found) if name in WATCHED and callable(found) else found

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_watched")[0], name, value)


def watched(task: Task[Any, Any], hooks: Hooks) -> Task[Any, Any]:
    return cast("Task[Any, Any]", _Watched(task, hooks))
