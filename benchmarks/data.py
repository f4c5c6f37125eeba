"""Puzzles and recordings, read from a folder that is no part of this repository."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VARIABLE = "THOUGHTREE_SHARED"


class DataMissing(Exception):
    """The data folder, or a file in it, is not there."""


def folder(given: Path | None) -> Path:
    """The data folder: the one given, else `data` in the folder that the environment names."""
    if given is None:
        shared = os.environ.get(VARIABLE)
        if not shared:
            raise DataMissing(f"this benchmark reads recorded data; give --data DIR, or set {VARIABLE}")
        given = Path(shared) / "data"
    if not (given / "sets").is_dir():
        raise DataMissing(f"--data {given}: has no folder `sets`; give the one that holds sets/game24.jsonl")
    return given


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON-lines file, or of its .gz; header lines (`_schema`) left out."""
    if not path.exists():
        path = path.with_name(path.name + ".gz")
    if not path.exists():
        raise DataMissing(f"{path.with_suffix('')}: not there; give --data the folder that holds it")
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if "_schema" not in row:
                yield row


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A Game of 24. split: the part of the set that it is in."""

    numbers: tuple[int, ...]
    split: str

    @property
    def text(self) -> str:
        return " ".join(map(str, self.numbers))


def papers_puzzles(data: Path) -> list[Puzzle]:
    """The puzzles of the paper's own test (its 901 to 1000) that are in the folder, in the set's order."""
    rows = lines(data / "sets" / "game24.jsonl")
    return [Puzzle(tuple(row["numbers"]), row["split"]) for row in rows if row["paper_test"]]
