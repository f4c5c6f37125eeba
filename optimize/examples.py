"""`load_examples`: a data set, from wherever it is, as dspy.Examples whose values are what was written there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import dspy

from . import columns, hub
from .rows import KINDS, DataError, Place, Row, read

# How files of a folder are told apart, by the start of their names: train.jsonl, test-00000-of-00002.parquet.
SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing", "eval"),
}


def load_examples(
    source: str | os.PathLike[str] | Iterable[Mapping[str, Any]],
    inputs: str | Sequence[str],
    *,
    split: str | None = None,
    limit: int | None = None,
    seed: int | None = None,
    types: Mapping[str, Any] | type[dspy.Signature] | None = None,
    name: str | None = None,
) -> list[dspy.Example]:
    """Examples with their inputs marked, in the order of the data, or shuffled.

        load_examples("puzzles.csv", inputs="numbers", limit=50, seed=0)
        load_examples("openai/gsm8k", inputs="question", name="main", split="test")

    source: a .json, .jsonl, .csv, .tsv or .parquet file; a folder of them, or one that `save_to_disk` wrote; the name
    of a data set on the Hugging Face hub (the package's offline switches, such as HF_HUB_OFFLINE=1, hold); rows in
    memory, a datasets.Dataset too.
    inputs: the columns that a program is given. split: which part, where there are several. limit: so many at most.
    seed: shuffle by it, before the limit; the global random numbers are left alone. types: of columns, as {"id": int,
    "tags": list[str]} or a dspy.Signature, to convert them by; without, a CSV cell is the text that is written there.
    name: of a configuration on the hub.

    Columns that would not work as fields of an Example (`items`, `final answer`) are renamed, with a warning; `inputs`
    and `types` take the old name or the new. DataError, naming file, row and column, for a column that is missing,
    one that holds several kinds of values (give `types`), an empty or damaged file. Rows beyond an unshuffled limit
    are not looked at.
    """
    if not isinstance(inputs, str | Iterable):
        raise TypeError(f"inputs={inputs!r}: must be the names of columns that the program is given")
    wanted = [inputs] if isinstance(inputs, str) else list(inputs)
    if not wanted:
        raise ValueError(f"inputs={inputs!r}: name at least one column that the program is given")
    for argument, value, least in (("limit", limit, 1), ("seed", seed, None)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and not (whole and (least is None or value >= least)):
            raise ValueError(f"{argument}={value!r}: must be an integer{'' if least is None else ' of at least 1'}")
    rows = _rows(source, split, name)
    if seed is None:
        found = columns.examples(islice(rows, limit), wanted, types)
    else:
        found = columns.examples(rows, wanted, types)
        Random(seed).shuffle(found)
        del found[limit if limit is not None else len(found) :]
    if not found:
        raise DataError(f"{source}: holds no rows")
    return found


def _rows(source: Any, split: str | None, name: str | None) -> Iterator[Row]:
    if not isinstance(source, str | os.PathLike):
        return _in_memory(source, split)
    path = Path(source)
    if path.is_dir():
        return _in_memory(hub.on_disk(path), split, str(path)) if hub.is_on_disk(path) else _folder(path, split)
    if path.suffix.lower() in KINDS or path.exists() or not isinstance(source, str) or not _may_be_hub(source):
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or folder")
        if path.suffix.lower() not in KINDS:
            raise DataError(f"{path}: of no kind that can be read; there are {', '.join(sorted(KINDS))}")
        return read(path, split)
    return _in_memory(hub.loaded(source, split, name), None, source)


def _may_be_hub(source: str) -> bool:
    """Names on the hub are `owner/name` or `name`."""
    return source.count("/") <= 1 and not source.startswith((".", "/", "~")) and "\\" not in source


def _folder(folder: Path, split: str | None) -> Iterator[Row]:
    for file in files_in(folder, split):
        yield from read(file)


def files_in(folder: Path, split: str | None) -> list[Path]:
    """The data files of a folder, or of one split of it, in order. DataError where that is none."""
    files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in KINDS and not p.name.startswith("."))
    if not files:
        raise DataError(f"{folder}: holds no data file; there are {', '.join(sorted(KINDS))}")
    splits = {file: _split_of(file, folder) for file in files}
    there = sorted({found for found in splits.values() if found is not None})
    if split is None and len(there) > 1:
        raise DataError(f"{folder}: holds several splits ({', '.join(there)}); say which by split=")
    if split is not None:
        chosen = next((known for known, names in SPLITS.items() if split in names), split)
        named = [file for file in files if _is_of(file, folder, split)]
        files = named or [file for file in files if splits[file] == chosen]
        if not files:
            raise DataError(
                f"split={split!r}: no file of {folder} is of it; there are {', '.join(there) or 'no splits'}"
            )
    return files


def _split_of(file: Path, folder: Path) -> str | None:
    for split, names in SPLITS.items():
        if any(_is_of(file, folder, name) for name in names):
            return split
    return None


def _is_of(file: Path, folder: Path, split: str) -> bool:
    """By the name of the file, or of a folder that it is in."""
    return any(_starts(part, split) for part in (file.stem, *file.relative_to(folder).parts[:-1]))


def _starts(name: str, word: str) -> bool:
    rest = name.lower().removeprefix(word.lower())
    return len(rest) < len(name) and not rest[:1].isalpha()


def _in_memory(source: Any, split: str | None, told: str = "source") -> Iterator[Row]:
    if isinstance(source, Mapping):  # a datasets.DatasetDict
        if split not in source and len(source) != 1:
            raise DataError(f"split={split!r}: {told} has the splits {', '.join(map(str, source))}; say which")
        source = source[split] if split in source else next(iter(source.values()))
    elif split is not None:
        raise DataError(f"split={split!r}: {told} has no splits; leave split= out")
    if not isinstance(source, Iterable):
        raise TypeError(f"source={source!r}: must be a path, the name of a data set, or rows")
    for number, row in enumerate(source, 1):
        place = Place(told, number)
        if isinstance(row, dspy.Example):
            row = row.toDict()
        if not isinstance(row, Mapping):
            raise DataError(f"{place}: is a {type(row).__name__}; each row must be a mapping of columns")
        yield place, dict(row)
