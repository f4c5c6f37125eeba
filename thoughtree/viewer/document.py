"""A run as the page reads it: columns of plain values, and its prompts apart, which are read when asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from math import isfinite
from typing import Any

from ..report import worth
from ..search import Node, NodeStatus
from ..search.labels import reason_of
from ..search.roles import ROLES
from .runs import Json, Run
from .steps import timeline
from .texts import Texts, Written, continued

WORTH = {
    "damaged": "its journal is damaged, and does not say what became of it",
    "unfinished": "it had not ended when this was written",
}
STATUSES = [status.value for status in NodeStatus]


def document(run: Run) -> Json:
    """All but prompts and replies: `facts` of the run, `nodes` by columns, `steps` to play. JSON, of linear size.

    A column is a list with an entry a node, or {id: value} where most nodes have none.
    """
    result, tree = run.result, run.result.tree
    time = timeline(run)
    nodes: Json = {
        "parent": [-1 if node.parent is None else node.parent for node in tree],
        "action": run.actions,
        "state": _states(run),
        "status": [STATUSES.index(node.status.value) for node in tree],
        "value": [_number(node.value) for node in tree],
        "born": time.born,
        "rated": time.rated,
        "settled": time.settled,
        "first": time.first,
        **{name: _some(run, get) for name, get in SPARSE.items()},
        "spent": {str(id): [_short(amount) for amount in spent] for id, spent in result.by_node.items()},
    }
    return {
        "name": run.name,
        "notes": run.notes,
        "facts": facts(run),
        "statuses": STATUSES,
        "nodes": nodes,
        "steps": time.steps,
        "calls": sum(len(told.records) for told in run.story.told) if run.story is not None else 0,
    }


def _states(run: Run) -> list[Written]:
    """Of each node, as it goes on from its parent's: else a chain would grow with the square of its length."""
    parents = [node.parent for node in run.result.tree]
    states = zip(run.states, parents, strict=True)
    return [state if parent is None else continued(state, run.states[parent]) for state, parent in states]


def facts(run: Run) -> Json:
    """What is true of the search as a whole."""
    result, story, rating = run.result, run.story, run.result.rating
    header: Json = story.header if story is not None else {}
    return {
        "status": _status(run),
        "worth": WORTH.get(_status(run)) or worth(result),
        "ended": None if result.ended is None else result.ended.value,
        "best": result.best.id,
        "answer": None if result.answer is None else {name: text_of(value) for name, value in result.answer.items()},
        "reward": result.reward,
        "feedback": result.feedback,
        "controller": {name: _brief(value) for name, value in result.controller.items()},
        "scale": [end * rating.scale for end in (rating.low, rating.high)] if rating.declared else None,
        "rating": {name: value for name, value in asdict(rating).items() if value is not None},
        "program": header.get("program"),
        "task": header.get("task"),
        "seed": header.get("seed"),
        "versions": header.get("versions"),
        "spent": asdict(result.spent),
        "spent_by": {role: asdict(usage) for role, usage in result.spent_by.items()},
        "seconds": result.seconds,
        "unfinished": result.unfinished,
        "unread": result.unread,
        "errors": result.errors,
        "failed": result.failed,
        "clamped": result.clamped,
        "predicted": result.predicted,
        "unclosed": result.unclosed,
        "lessons": list(result.tree.lessons),
        "rollouts": [asdict(log) for log in result.tree.rollouts],
        "explained": [] if run.unfinished else result.explain().splitlines(),
    }


def _status(run: Run) -> str:
    if run.story is not None and run.story.damage is not None:
        return "damaged"
    return "unfinished" if run.unfinished else run.result.status.value


def calls(run: Run) -> Json:
    """Prompts and replies: `texts`, and the calls in their order, each with the step that it belongs to."""
    texts, found = Texts(), list[Json]()
    for step, told in enumerate(run.story.told if run.story is not None else (), 1):
        role = ROLES[type(told.request)]
        for record in told.records:
            messages = record.get("messages") or []
            usage = record.get("usage") or {}
            found.append(
                {
                    "step": step,
                    "model": record.get("response_model") or record.get("model"),
                    "messages": [
                        [str(m.get("role")), texts.add(text_of(m.get("content")), (role, str(m.get("role")), place))]
                        for place, m in enumerate(messages)
                    ],
                    "outputs": [texts.add(text_of(text), (role, "reply")) for text in record.get("outputs") or ()],
                    "tokens": [usage.get("prompt_tokens"), usage.get("completion_tokens"), usage.get("total_tokens")],
                    "cost": record.get("cost"),
                    "seconds": _short(record.get("seconds") or 0.0),
                    "finish": record.get("finish_reason"),
                    "cached": bool(record.get("cache_hit")),
                }
            )
    return {"texts": texts.written, "calls": found}


def text_of(value: Any) -> str:
    """A message's content, an answer, an observation: text as it is, parts one below the other, the rest as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, dict) and "type" in part for part in value):
        return "\n".join(_part(part) for part in value)
    return json.dumps(value, ensure_ascii=False, default=str, indent=2)


def _part(part: Json) -> str:
    if isinstance(part.get("text"), str):
        return str(part["text"])
    return f"[{part['type']}] {json.dumps(part, ensure_ascii=False, default=str)}"


def _observation(node: Node[Any, Any]) -> str | None:
    """What was seen, and below it what else the environment says, a line each."""
    found = node.observation
    if isinstance(found, dict) and isinstance(found.get("observation"), str):
        more = [f"{name}: {text_of(value)}" for name, value in found.items() if name != "observation" and value]
        return "\n".join([found["observation"], *more])
    return None if found is None else text_of(found)


def _answer(node: Node[Any, Any]) -> Json | None:
    return None if node.answer is None else {name: text_of(value) for name, value in node.answer.items()}


SPARSE: dict[str, Callable[[Node[Any, Any]], Any]] = {
    "reason": lambda node: reason_of(node) or None,
    "of": lambda node: node.reason if node.status is NodeStatus.DUPLICATE else None,
    "verdict": lambda node: node.verdict,
    "ratings": lambda node: node.ratings or None,
    "lost": lambda node: node.lost or None,
    "rater": lambda node: node.rater if node.rater not in ("", "rate") else None,
    "visits": lambda node: node.visits or None,
    "mean": lambda node: _number(node.q) if node.visits else None,
    "prior": lambda node: _number(node.prior) if node.prior != 1.0 else None,
    "reward": lambda node: _number(node.reward) if node.reward else None,
    "missed": lambda node: True if node.missed else None,
    "observation": _observation,
    "answer": _answer,
}


def _some(run: Run, get: Callable[[Node[Any, Any]], Any]) -> Json:
    found = ((node.id, get(node)) for node in run.result.tree)
    return {str(id): value for id, value in found if value is not None}


def _number(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else _short(value)


def _short(value: float) -> float:
    """Six digits are more than anybody reads."""
    return float(f"{value:.6g}")


def _brief(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else text_of(value)
