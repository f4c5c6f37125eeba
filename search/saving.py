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
from .rollout_log import RolloutLog
from .tree import Node, NodeStatus, Tree
from .whole_file import read_whole, write_whole

FORMAT = "thoughtree.result/1"
# What a node's row holds beside its id, parent, status, action, state: only what differs from a new node's.
NODE_FIELDS = {
    "reward": "number",
    "value": "number or none",
    "prior": "number",
    "ratings": "count",
    "sampled": "number",
    "lost": "count",
    "verdict": "text or none",
    "rater": "text",
    "missed": "flag",
    "visits": "count",
    "total": "number",
    "reason": "any",
    "observation": "any",
    "answer": "object or none",
}
DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
DEFAULTS = {f.name: f.default for f in fields(Node)}


def save(result: SearchResult[Any, Any], path: Path) -> None:
    """Write whole or not at all: a crash leaves the old file."""
    write_whole(path, text_of(result).encode("ascii"))


def text_of(result: SearchResult[Any, Any]) -> str:
    """What is saved: one JSON object. TypeError for a state that cannot be written."""
    try:
        # ASCII, like a journal: whatever a model said, no terminal obeys it, and no lone surrogate is lost.
        return json.dumps(dump(result), allow_nan=False, default=_refuse)
    except (ValueError, RecursionError) as error:  # a NaN, or a state that holds itself, or is nested too deeply
        raise TypeError(f"SearchResult.save: {error}; give the task `dump` and `load` hooks") from error


def restored(text: str) -> SearchResult[Any, Any]:
    """The result whose `text_of` this is, without its task."""
    return _read(json.loads(text), None)


def _refuse(value: Any) -> Any:
    raise TypeError(
        f"SearchResult.save: {type(value).__name__} value {value!r} is not JSON; give the task `dump` and `load` hooks"
    )


def dump(result: SearchResult[Any, Any]) -> dict[str, Any]:
    task = result.task
    nodes: list[dict[str, Any]] = []
    for node in result.tree:
        row: dict[str, Any] = {"id": node.id, "parent": node.parent}
        if node.id:
            row["action"] = result.shown(node) if task is not None else plain(node.action)
        if node.state is not None:
            row["state"] = task.dump(node.state) if task is not None else plain(node.state)
            if task is not None:
                row["text"] = task.render(node.state)
        nodes.append(row | numbers(result, node))
    saved_of = result.saved_of if task is None else _kind(task)
    of = {} if saved_of is None else {"task": saved_of}
    return {**summed(result), **of, "explained": list(result.explained) or explain(result), "nodes": nodes}


def _kind(task: Describes) -> str:
    return f"{type(task).__module__}:{type(task).__qualname__}"


def numbers(result: SearchResult[Any, Any], node: Node[Any, Any]) -> dict[str, Any]:
    """A node's row, but for what its task says: its action and its state."""
    row: dict[str, Any] = {"status": node.status.value}
    for name in NODE_FIELDS:
        value, default = getattr(node, name), DEFAULTS[name]
        if value is not default and (type(value) is not type(default) or value != default):
            row[name] = plain(value)
    if spent := result.by_node.get(node.id):
        row["spent"] = list(spent)
    return row


def summed(result: SearchResult[Any, Any]) -> dict[str, Any]:
    """All but the nodes, and what is explained. No hook of the task is called."""
    return {
        "format": FORMAT,
        "status": result.status.value,
        "ended": None if result.ended is None else result.ended.value,
        "best": result.best.id,
        "answer": None if result.answer is None else {k: plain(v) for k, v in result.answer.items()},
        "reward": result.reward,
        "feedback": result.feedback,
        "predicted": dict(result.predicted),
        "spent": asdict(result.spent),
        "spent_by": {role: asdict(usage) for role, usage in result.spent_by.items()},
        "unread": result.unread,
        "failed": result.failed,
        "errors": result.errors,
        "clamped": result.clamped,
        "seconds": result.seconds,
        "unfinished": result.unfinished,
        "lost": {role: list(fault) for role, fault in result.lost.items()},
        "unclosed": result.unclosed,
        "hung": list(result.hung),
        "rating": asdict(result.rating),
        "controller": result.controller,
        "lessons": result.tree.lessons,
        "rollouts": [asdict(log) for log in result.tree.rollouts],
    }


def plain(value: Any) -> Any:
    """A JSON value for `value`: itself, a pydantic object's own dump, or its text."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in cast("tuple[Any, ...]", value)]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    is_json = value is None or isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))
    return value if is_json else str(value)


def load(path: Path, task: Describes | None = None) -> SearchResult[Any, Any]:
    content = read_whole(path)
    if not content.strip():
        raise ValueError(f"{path}: not a saved search result: the file is empty")
    try:
        data = json.loads(content.decode("utf-8"), parse_float=_finite, parse_constant=_finite)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a saved search result (not JSON: {error})") from error
    if not isinstance(data, dict) or cast("dict[str, Any]", data).get("format") != FORMAT:
        found = cast("dict[str, Any]", data).get("format") if isinstance(data, dict) else type(data).__name__
        raise ValueError(f"{path}: not a saved search result (format {found!r}, expected {FORMAT!r})")
    data = cast("dict[str, Any]", data)
    try:
        found = _read(data, task)
        if task is not None and found.saved_of not in (None, _kind(task)):
            _check_words(data, found, task)
        return found
    except DAMAGE as error:
        raise ValueError(f"{path}: {_wrong(data, task, error)}") from error


def _check_words(data: dict[str, Any], found: SearchResult[Any, Any], task: Describes) -> None:
    """A task of another name may be the same one, moved. ValueError where it makes other states of what is written."""
    for node, row in zip(found.tree, data["nodes"], strict=True):
        if "text" in row and (words := task.render(node.state)) != row["text"]:
            raise ValueError(f"node {node.id} is {words!r}, and was {row['text']!r}")


def _wrong(data: dict[str, Any], task: Describes | None, error: Exception) -> str:
    """Whether the file is damaged, or it is the task that cannot read its states."""
    try:
        saved_of = _read(data, None).saved_of
    except DAMAGE as damage:
        return f"a damaged search result ({_brief(damage)})"
    given = "" if task is None else _kind(task)
    if saved_of == given:
        return (
            f"{given} can no longer read the states that it wrote; read them with the version that did, or without a "
            f"task ({_brief(error)})"
        )
    of = "another task" if saved_of is None else saved_of
    return (
        f"its states were written by {of}, and task={given} cannot read them; give the one that wrote them, or none "
        f"({_brief(error)})"
    )


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):  # Python would read them; JSON has none
        raise ValueError(f"{text} is no JSON number")
    return number


def _read(data: dict[str, Any], task: Describes | None) -> SearchResult[Any, Any]:
    tree = _read_tree(data["nodes"], task)
    tree.lessons.extend(_checked("lesson", lesson, "text") for lesson in data["lessons"])
    tree.rollouts.extend(map(_read_log, data.get("rollouts", ())))
    best = _checked("best", data["best"], "count")
    if best >= len(tree):
        raise ValueError(f"best is node {best} of {len(tree)}")
    kinds = {"failed": "count", "clamped": "count", "seconds": "number", "unfinished": "count"}
    kinds |= {"answer": "object or none", "reward": "number or none", "feedback": "text or none"}
    return SearchResult(
        status=SearchStatus(data["status"]),
        ended=None if data["ended"] is None else Ended(data["ended"]),
        best=tree[best],
        tree=tree,
        spent=_usage(data["spent"]),
        spent_by={role: _usage(usage) for role, usage in data["spent_by"].items()},
        unread=_counts("unread", data["unread"]),
        errors=_counts("errors", data["errors"]),
        predicted=_counts("predicted", data.get("predicted", {})),
        lost={role: _lost(fault) for role, fault in _checked("lost", data.get("lost", {}), "object").items()},
        unclosed=_checked("unclosed", data.get("unclosed"), "text or none"),
        hung=tuple(_checked("hung", name, "text") for name in data.get("hung", ())),
        rating=Rating(**data["rating"]),
        controller=dict(_checked("controller", data["controller"], "object")),
        task=task,
        by_node={row["id"]: _share(row["spent"]) for row in data["nodes"] if "spent" in row},
        saved_of=_checked("task", data.get("task"), "text or none"),
        explained=tuple(_checked("explained", line, "text") for line in data["explained"]),
        **{name: _checked(name, data[name], kind) for name, kind in kinds.items()},
    )


def _lost(fault: Any) -> tuple[int, str | None]:
    count, error = fault
    return _checked("lost", count, "count"), _checked("lost", error, "text or none")


def _read_log(row: dict[str, Any]) -> RolloutLog:
    kinds = {f.name: "number or none" if f.name == "value" else "count" for f in fields(RolloutLog)}
    return RolloutLog(**{name: _checked(name, row[name], kind) for name, kind in kinds.items()})


def _read_tree(rows: list[dict[str, Any]], task: Describes | None) -> Tree[Any, Any]:
    def state(row: dict[str, Any]) -> Any:
        value = row.get("state")
        return task.load(value) if task is not None and value is not None else value

    tree: Tree[Any, Any] = Tree(state(rows[0]))
    for i, row in enumerate(rows):
        if row["id"] != i or (i and _checked("parent", row["parent"], "count") >= i):
            raise ValueError(f"node {row['id']!r} at place {i}, with parent {row['parent']!r}")
        node: Node[Any, Any] = tree.add(tree[row["parent"]], row["action"]) if i else tree.root
        node.state, node.status = state(row), NodeStatus(row["status"])
        for name, kind in NODE_FIELDS.items():
            if name in row:
                setattr(node, name, _checked(name, row[name], kind))
    return tree


def _checked(name: str, value: Any, kind: str) -> Any:
    """`value`, if it is of that kind. ValueError otherwise: a damaged file is found as it is read."""
    if value is None and kind.endswith(" or none"):
        return value
    match kind.removesuffix(" or none"):
        case "number":
            right = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
        case "count":
            right = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        case "text":
            right = isinstance(value, str)
        case "flag":
            right = isinstance(value, bool)
        case "object":
            right = isinstance(value, dict)
        case _:
            right = True
    if not right:
        raise ValueError(f"{name} is {value!r}, which is no {kind}")
    return value


def _usage(data: dict[str, Any]) -> Usage:
    kinds = {"calls": "count", "tokens": "count", "cost": "number", "seconds": "number"}
    return Usage(**{name: _checked(name, data[name], kind) for name, kind in kinds.items()})


def _share(spent: list[Any]) -> tuple[float, ...]:
    """What a node took: calls, tokens, dollars, seconds."""
    calls, tokens, cost, seconds = (_checked("spent", amount, "number") for amount in spent)
    return calls, tokens, cost, seconds


def _counts(name: str, data: dict[str, Any]) -> dict[str, int]:
    return {key: _checked(name, count, "count") for key, count in data.items()}
