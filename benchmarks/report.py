"""A benchmark's outcome: rows of measured figures, each beside what it has to reach."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. at: what it cost, or what it is measured against. reach: the requirement in words.

    met: whether the requirement holds; None for a figure that has none.
    """

    figure: str
    measured: float
    unit: str = ""
    reach: str = ""
    met: bool | None = None
    at: str = ""


def at_most(figure: str, measured: float, most: float, unit: str = "", at: str = "") -> Row:
    return Row(figure, measured, unit, f"at most {most:g}", measured <= most, at)


def at_least(figure: str, measured: float, least: float, unit: str = "", at: str = "") -> Row:
    return Row(figure, measured, unit, f"at least {least:g}", measured >= least, at)


def exactly(figure: str, measured: int, wanted: int, unit: str = "", at: str = "") -> Row:
    return Row(figure, measured, unit, f"{wanted}", measured == wanted, at)


def beside(figure: str, measured: float, unit: str = "", at: str = "") -> Row:
    """A figure for comparison: a control, or what another setting gives."""
    return Row(figure, measured, unit, at=at)


@dataclass(frozen=True, slots=True)
class Report:
    """name: of the benchmark. about: what was done, in one sentence. notes: how to read the rows."""

    name: str
    about: str
    rows: Sequence[Row]
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def met(self) -> bool:
        return all(row.met is not False for row in self.rows)

    def json(self) -> dict[str, Any]:
        return {
            "benchmark": self.name,
            "about": self.about,
            "met": self.met,
            "rows": [
                {
                    "figure": row.figure,
                    "measured": _rounded(row.measured),
                    "unit": row.unit,
                    "at": row.at or None,
                    "reach": row.reach or None,
                    "met": row.met,
                }
                for row in self.rows
            ],
            "notes": list(self.notes),
            "date": datetime.now(UTC).date().isoformat(),
            "versions": {name: version(name) for name in ("thoughtree", "dspy")},
            "machine": machine(),
        }

    def show(self, console: Console) -> None:
        console.print(Text(f"{self.name}: {self.about}", style="bold"))
        table = Table()
        for heading in ("figure", "at", "measured", "reach", "met"):
            if heading != "at" or any(row.at for row in self.rows):
                table.add_column(heading, justify="right" if heading == "measured" else "left")
        for row in self.rows:
            words, style = {True: ("yes", "green"), False: ("NO", "bold red"), None: ("", "")}[row.met]
            measured = f"{_rounded(row.measured)} {row.unit}".rstrip()
            at = [row.at] if len(table.columns) == 5 else []
            table.add_row(Text(row.figure), *at, measured, row.reach, Text(words, style=style))
        console.print(table)
        for note in self.notes:
            console.print(Text(note))


def _rounded(measured: float) -> float:
    return round(measured, 4 if abs(measured) < 10 else 2) if isinstance(measured, float) else measured


def machine() -> dict[str, Any]:
    """Where the figures were taken."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
    }
