"""What a journal tells of its search without the task, the program or a lock: for viewers, exports and statistics.

A journal that is being written, that a crash has torn, or that was damaged is read as far as it goes, and says so.
Nothing is changed on the disk.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from .chain import BrokenChain, opened
from .codec import Codec
from .journal import BEGINNING, END, FORMAT, JournalError
from .lines import journal_line, json_object
from .protocol import Rate, Rated, Request
from .result import SearchResult
from .roles import ProtocolError, check_answer
from .tree import NodeStatus
from .whole_file import read_whole

Json = dict[str, Any]
TORN = "its last line is torn: what a crash, or a run that still writes, leaves"
PARTLY = "values are those that its replies tell; what was pruned, and how often nodes were visited, is not known"
NO_END = "it has no end: the run was killed, was interrupted, or is still at work"
UNENDED = f"{NO_END}; {PARTLY}"

DAMAGE = (BrokenChain, ProtocolError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
PLAIN = Codec(key=lambda state: None, load_key=lambda key: None)  # states as they are written; nobody asks for keys
BARE = "it has no rows of nodes: a search without a program wrote it, which cannot say how its nodes look"


@dataclass(frozen=True, slots=True)
class Told:
    """One reply. outcome: as `Codec` writes it; None: code gave it. usage: calls, tokens, dollars, seconds.

    records: one dict an LM call, with its messages and outputs.
    """

    request: Request
    attempt: int
    outcome: list[Any] | None
    usage: tuple[float, ...]
    records: list[Json]

    @property
    def nodes(self) -> tuple[int, ...]:
        """The nodes that it was about."""
        return self.request.nodes if isinstance(self.request, Rate) else (self.request.node,)


@dataclass(slots=True)
class Story:
    """A journal, read. header: which search it is. told: its replies, in order.

    rows: of each node a saved result's row: id, parent, action, text, status, reason. born: of each node, how many
    replies had been told when it came. settled: of each node that a step led somewhere, the same of that.
    end: what became of the search; None: it has not ended. damage: the line where reading it ended, and why.
    notes: what a reader has to know, `damage` too.
    """

    path: Path
    header: Json
    told: list[Told] = field(default_factory=list[Told])
    rows: list[Json] = field(default_factory=list[Json])
    born: list[int] = field(default_factory=list[int])
    settled: dict[int, int] = field(default_factory=dict[int, int])
    end: Json | None = None
    damage: str | None = None
    notes: list[str] = field(default_factory=list[str])
    _result: SearchResult[Any, Any] | None = field(default=None, repr=False)

    @classmethod
    def read(cls, path: str | Path) -> Story:
        """Raises JournalError for what is no journal of this version, OSError for what cannot be read."""
        path = Path(path)
        content = read_whole(path)
        whole = content.rfind(b"\n") + 1
        lines = content[:whole].split(b"\n")[:-1]
        story = cls(path, _header(path, lines[0] if lines else content))
        if whole < len(content):
            story.notes.append(TORN)
        number = check = 0
        try:
            for number, line in enumerate(lines, 1):
                body, check = opened(line, check)
                if number > 1:  # behind the header
                    story._take(body)
            story._conclude()
        except DAMAGE as error:
            behind = f"reply {len(story.told)}" if story.told else "its header"
            story.damage = (
                f"it is damaged at line {number} of {len(lines)} ({error}), and read up to there, which is behind "
                f"{behind}: what that line and all behind it tell is missing"
            )
            story.notes.append(story.damage)
            story.end = None
        if not story.rows and story.told:
            story.notes.append(BARE)
        if story.damage is not None:
            story.notes.append(PARTLY)  # whether it ended, nobody can tell
        elif story.end is None:
            story.notes.append(UNENDED)
        return story

    @staticmethod
    def notes_at_its_end(path: str | Path) -> list[str]:
        """Of the notes, those that the last line tells, for who reads the journal by replaying it."""
        whole, _, rest = read_whole(Path(path)).rpartition(b"\n")
        ended = not rest and whole.rpartition(b"\n")[2].startswith(END)
        return ([TORN] if rest else []) + ([] if ended else [NO_END])

    def result(self) -> SearchResult[Any, Any]:
        """The search as a loaded result. Of one that has not ended: status failed, ended None, the root as its best."""
        if self._result is None:
            self._result = _restored(self.saved())
        return self._result

    def saved(self) -> Json:
        """The same as `SearchResult.save` writes it, but for what only the task can explain."""
        if self.end is None:
            from .unended import pieced_together

            return pieced_together(self)
        return {**self.end, "explained": [], "nodes": self.rows}

    # ---- line by line

    def _take(self, line: bytes) -> None:
        found, records = journal_line(line)
        if "tree" in found:
            self._grow(found["tree"])
        elif "end" in found:
            self.end = found["end"]
        else:
            self.end = None  # it went on
            self.told.append(_told(found, list(records) if records is not None else found.get("calls", [])))

    def _grow(self, tree: list[Any]) -> None:
        count, _, _, new, *changed = tree
        first = count - len(new)
        if first not in (0, len(self.rows)):
            raise ValueError(f"rows from node {first} on, behind {len(self.rows)}")
        del self.rows[first:], self.born[first:]
        if not first:
            self.settled.clear()
        for row in new:
            self.rows.append(_row(len(self.rows), row))
            self.born.append(len(self.told))
        for id, *row in changed[0] if changed else ():
            self.rows[id] = _row(id, row)
            self.settled[id] = len(self.told)

    def _conclude(self) -> None:
        """Give the rows the numbers of the end, if that can be read. Of a node without a row it knows no words."""
        if self.end is None:
            return
        end = dict(self.end)
        numbers: list[Json] = end.pop("nodes")
        rows = [{name: value for name, value in row.items() if name != "reason"} for row in self.rows[: len(numbers)]]
        rows.extend({"id": id, "parent": 0 if id else None, "action": ""} for id in range(len(rows), len(numbers)))
        rows = [row | known for row, known in zip(rows, numbers, strict=True)]
        self._result = _restored({**end, "explained": [], "nodes": rows})
        self.end, self.rows = end, rows


def _told(line: Json, records: list[Any]) -> Told:
    """A reply's line. What a search would not be told is damage."""
    request, attempt, _, reply = PLAIN.read(line, ())
    if isinstance(request, Rate) and not request.nodes:
        raise ValueError("a rating of no node")
    if reply is None:
        return Told(request, attempt, None, (0, 0, 0.0, 0.0), [])
    check_answer(request, reply.outcome)
    if isinstance(reply.outcome, Rated):
        verdicts: list[Any] = line["reply"][2] or []
        if not all(isinstance(word, str) for word in verdicts):
            raise ValueError(f"verdicts {verdicts!r} are no words")
    usage = reply.usage
    spent = usage.calls, usage.tokens, usage.cost, usage.seconds
    return Told(request, attempt, line["reply"], spent, [_record(record) for record in records])


def _record(found: Any) -> Json:
    """What a call was asked and said. ValueError for what is none."""
    kinds = {"messages": list, "outputs": list, "usage": dict, "seconds": float | int, "cost": float | int}
    for name, kind in kinds.items():
        if found.get(name) is not None and not isinstance(found[name], kind):
            raise ValueError(f"a call's {name} is {found[name]!r}")
    if not all(isinstance(message, dict) for message in found.get("messages") or ()):
        raise ValueError("a call's message is no object")
    return cast("Json", found)


def _restored(saved: Json) -> SearchResult[Any, Any]:
    from .saving import restored

    return restored(json.dumps(saved))


def _header(path: Path, line: bytes) -> Json:
    if not line.startswith(BEGINNING):
        raise JournalError(f"journal {path}, line 1: not the header of one, so this is no journal")
    try:
        found = json_object(line)
    except ValueError as error:
        raise JournalError(f"journal {path}, line 1: {error}, so this is no journal") from error
    if found.get("format") != FORMAT:
        raise JournalError(
            f"journal {path} is of format {found.get('format')!r}, and this version reads {FORMAT!r}: "
            "read it with the version that wrote it"
        )
    return found


def _row(id: int, row: list[Any]) -> Json:
    parent, action, text, status, reason = [*row, None, None, None, None][:5]
    if not (isinstance(parent, int) and 0 <= parent < id if id else parent is None):
        raise ValueError(f"node {id} has the parent {parent!r}")
    if not all(words is None or isinstance(words, str) for words in (action, text)):
        raise ValueError(f"node {id} has other words than text")
    NodeStatus(status)
    found = {"id": id, "parent": parent, "status": status}
    told = {"action": action, "text": text, "state": text, "reason": reason}
    return found | {name: value for name, value in told.items() if value is not None or (name == "action" and id)}
