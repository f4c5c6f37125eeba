"""Whether a step of a search led where the task's own code says that it leads: a world model may have dreamt it."""

from __future__ import annotations

from typing import Any

from ..search import SearchResult
from ..search.protocol import Illegal
from ..search.tree import ILLEGAL, Node
from ..tasks import Task, stepping
from ..tasks.environment_task import EnvironmentTask


class RealSteps:
    """Of one result. An environment's steps are real, and those of a task without `apply` are nobody's to check."""

    def __init__(self, result: SearchResult[Any, Any]) -> None:
        task: Any = result.task
        checks = isinstance(task, Task) and not isinstance(task, EnvironmentTask) and task.has("apply")
        self._task: Any = task if checks else None
        self._result = result
        self._known: dict[int, bool] = {}

    def is_so(self, node: Node[Any, Any]) -> bool:
        """Whether the step to this node led to its state, or is as illegal as was said."""
        if node.id not in self._known:
            self._known[node.id] = self._task is None or self._checked(node)
        return self._known[node.id]

    def _checked(self, node: Node[Any, Any]) -> bool:
        task, before = self._task, self._result.tree[node.parent or 0].state
        if before is None or (node.state is None and node.status is not ILLEGAL):
            return True  # an answer, or a copy of a sibling: no state that a step led to
        action = node.action
        if isinstance(action, str):  # of a loaded result, or one that could not be read
            action = stepping.parse(task, before, action)
        landing = action if isinstance(action, Illegal) else stepping.step(task, before, action)
        if isinstance(landing, Illegal) or node.status is ILLEGAL:
            return isinstance(landing, Illegal) and node.status is ILLEGAL
        if landing.key is not None:
            return bool(landing.key == task.key(node.state))
        return bool(landing.state == node.state)
