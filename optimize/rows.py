"""Rows of a file as they are written there: nothing is coerced, and each knows where it stands."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterator
from math import isinf
from pathlib import Path
from typing import Any, NamedTuple

LONGEST = 2**31 - 1  # characters of a CSV cell


class DataError(ValueError):
    """A data set that cannot be read as it is. The message names the file, and row and column where there is one."""


class Place(NamedTuple):
    """Where a row stands. row: among the data rows, from 1. line: its last line in the file, where it has one."""

    source: str
    row: int
    line: int | None = None

    def __str__(self) -> str:
        line = "" if self.line is None else f" (line {self.line})"
        return f"{self.source}, row {self.row}{line}"


Row = tuple[Place, dict[str, Any]]


def read(path: Path, split: str | None = None) -> Iterator[Row]:
    """The rows of a JSON, JSON lines, CSV, TSV or Parquet file, by its ending. DataError for one that is damaged."""
    if path.suffix.lower() == ".json":
        yield from _json(path, split)
        return
    if split is not None:
        raise DataError(f"split={split!r}: {path} is one file and has no splits; leave split= out")
    reader = READERS[path.suffix.lower()]
    yield from reader(path)


def _text(path: Path) -> str:
    try:
        # A byte order mark is no part of the first column's name; line ends stay as they are.
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 (byte {error.start}); save it as UTF-8") from error


# ---- JSON


def _json(path: Path, split: str | None) -> Iterator[Row]:
    """A list of objects; or an object that holds one, under any name, or one a split."""
    text = _text(path)
    if not text.strip():
        raise DataError(f"{path}: the file is empty")
    try:
        found = _parse(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and split is None:  # JSON lines in a file called .json
            yield from _lines(path, text)
            return
        raise DataError(f"{path}: not JSON ({error})") from error
    except ValueError as error:
        raise DataError(f"{path}: {error}") from error
    yield from _objects(path, _listed(path, found, split))


def _listed(path: Path, found: Any, split: str | None) -> list[Any]:
    if isinstance(found, dict):
        lists = {name: value for name, value in found.items() if isinstance(value, list)}
        if split is None and len(lists) == 1:
            return next(iter(lists.values()))
        if split in lists:
            return lists[split]
        if split is None and "data" in lists:
            return lists["data"]
        if not lists:
            raise DataError(f"{path}: is one object without a list of rows in it; it must be a list of objects")
        names = ", ".join(map(repr, lists))
        raise DataError(f"{path}: split={split!r} names no list of rows; the file's lists are: {names}")
    if split is not None:
        raise DataError(f"split={split!r}: {path} has no splits; leave split= out")
    if not isinstance(found, list):
        raise DataError(f"{path}: holds a {type(found).__name__}; it must be a list of objects")
    return found


def _objects(path: Path, found: list[Any]) -> Iterator[Row]:
    for number, row in enumerate(found, 1):
        place = Place(str(path), number)
        yield place, _object(place, row)


def _object(place: Place, row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise DataError(f"{place}: is a {type(row).__name__}; each row must be an object of columns")
    return row


def _lines(path: Path, text: str | None = None) -> Iterator[Row]:
    row = 0
    for line, content in enumerate((_text(path) if text is None else text).split("\n"), 1):
        if not content.strip():
            continue
        row += 1
        place = Place(str(path), row, line)
        try:
            found = _parse(content)
        except ValueError as error:
            raise DataError(f"{place}: not JSON ({error})") from error
        yield place, _object(place, found)


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _finite(text: str) -> float:
    """A number as it is written. One beyond all floats would become an infinity without a word."""
    value = float(text)
    if isinf(value):
        raise ValueError(f"the number {text[:60]} is too large")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. A name that it has twice would lose a value without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the name {twice!r} twice")
    return found


# ---- CSV


def _csv(path: Path, delimiter: str = ",") -> Iterator[Row]:
    """All cells are text, as written. Quoted line ends are part of a cell."""
    rows = csv.reader(io.StringIO(_text(path), newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    number = 0
    try:
        for cells in _of_any_size(rows):
            if not cells:  # a blank line
                continue
            if header is None:
                header = distinct(str(path), cells)
                continue
            number += 1
            place = Place(str(path), number, rows.line_num)
            if len(cells) != len(header):
                raise DataError(
                    f"{place}: has {len(cells)} cells, and the header has {len(header)}: {', '.join(header)}"
                    + otherwise_separated(header)
                )
            yield place, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DataError(f"{Place(str(path), number + 1, rows.line_num)}: not CSV ({error})") from error


def otherwise_separated(header: Collection[str]) -> str:
    """What to say of a table that seems to have one column: spreadsheets of half the world separate by semicolons."""
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and separator in next(iter(header)):
            return f"; it seems to be separated by {name}: save it with commas" + ", or as .tsv" * (separator == "\t")
    return ""


def _of_any_size(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """The rows of a reader. A cell may have more than csv's 128 KB; its limit is the process's, and is put back."""
    while True:
        before = csv.field_size_limit(LONGEST)
        try:
            cells = next(rows, None)
        finally:
            csv.field_size_limit(before)
        if cells is None:
            return
        yield cells


def distinct(source: str, names: list[str]) -> list[str]:
    """Column names, each once: a second `a` is `a_2`, one without a name `column_3`. Said in a warning."""
    from .columns import renamed

    found: list[str] = []
    for number, name in enumerate(names, 1):
        new = name if name.strip() else f"column_{number}"
        repeat = 1
        while new in found or (new != name and new in names):
            repeat += 1
            new = f"{name or f'column_{number}'}_{repeat}"
        if new != name:
            renamed(source, name, new, "another column has that name" if name.strip() else "it has no name")
        found.append(new)
    return found


def _tsv(path: Path) -> Iterator[Row]:
    return _csv(path, "\t")


# ---- Parquet


def _parquet(path: Path) -> Iterator[Row]:
    """Columns keep their types; a null is None."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ImportError(f"{path}: Parquet needs pyarrow; pip install 'thoughtree[optimize]'") from error
    try:
        with parquet.ParquetFile(path) as file:
            names = distinct(str(path), list(file.schema_arrow.names))
            number = 0
            for batch in file.iter_batches():
                columns = [column.to_pylist() for column in batch.columns]
                for cells in zip(*columns, strict=True):
                    number += 1
                    yield Place(str(path), number), dict(zip(names, cells, strict=True))
    except (arrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a Parquet file that can be read ({error})") from error


READERS = {".jsonl": _lines, ".ndjson": _lines, ".csv": _csv, ".tsv": _tsv, ".parquet": _parquet}
KINDS = frozenset({".json", *READERS})
