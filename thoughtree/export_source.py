"""What `thoughtree export` is given: a saved result, a journal, or a folder of journals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .search import SearchResult
from .search.story import Story


class ExportSource:
    """Each journal is read once. notes: what is to be said of those that were read. damaged: whether one was."""

    def __init__(self, source: Path) -> None:
        from .optimize.sources import is_journal

        self.source = source
        self.of_journals = source.is_dir() or is_journal(source)
        self.notes: list[str] = []
        self.damaged = False

    def stories(self) -> Iterator[Story]:
        from .optimize.replaying import journals_in

        for path in journals_in(self.source):
            story = Story.read(path)
            self.damaged |= story.damage is not None
            self.notes += [f"{path}: {note}" for note in story.notes]
            yield story

    def replayed(self) -> None:
        """They are read by replaying them."""
        from .optimize.replaying import journals_in

        for path in journals_in(self.source):
            self.notes += [f"{path}: {note}" for note in Story.notes_at_its_end(path)]

    def result(self) -> SearchResult[Any, Any]:
        """As it is to be read by people: its states are what its task said of them."""
        from .viewer import Run

        run = Run.of_story(next(self.stories())) if self.of_journals else Run.of(self.source)
        for node, state in zip(run.result.tree, run.states, strict=True):
            node.state = state or None
        return run.result

    def saved(self) -> Any:
        if self.of_journals:
            return next(self.stories()).saved()
        SearchResult.load(self.source)  # ValueError for what is none
        return json.loads(self.source.read_text(encoding="utf-8"))
