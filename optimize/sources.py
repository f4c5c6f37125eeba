"""Results of searches without their program: predictions, results, saved ones, and journals as far as they tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from ..modules.prediction import SearchPrediction
from ..search import SearchResult
from ..search.journal import BEGINNING
from ..search.story import Story
from .replaying import journals_in

Result = SearchResult[Any, Any]


def results_in(things: Any) -> Iterator[tuple[dict[str, Any] | None, Result]]:
    """Each search with its inputs, where they are known. TypeError for what is none, ValueError for a bad file."""
    if isinstance(things, SearchPrediction | SearchResult | str | PathLike) or not isinstance(things, Iterable):
        things = [things]
    for thing in things:
        if isinstance(thing, tuple):  # (example, prediction, ...), of an evaluation
            thing = thing[1]
        if isinstance(thing, SearchPrediction):
            yield thing._inputs, thing.search
        elif isinstance(thing, SearchResult):
            yield None, thing
        elif isinstance(thing, Story):
            yield None, thing.result()
        elif isinstance(thing, str | PathLike):
            path = Path(thing)
            for found in journals_in(path) if path.is_dir() else [path]:
                yield None, Story.read(found).result() if is_journal(found) else SearchResult.load(found)
        else:
            raise TypeError(f"results: {type(thing).__name__} is no search; give predictions, results, or their files")


def is_journal(path: Path) -> bool:
    """Whether the file begins as a journal does, of whatever version. Neither a device nor a pipe does."""
    if path.exists() and not path.is_file() and not path.is_dir():
        return False  # opening a pipe would wait for who writes
    with path.open("rb") as file:
        return file.read(len(BEGINNING)) == BEGINNING
