"""No output may replace what the command reads, nor another output: said before anything is paid."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .data_options import DataOptions, TuneOptions
from .flags import flag
from .mistake import Mistake

FILES = ("html", "csv", "save")  # that are written
FOLDERS = ("resume", "plots", "log_dir")  # a folder may serve for several, but a file is no folder
SQLITE, LOCAL = "sqlite:///", "local:"


def files_apart(options: DataOptions) -> None:
    """Mistake for an output that is an input, or another output, by whichever paths."""
    others = [*_read(options), *_kept(options), *_said(options, FOLDERS)]
    for name, path in _said(options, FILES):
        for other, taken in others:
            if _same(path, taken):
                raise Mistake(f"{other}, {name} {path}: the same file, which would be overwritten; give {name} another")
        others.append((name, path))


def _said(options: Any, names: tuple[str, ...]) -> list[tuple[str, Path]]:
    found = ((flag(name), getattr(options, name, None)) for name in names)
    return [(name, path) for name, path in found if path is not None]


def _read(options: DataOptions) -> Iterator[tuple[str, Path]]:
    given: Any = options
    for name, source in (("DATA", options.data), ("--valset", getattr(given, "valset", None))):
        if source is not None and os.path.exists(source):  # else it is a name on the hub
            yield from ((name, path) for path in _data_files(Path(source), options.split))
    yield from _said(options, ("load",))
    yield from (("--other", Path(other)) for other in getattr(given, "other", None) or [])
    for name in ("model", "rate_model", "cheaper"):
        model = getattr(given, name, None) or ""
        if model.startswith(LOCAL):
            yield flag(name), Path(model.removeprefix(LOCAL))


def _data_files(source: Path, split: str | None) -> list[Path]:
    from .optimize import hub
    from .optimize.examples import files_in

    return files_in(source, split) if source.is_dir() and not hub.is_on_disk(source) else [source]


def _kept(options: DataOptions) -> Iterator[tuple[str, Path]]:
    """The files of a study."""
    from .optimize.job import REPLIES, REPORT, STUDY

    if not isinstance(options, TuneOptions):
        return
    for file in (STUDY, REPLIES, REPORT):
        yield "--log-dir", options.study_folder / file
    if options.storage is not None and (options.storage.startswith(SQLITE) or "://" not in options.storage):
        yield "--storage", Path(options.storage.removeprefix(SQLITE))


def _same(one: Path, other: Path) -> bool:
    """Also by links. What is no file, such as /dev/null, may take several outputs."""
    if os.path.exists(one) and os.path.exists(other):
        return (one.is_file() or one.is_dir()) and os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)
