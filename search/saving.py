"""A result as one JSON file, and back. Plain data both ways: loading never runs code."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from math import isfinite
from pathlib import Path
from typing import Any, cast

from .budget import Ended, SearchStatus
from .explain import explain
from .protocol import Usage
from .rating import Rating
from .result import Describes, SearchResult
from .tree import Node, NodeStatus, Tree

FORMAT = "thoughtree.result/1"
NODE_FIELDS = (
    "depth reward value prior ratings lost verdict rater missed visits total reason observation answer".split()
)
JSON = (str, int, float, bool, list, dict, type(None))


def save(result: SearchResult[Any, Any], path: Path) -> None:
    """Write whole or not at all: a crash leaves the old file."""
    text = json.dumps(dump(result), ensure_ascii=False, allow_nan=False, default=_refuse)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8", errors="backslashreplace")
    partial.replace(path)


def _refuse(value: Any) -> Any:
    raise TypeError(
        f"SearchResult.save: {type(value).__name__} value {value!r} is not JSON; give the task `dump` and `load` hooks"
    )


def dump(result: SearchResult[Any, Any]) -> dict[str, Any]:
    task = result.task
    nodes: list[dict[str, Any]] = []
    for node in result.tree:
        row: dict[str, Any] = {"id": node.id, "parent": node.parent, "status": node.status.value}
        if node.id:
            row["action"] = task.show(node.action) if task is not None else _plain(node.action)
        if node.state is not None:
            row["state"] = task.dump(node.state) if task is not None else _plain(node.state)
            if task is not None:
                row["text"] = task.render(node.state)
        for name in NODE_FIELDS:
            value = getattr(node, name)
            if value not in (None, 0, 0.0, "", False) or name == "value":
                row[name] = None if isinstance(value, float) and not isfinite(value) else _plain(value)
        nodes.append(row)
    return {
        "format": FORMAT,
        "status": result.status.value,
        "ended": None if result.ended is None else result.ended.value,
        "best": result.best.id,
        "answer": None if result.answer is None else {k: _plain(v) for k, v in result.answer.items()},
        "reward": result.reward,
        "feedback": result.feedback,
        "spent": asdict(result.spent),
        "spent_by": {role: asdict(usage) for role, usage in result.spent_by.items()},
        "unread": result.unread,
        "failed": result.failed,
        "errors": result.errors,
        "clamped": result.clamped,
        "seconds": result.seconds,
        "unfinished": result.unfinished,
        "rating": asdict(result.rating),
        "controller": result.controller,
        "lessons": result.tree.lessons,
        "explained": list(result.explained) or explain(result),
        "nodes": nodes,
    }


def _plain(value: Any) -> Any:
    """A JSON value for `value`: itself, a pydantic object's own dump, or its text."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in cast("tuple[Any, ...]", value)]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in cast("dict[Any, Any]", value).items()}
    return value if isinstance(value, JSON) else str(value)


def load(path: Path, task: Describes | None = None) -> SearchResult[Any, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a saved search result (not JSON: {error})") from error
    if not isinstance(data, dict) or cast("dict[str, Any]", data).get("format") != FORMAT:
        found = cast("dict[str, Any]", data).get("format") if isinstance(data, dict) else type(data).__name__
        raise ValueError(f"{path}: not a saved search result (format {found!r}, expected {FORMAT!r})")
    try:
        return _read(cast("dict[str, Any]", data), task)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ValueError(f"{path}: a damaged search result ({type(error).__name__}: {error})") from error


def _read(data: dict[str, Any], task: Describes | None) -> SearchResult[Any, Any]:
    tree = _read_tree(data["nodes"], task)
    tree.lessons.extend(str(lesson) for lesson in data["lessons"])
    if not 0 <= data["best"] < len(tree):
        raise ValueError(f"best is node {data['best']!r} of {len(tree)}")
    plain = {f.name for f in fields(SearchResult)} & {"failed", "errors", "clamped", "seconds", "unfinished"}
    return SearchResult(
        status=SearchStatus(data["status"]),
        ended=None if data["ended"] is None else Ended(data["ended"]),
        best=tree[data["best"]],
        tree=tree,
        spent=Usage(**data["spent"]),
        spent_by={role: Usage(**usage) for role, usage in data["spent_by"].items()},
        unread=dict(data["unread"]),
        rating=Rating(**data["rating"]),
        controller=dict(data["controller"]),
        answer=data["answer"],
        reward=data["reward"],
        feedback=data["feedback"],
        task=task,
        explained=tuple(str(line) for line in data["explained"]),
        **{name: data[name] for name in plain},
    )


def _read_tree(rows: list[dict[str, Any]], task: Describes | None) -> Tree[Any, Any]:
    def state(row: dict[str, Any]) -> Any:
        value = row.get("state")
        return task.load(value) if task is not None and value is not None else value

    tree: Tree[Any, Any] = Tree(state(rows[0]))
    for i, row in enumerate(rows):
        if row["id"] != i or (i and not 0 <= row["parent"] < i):
            raise ValueError(f"node {row['id']!r} at place {i}, with parent {row['parent']!r}")
        node: Node[Any, Any] = tree.add(tree[row["parent"]], row["action"]) if i else tree.root
        node.state, node.status = state(row), NodeStatus(row["status"])
        for name in NODE_FIELDS:
            if name in row and name != "depth":
                setattr(node, name, row[name])
    return tree
