"""What a search found: as text for people, and as one JSON object for programs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter
from rich.text import Text

from .modules import SearchPrediction
from .search import Ended, SearchResult, SearchStatus
from .search.saving import dump as dump_result
from .search.visible import one_line, visible

Result = SearchResult[Any, Any]
WORTH = {
    SearchStatus.SOLVED: "code has verified the answer",
    SearchStatus.UNVERIFIED: "nothing in code has checked the answer",
    SearchStatus.FAILED: "no answer worth giving",
}
REFUSED = "the best candidate, which code has refused"
FAR = "nothing that code could verify; this is how far it came"
STYLES = {SearchStatus.SOLVED: "green", SearchStatus.UNVERIFIED: "yellow", SearchStatus.FAILED: "red"}


def as_json(found: SearchPrediction, models: dict[str, str | None], tree: bool, explain: bool) -> str:
    """One JSON object, in ASCII. models: the model's name and the rating model's."""
    result = found.search
    told: dict[str, Any] = {
        "status": result.status,
        "ended": result.ended,
        "answer": _plain(result.answer),
        "path": result.path,
        "value": _finite(result.value),
        "spent": asdict(result.spent),
        "spent_by": {role: asdict(usage) for role, usage in result.spent_by.items()},
        "unfinished": result.unfinished,
        "nodes": len(result.tree),
        "seconds": result.seconds,
        "unread": result.unread,
        "errors": result.errors,
        "predicted": result.predicted,
        "warnings": list(result.warnings),
        **models,
    }
    if tree:
        told["tree"] = dump_result(result)["nodes"]
    if explain:
        told["explain"] = result.explain().splitlines()
    return json.dumps(told, allow_nan=False)


def answer_text(result: Result) -> str:
    """The answer alone: bare if it is one field, else a line a field; "" if there is none."""
    fields = [(name, value) for name, value in (result.answer or {}).items() if value is not None]
    only = len(result.answer or {}) == 1
    return "".join(f"{_text(value)}\n" if only else f"{name}: {_text(value)}\n" for name, value in fields)


def summary_text(result: Result) -> Text:
    """The answer, its worth, the way there, and what it took."""
    told = Text()
    for name, value in (result.answer or {}).items():
        told.append(f"{name}: ", "dim").append("(none)" if value is None else _text(value), "bold").append("\n")
    status = f"{result.status}{_ending(result)}: {worth(result)}"
    told.append("status: ", "dim").append(f"{status}\n", STYLES.get(result.status, ""))
    if result.path:
        told.append("path:\n", "dim")
    for i, step in enumerate(result.path, 1):
        told.append(f"  {i}. {one_line(step)}\n")
    if result.predicted:
        right = f"{result.predicted['right']:,} of {sum(result.predicted.values()):,} predictions were right"
        told.append("world model: ", "dim").append(f"{right}\n")
    return told.append("spent: ", "dim").append(_spending(result))


def worth(result: Result) -> str:
    """What the answer is worth, in words."""
    answered = any(value is not None for value in (result.answer or {}).values())
    if result.path and not answered:
        return "no answer, but the best way so far"
    if result.refuted:
        return REFUSED
    return FAR if result.path and result.status is SearchStatus.FAILED else WORTH[result.status]


def _spending(result: Result) -> str:
    spent = result.spent
    parts = [f"{spent.calls:,} call{'s' * (spent.calls != 1)}", f"{spent.tokens:,} tokens"]
    if spent.cost:
        parts.append(f"${spent.cost:.4f}")
    if result.unfinished:
        parts.append(f"{result.unfinished} more in flight")
    nodes = len(result.tree)
    return ", ".join([*parts, f"{nodes:,} node{'s' * (nodes != 1)}", f"{result.seconds:.1f} s"])


def _ending(result: Result) -> str:
    if result.ended in (None, Ended.GOAL):
        return ""
    words = {
        Ended.SEARCHED_OUT: "searched out",
        Ended.STOPPED: "stopped by Ctrl-C",
        Ended.ERROR: "calls failed",
    }
    return f" ({words.get(result.ended, f'the ceiling of {result.ended} was reached')})"


def _text(value: Any) -> str:
    return visible(value if isinstance(value, str) else json.dumps(_plain(value), ensure_ascii=False))


def _plain(value: Any) -> Any:
    """`value` as JSON has it; what is no JSON as its text."""
    dumped = TypeAdapter(Any).dump_python(value, mode="json", fallback=str)
    return json.loads(json.dumps(dumped), parse_constant=lambda name: None)  # NaN and infinity


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
