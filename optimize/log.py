"""The log of an evaluation: each finished example on disk, so that a killed run goes on without paying again.

A folder. `finished.jsonl`: a header, then a line for each example that was scored, written by the thread that scored
it. `journals/`: of each example its search's journal, or the replies of its calls, from which a half-done one goes on.
A line torn by a crash is dropped.
An example that failed is not in the log: it is run again.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict
from math import inf, isfinite
from pathlib import Path
from typing import Any

import dspy

from ..modules.header import digest
from ..search.protocol import Usage
from .fields import as_json, fields_of
from .outcome import Outcome

FINISHED, JOURNALS = "finished.jsonl", "journals"
DIGEST = "digest"  # of the rest of a line: a score in which a digit was changed is found out
TELLING = ("versions",)  # says something, and need not be the same


class LogError(Exception):
    """A log that cannot be written, is damaged, in use, or belongs to another evaluation."""


class Log:
    """An open log. finished: what it already held, by the examples' keys.

    folder: made if it is not there. header: what must be the same for a run to be continued.
    """

    def __init__(self, folder: str | Path, header: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.path, self.journals = self.folder / FINISHED, self.folder / JOURNALS
        self.finished: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Held open until close(). Unbuffered: a line that cannot be written does not linger.
            self._file = open(self.path, "a+b", buffering=0)  # noqa: SIM115
        except (OSError, ValueError) as error:
            raise LogError(f"resume={str(folder)!r}: no folder that can be written to ({error})") from error
        try:
            self._take_lock()
            self._read(json.loads(json.dumps(header)))
        except BaseException:
            self._file.close()
            raise

    def write(self, key: str, outcome: Outcome) -> None:
        """Append a scored example; one that failed is left out. LogError where that cannot be done."""
        if outcome.score is None:
            return
        line = {
            "key": key,
            "score": outcome.score,
            "feedback": outcome.feedback,
            "prediction": {name: as_json(value) for name, value in fields_of(outcome.prediction).items()},
            "spent": asdict(outcome.spent),
            "judged": asdict(outcome.judged),
            "unpriced": outcome.unpriced,
            "seconds": outcome.seconds,
            "solved": outcome.solved,
            "faults": outcome.faults,
        }
        with self._lock:
            if not self._file.closed:  # by an interruption: what ends later is not counted any more
                self._append(line)

    def close(self) -> None:
        with self._lock:
            self._file.close()

    def read(self, key: str, index: int, example: dspy.Example) -> Outcome | None:
        """The outcome of an example that is in the log. Its prediction's fields are JSON, and carry no search."""
        line = self.finished.get(key)
        return None if line is None else _outcome(line, index, example)

    def _append(self, line: Mapping[str, Any]) -> None:
        left = json.dumps({**line, DIGEST: digest(line)}, allow_nan=False).encode() + b"\n"
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._file.close()  # behind a torn line, nothing more
            raise LogError(f"{self.path}: cannot be written: {error}") from error

    def _take_lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # no such lock on this system
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise LogError(f"{self.path}: another run is writing to it; give each run its own folder") from error

    def _read(self, header: dict[str, Any]) -> None:
        self._file.seek(0)
        content = self._file.read()
        end = content.rfind(b"\n") + 1
        if end < len(content):  # a torn last line: its example is run again
            self._file.truncate(end)
        lines = content[:end].splitlines()
        if not lines:
            self._append(header)
            return
        self._same(self._parse(1, lines[0]), header)
        for number, line in enumerate(lines[1:], 2):
            found = self._parse(number, line)
            try:
                _outcome(found, 0, dspy.Example())
                self.finished[found["key"]] = found
            except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
                raise LogError(f"{self.path}, line {number}: not a finished example ({error!r})") from error

    def _parse(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise LogError(f"{self.path}, line {number}: not JSON ({error})") from error
        if not isinstance(found, dict):
            raise LogError(f"{self.path}, line {number}: not a JSON object")
        if found.pop(DIGEST, None) != digest(found):
            raise LogError(
                f"{self.path}, line {number}: it was changed since it was written; take it out to run it again"
            )
        return found

    def _same(self, there: dict[str, Any], now: dict[str, Any]) -> None:
        differ = list(_differences(there, now))
        if differ:
            raise LogError(
                f"{self.path} is of another evaluation ({'; '.join(differ)}); give this one a folder of its own"
            )


def _outcome(line: Mapping[str, Any], index: int, example: dspy.Example) -> Outcome:
    """LookupError, TypeError, AttributeError, ValueError, ArithmeticError for a line that is none."""
    for name, kinds in (("feedback", str | None), ("solved", bool | None), ("key", str)):
        if not isinstance(line[name], kinds):
            raise ValueError(f"{name} is {line[name]!r}")
    if not isfinite(line["score"]):
        raise ValueError(f"score is {line['score']!r}")
    return Outcome(
        index,
        example,
        dspy.Prediction(**line["prediction"]),
        score=float(line["score"]),
        feedback=line["feedback"],
        spent=Usage(**{name: _amount(told) for name, told in line["spent"].items()}),
        judged=Usage(**{name: _amount(told) for name, told in line["judged"].items()}),
        unpriced=int(_amount(line["unpriced"])),
        seconds=float(_amount(line["seconds"])),
        solved=line["solved"],
        faults=int(_amount(line["faults"])),
        resumed=True,
    )


def _amount(told: Any) -> Any:
    if not isinstance(told, int | float) or isinstance(told, bool) or not 0 <= float(told) < inf:
        raise ValueError(f"{told!r} is no amount")
    return told


def _differences(there: Mapping[str, Any], now: Mapping[str, Any], within: str = "") -> list[str]:
    """What differs, by its full name."""
    found: list[str] = []
    for name in sorted(there.keys() | now.keys()):
        before, after = there.get(name), now.get(name)
        if before == after or (not within and name in TELLING):
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            found += _differences(before, after, f"{within}{name}.")
        else:
            found.append(f"{within}{name}: {before!r} there, {after!r} now")
    return found
