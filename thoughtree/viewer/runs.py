"""What can be viewed: a search's result, a saved one, the journal of one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..search import Node, SearchResult
from ..search.journal import BEGINNING
from ..search.labels import state_of
from ..search.story import Story
from ..search.whole_file import read_whole

Result = SearchResult[Any, Any]
Json = dict[str, Any]
NO_PROMPTS = (
    "Prompts and replies are in the journal of a run, not in its result: give the journal beside it "
    "(thoughtree view result.json --journal run.jsonl, or view(result, journal=...)), or alone. "
    'A run writes one with --journal run.jsonl, or config={"journal": "run.jsonl"}.'
)


@dataclass(slots=True)
class Run:
    """One search to show. actions, states: of each node, as text. story: its journal. notes: what to know of it."""

    name: str
    result: Result
    actions: list[str]
    states: list[str]
    story: Story | None = None
    notes: list[str] = field(default_factory=list[str])

    @property
    def unfinished(self) -> bool:
        return self.story is not None and self.story.end is None

    @classmethod
    def of(cls, source: Any, journal: str | Path | None = None, name: str | None = None) -> Run:
        """source: a result, a prediction that has one, or the path of a saved result or of a journal.

        journal: the one of that very run, where `source` is its result. Raises ValueError for what is none of these
        (JournalError for a journal), and OSError for what cannot be read.
        """
        result = getattr(source, "search", source)
        if isinstance(result, SearchResult):
            run = _of_result(result, name or "result")
        elif isinstance(source, str | Path):
            run = _of_file(Path(source), name)
        else:
            raise TypeError(
                f"view({type(source).__name__}): give a SearchResult, the prediction of a search, or the path of a "
                "saved result or of a journal"
            )
        if journal is not None:
            run._join(Story.read(journal))
        if run.story is None:
            run.notes.append(NO_PROMPTS)
        return run

    @classmethod
    def of_story(cls, story: Story, name: str | None = None) -> Run:
        """Of a journal that was read."""
        run = _of_rows(name or story.path.name, story.result(), story.saved()["nodes"])
        run.story, run.notes = story, [note[0].upper() + note[1:] + "." for note in story.notes]
        return run

    def _join(self, story: Story) -> None:
        if self.story is not None:
            raise ValueError(f"journal={str(story.path)!r}: {self.name} is a journal already, with its own prompts")
        told = story.result().tree
        here = [(node.parent, action) for node, action in zip(self.result.tree, self.actions, strict=True)][1:]
        there = [(row["parent"], row.get("action")) for row in story.rows[1:]]
        if len(told) != len(self.result.tree) or here != there:
            if story.end is None and here[: len(there)] == there:
                why = story.damage or "it has no end"
                count = f"{len(story.rows)} of the {len(self.result.tree)} nodes of {self.name}"
                raise ValueError(f"journal {story.path} tells {count}: {why}; leave it out, or give the whole one")
            raise ValueError(
                f"journal {story.path} is of another run than {self.name}: {len(story.rows)} nodes there, "
                f"{len(self.result.tree)} here" + ("" if len(here) != len(there) else ", with other actions")
            )
        self.story = story


def _of_result(result: Result, name: str) -> Run:
    actions = ["" if not node.id else result.shown(node) for node in result.tree]
    return Run(name, result, actions, [_rendered(result, node) for node in result.tree])


def _rendered(result: Result, node: Node[Any, Any]) -> str:
    if node.state is None or result.task is None:
        return state_of(result, node)
    return result.task.render(node.state)


def _of_file(path: Path, name: str | None) -> Run:
    content = read_whole(path)
    name = name or path.name
    if content.startswith(BEGINNING):
        return Run.of_story(Story.read(path), name)
    if not content.strip():
        raise ValueError(f"{path}: neither a journal nor a saved result: the file is empty")
    try:
        found = json.loads(content)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: neither a journal nor a saved result (not JSON: {error})") from error
    if isinstance(found, dict) and "format" not in found and "spent_by" in found:
        raise ValueError(
            f"{path}: what `solve --json` prints is no saved result; run it with --journal FILE and view that, "
            "or save the result: found.search.save(FILE)"
        )
    return _of_rows(name, SearchResult.load(path), found["nodes"])


def _of_rows(name: str, result: Result, rows: list[Json]) -> Run:
    """A loaded result. What its task said of the states stands in the rows."""
    actions = ["" if not row["id"] else _text(row.get("action")) for row in rows]
    return Run(name, result, actions, [_text(row.get("text", row.get("state"))) for row in rows])


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
