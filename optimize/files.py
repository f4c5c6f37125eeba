"""An evaluation as a file: a row an example, as dspy.Evaluate saves them, and what it cost."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..search.whole_file import write_whole
from .fields import as_json, cell, fields_of

if TYPE_CHECKING:
    from .evaluation import EvaluationResult
    from .outcome import Outcome


def rows(result: EvaluationResult) -> list[dict[str, Any]]:
    """A dict an example: its fields and the prediction's (`example_x` and `pred_x` where both have an x), the score
    under the metric's name, then the error and the spending. Names of ours that are taken get a leading underscore.
    """
    labels = {name for outcome in result.outcomes for name in fields_of(outcome.example)}
    # Of any row, for all rows: one that failed has no prediction, and its label is in the others' column.
    shared = labels & {name for outcome in result.outcomes for name in fields_of(outcome.prediction)}
    scored = zip(result.outcomes, result.results, strict=True)
    return [_row(outcome, result.metric, score, shared) for outcome, (*_, score) in scored]


def _row(outcome: Outcome, metric: str, score: float | None, shared: set[str]) -> dict[str, Any]:
    example, prediction = fields_of(outcome.example), fields_of(outcome.prediction)
    row = {f"example_{name}" if name in shared else name: value for name, value in example.items()}
    row |= {f"pred_{name}" if name in shared else name: value for name, value in prediction.items()}
    ours = {
        metric: score,
        "feedback": outcome.feedback,
        "error": outcome.error,
        "calls": outcome.spent.calls,
        "tokens": outcome.spent.tokens,
        "cost": None if outcome.unpriced else outcome.spent.cost,
        "seconds": outcome.seconds,
    }
    for name, value in ours.items():
        while name in row:
            name = f"_{name}"
        row[name] = value
    return row


def check(path: str | Path | None, name: str) -> None:
    """ValueError for a path that could not be written, before anything is paid for."""
    if path is None:
        return
    folder = Path(path).parent
    if not folder.exists():
        why = f"there is no folder {str(folder)!r}; make it first, or give another path"
    elif Path(path).is_dir():
        why = "this is a folder; name a file"
    elif not folder.is_dir() or not os.access(folder, os.W_OK):
        why = f"no file can be written into {str(folder)!r}; give another path"
    else:
        return
    raise ValueError(f"{name}={str(path)!r}: {why}")


def save(result: EvaluationResult, path: Path, kind: str | None = None) -> None:
    """Write whole or not at all. kind: "csv" or "json"; by default by the path's ending."""
    kind = kind or ("csv" if path.suffix.lower() == ".csv" else "json")
    text = _csv(rows(result)) if kind == "csv" else _json(rows(result))
    write_whole(path, text.encode("utf-8", "backslashreplace"))


def _json(found: list[dict[str, Any]]) -> str:
    return json.dumps([{name: as_json(value) for name, value in row.items()} for row in found])


def _csv(found: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in found for name in row))  # rows need not have the same
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, names, restval="")
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in found)
    return out.getvalue()
