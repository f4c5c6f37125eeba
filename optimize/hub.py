"""Data sets by way of the `datasets` package: from the Hugging Face hub, and from folders that it wrote."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from ..modules.calls.redaction import redact
from .rows import DataError

MARKS = (("dataset_dict.json",), ("state.json", "dataset_info.json"))  # of `save_to_disk`: of several splits, of one


def loaded(source: str, split: str | None, name: str | None) -> Any:
    """A datasets.Dataset, or a DatasetDict. DataError where there is none of that name, or no connection.

    Where the data set is CSV, each cell is the text that is written there, as in a CSV file: pandas, left to itself,
    makes 7.0 of "007", and nothing of "NA".
    """
    datasets = _package(f"{source}: there is no such file, and the hub")
    try:
        found = _as_guessed(datasets, source, split, name)
        if _is_csv(found):
            found = datasets.load_dataset(source, name, split=split, features=_text(datasets, found), na_filter=False)
        _say_dates(source, found)
    except Exception as error:  # of many kinds: no connection, no such data set, a split that there is not
        told = redact(str(error))
        raise DataError(
            f"{source}: there is no such file or folder, and no data set of that name could be loaded: {told}"
        ) from error
    return found


def _as_guessed(datasets: Any, source: str, split: str | None, name: str | None) -> Any:
    """With the types that the package makes of it. Where they change on the way, which it refuses, one row of CSV."""
    try:
        return datasets.load_dataset(source, name, split=split)
    except datasets.exceptions.DatasetGenerationError:
        try:
            return datasets.load_dataset(source, name, split=split, nrows=1)
        except Exception:  # it is no CSV: what was wrong before is what is wrong
            pass
        raise


def is_on_disk(folder: Path) -> bool:
    """Whether `save_to_disk` wrote it."""
    return any(all((folder / name).is_file() for name in names) for names in MARKS)


def on_disk(folder: Path) -> Any:
    """What `save_to_disk` wrote there. DataError where it is damaged."""
    datasets = _package(f"{folder}: a folder that save_to_disk wrote")
    try:
        return datasets.load_from_disk(str(folder))
    except Exception as error:  # of many kinds: arrow's, OSError, a KeyError for what is missing in a file
        raise DataError(f"{folder}: was written by save_to_disk, and cannot be read ({error!r})") from error


def _package(needs: str) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise ImportError(f"{needs} needs the datasets package; pip install 'thoughtree[optimize]'") from error
    return datasets


def _parts(found: Any) -> list[Any]:
    return list(found.values()) if isinstance(found, dict) else [found]


def _is_csv(found: Any) -> bool:
    return _built_by("csv", found)


def _built_by(kind: str, found: Any) -> bool:
    return any(part.info.builder_name == kind for part in _parts(found))


def _say_dates(source: str, found: Any) -> None:
    """JSON has no dates: what reads as one was text, and how it was written is lost."""
    for column, feature in _parts(found)[0].features.items() if _built_by("json", found) else ():
        if str(getattr(feature, "dtype", "")).startswith(("timestamp", "date", "time")):
            warnings.warn(
                f"{source}: column {column!r} is text that the datasets package reads as {feature.dtype}; to have it "
                "as it is written, load the file itself",
                UserWarning,
                stacklevel=2,
            )


def _text(datasets: Any, found: Any) -> Any:
    first = _parts(found)[0]
    return datasets.Features({column: datasets.Value("string") for column in first.column_names})
