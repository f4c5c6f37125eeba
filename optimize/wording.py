"""Steps of a finished search in the form that its task asks a model to write them in: what examples have to show."""

from __future__ import annotations

from typing import Any

from ..search import SearchResult
from ..search.tree import Node


def written(result: SearchResult[Any, Any], node: Node[Any, Any]) -> str:
    """The step that led to `node`. As the result shows it, where the task does not say more, or never read it."""
    before: Any = None if node.parent is None else result.tree[node.parent].state
    task: Any = result.task
    shown = result.shown(node)
    if task is None or before is None or shown != task.show(node.action):
        return shown
    return str(task.write(node.action, before))


def path_written(result: SearchResult[Any, Any]) -> list[str]:
    """The steps from the root to the best node."""
    return [written(result, node) for node in result.tree.path(result.best)[1:]]
