"""Where a page goes: beside what it shows, and never over a file that is not ours."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any

from ..search.whole_file import write_whole
from .page import MARK, page
from .runs import Run


def view(
    source: Any,
    other: Any = None,
    *,
    to: str | Path | None = None,
    journal: str | Path | None = None,
    open: bool = False,
) -> Path:
    """Write a search as one HTML page, which needs no network, and return its path.

        thoughtree.view("run.jsonl")                 # beside it: run.html
        thoughtree.view(prediction, to="tree.html", journal="run.jsonl")

    source: a prediction of a search, its SearchResult, the path of a saved one, or that of a journal; a journal that
    has not ended is shown as far as it goes. other: a second one, to compare with. to: the file; by default beside the
    source, or tree.html. journal: of the run whose result `source` is, for its prompts and replies. open: show it.
    Raises ValueError for a source that is none, FileExistsError where `to` is something else than such a page.
    """
    runs = [Run.of(source, journal)]
    if other is not None:
        runs.append(Run.of(other))
        if runs[0].name == runs[1].name:
            runs[0].name, runs[1].name = f"{runs[0].name} (A)", f"{runs[1].name} (B)"
    path = beside(source) if to is None else Path(to)
    write(path, page(runs))
    if open:
        webbrowser.open(path.resolve().as_uri())
    return path


def beside(source: Any) -> Path:
    return Path(source).with_suffix(".html") if isinstance(source, str | Path) else Path("tree.html")


def write(path: Path, text: str) -> None:
    """Whole or not at all. FileExistsError for a file that is no page of ours."""
    if path.exists() and not _is_ours(path):
        raise FileExistsError(17, "exists and is no page that view wrote; give another file", str(path))
    write_whole(path, text.encode("utf-8", "backslashreplace"))


def _is_ours(path: Path) -> bool:
    if not path.is_file() and not path.is_dir():
        return False  # a pipe: opening it would wait for who writes
    with path.open("rb") as file:
        return file.read(len(MARK)) == MARK.encode()
