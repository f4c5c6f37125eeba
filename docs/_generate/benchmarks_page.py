"""Writes docs/benchmarks.md from what `python -m benchmarks NAME --json` gave, one file each in benchmarks/results/.

python -m benchmarks core --json > benchmarks/results/core.json
python docs/_generate/benchmarks_page.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS = ROOT / "benchmarks" / "results"
HEAD = """\
# Benchmarks

Every figure on this page was measured, by the command over its table, on the day that is named there; none is written
by hand. Beside a figure stands what it has to reach. Speed is measured as a ratio within one run, so that it means the
same on another machine.

`python -m benchmarks NAME` runs one, and exits with 1 where a figure misses what it has to reach. Some replay
recordings of models, or puzzles, from a folder of data that is no part of the repository: `--data DIR`. Models that
answer here are scripted, or noisy stand-ins whose error rates are those measured of GPT-4, or GPT-4's own recorded
replies. Only `local` asks real models, two small ones, on this machine.
"""


def results() -> list[dict[str, Any]]:
    """What was measured, by name."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]


def section(result: Mapping[str, Any]) -> str:
    """One benchmark: when and where, its figures, how to read them."""
    machine, rows = result["machine"], result["rows"]
    where = f"Python {machine['python']}, {machine['system']}, {machine['cores']} cores"
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    columns = ["figure", "at", "measured", "has to reach", "met"]
    lines = [[_row["figure"], _row["at"] or "", _measured(_row), _row["reach"] or "", _met(_row)] for _row in rows]
    if not any(line[1] for line in lines):
        columns.pop(1)
        lines = [[line[0], *line[2:]] for line in lines]
    table = [columns, ["---"] * len(columns), *lines]
    parts = [
        f"## {result['benchmark']}",
        f"{_sentence(result['about'])}\n",
        f"`python -m benchmarks {result['benchmark']}`, {result['date']}, {where}, {versions}.\n",
        *("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in table),
        *(f"\n{_cell(note)}" for note in result["notes"]),
    ]
    return "\n".join([parts[0], "", *parts[1:]]) + "\n"


def _measured(row: Mapping[str, Any]) -> str:
    number = row["measured"]
    shown = f"{number:,}" if isinstance(number, int) else f"{number:g}" if abs(number) < 1e5 else f"{number:,.0f}"
    return f"{shown} {row['unit']}".rstrip()


def _met(row: Mapping[str, Any]) -> str:
    return {True: "yes", False: "**no**", None: ""}[row["met"]]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _sentence(text: str) -> str:
    return _cell(text[:1].upper() + text[1:]).rstrip(".") + "."


def page() -> str:
    """The page as it has to be."""
    return "\n".join([HEAD, *map(section, results())])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}", file=sys.stderr)
