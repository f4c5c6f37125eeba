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
    Raises ValueError for a source that is none, and for a stream without `to`, FileExistsError where `to` is something
    else than such a page.
    """
    path = beside(source) if to is None else Path(to)
    write(path, page(runs_of(source, other, journal)))
    if open:
        webbrowser.open(path.resolve().as_uri())
    return path


def runs_of(source: Any, other: Any = None, journal: str | Path | None = None) -> list[Run]:
    """What a page is of: one search, or two whose names differ."""
    runs = [Run.of(source, journal)]
    if other is not None:
        runs.append(Run.of(other))
        if runs[0].name == runs[1].name:
            runs[0].name, runs[1].name = f"{runs[0].name} (A)", f"{runs[1].name} (B)"
    return runs


def beside(source: Any) -> Path:
    """The page of a source, where no other was named. ValueError for a stream, which has no folder of its own."""
    if not isinstance(source, str | Path):
        return Path("tree.html")
    path = Path(source)
    if path.is_symlink() and path.is_file() and _is_of_the_system(path.absolute().parent.resolve()):
        raise ValueError(f"{source}: a stream has no place for a page beside it; name one with -o FILE (to=FILE)")
    return path.with_suffix(".html")


def _is_of_the_system(folder: Path) -> bool:
    """Where /dev/stdin and /dev/fd/3 are, which count as files where a file was redirected to them."""
    return folder in (Path("/dev"), Path("/dev/fd")) or Path("/proc") in folder.parents


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
