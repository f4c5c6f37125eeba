"""The log of an evaluation: each finished example on disk, so that a killed run goes on without paying again.

A folder. `finished.jsonl`: a header, then a line for each example that was scored, written by the thread that scored
it. `journals/`: of each example its search's journal, or the replies of its calls, from which a half-done one goes on.
A line torn by a crash is dropped.
An example that failed is not in the log: it is run again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from math import inf, isfinite
from pathlib import Path
from typing import Any

import dspy

from ..search.protocol import Usage
from .fields import as_json, fields_of
from .log_lines import LogError, LogLines
from .outcome import Outcome
from .shared_run import CLAIMS, Claims, SharedRun

FINISHED, JOURNALS = "finished.jsonl", "journals"
TOLD = ("error", "at", "details", "fatal")  # of an example that failed
TELLING = ("versions",)  # says something, and need not be the same


class Log:
    """An open log. finished: what it already held, by the examples' keys.

    folder: made if it is not there; a SharedRun: other processes are at it too. header: what must be the same for a run
    to be continued.
    """

    def __init__(self, folder: str | Path | SharedRun, header: Mapping[str, Any]) -> None:
        self.shared = folder if isinstance(folder, SharedRun) else None
        self.folder = folder.folder if isinstance(folder, SharedRun) else Path(folder)
        self.path, self.journals = self.folder / FINISHED, self.folder / JOURNALS
        self.finished: dict[str, dict[str, Any]] = {}
        self.failed: dict[str, dict[str, Any]] = {}  # in this run, of processes that share it
        self._failures: LogLines | None = None
        self._untold: list[str] = []
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lines = LogLines(self.path, shared=self.shared is not None)
            if self.shared is not None:
                self.claims = Claims(self.folder / CLAIMS)
                self._failures = LogLines(self.folder / self.shared.failed, shared=True)
        except (OSError, ValueError) as error:
            raise LogError(f"resume={str(self.folder)!r}: no folder that can be written to ({error})") from error
        try:
            self._begin(json.loads(json.dumps(header)))
            self.before = frozenset(self.finished)  # this run
        except BaseException:
            self.close()
            raise

    def write(self, key: str, outcome: Outcome) -> None:
        """Append a scored example. LogError where that cannot be done.

        One that failed is left out, or told to the processes of this run alone; what a limit cut short, in any case.
        """
        lines = self._lines if outcome.score is not None else self._failures
        if lines is None or outcome.at == "limit":
            return
        ended = (
            {"score": outcome.score, "feedback": outcome.feedback}
            if outcome.score is not None
            else {name: getattr(outcome, name) for name in TOLD}
        )
        line = {
            "key": key,
            **ended,
            "prediction": {name: as_json(value) for name, value in fields_of(outcome.prediction).items()},
            "spent": asdict(outcome.spent),
            "judged": asdict(outcome.judged),
            "unpriced": outcome.unpriced,
            "seconds": outcome.seconds,
            "solved": outcome.solved,
            "faults": outcome.faults,
        }
        with lines.writing():
            lines.append(line)

    @property
    def closed(self) -> bool:
        return self._lines.closed

    def close(self) -> None:
        self._lines.close()
        if self._failures is not None:
            self._failures.close()
            self.claims.close()

    def look(self) -> list[str]:
        """Take in what other processes have written; the keys of what is done and was not told yet. Not thread-safe."""
        self._take_in()
        found, self._untold = self._untold, []
        return found

    def read(self, key: str, index: int, example: dspy.Example) -> Outcome | None:
        """The outcome of an example that is in the log. Its prediction's fields are JSON, and carry no search."""
        line = self.finished.get(key)
        if line is not None:
            return replace(_outcome(line, index, example), resumed=key in self.before)
        line = self.failed.get(key)
        return None if line is None else _lost(line, index, example)

    def _begin(self, header: dict[str, Any]) -> None:
        with self._lines.writing():
            lines = self._lines.fresh()
            there = next(lines, None)
            if there is None:
                self._lines.append(header)
                there = next(self._lines.fresh())
            self._same(there[1], header)
            self._take(lines)
        self._take_in()

    def _take_in(self) -> None:
        self._take(self._lines.fresh())
        for number, line in () if self._failures is None else self._failures.fresh():
            self.failed[self._checked(self._failures, number, line, _lost)] = line

    def _take(self, lines: Iterable[tuple[int, dict[str, Any]]]) -> None:
        for number, line in lines:
            self.finished[self._checked(self._lines, number, line, _outcome)] = line

    def _checked(self, lines: LogLines | None, number: int, line: dict[str, Any], read: Any) -> str:
        """Its key."""
        assert lines is not None
        try:
            read(line, 0, dspy.Example())
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
            raise lines.wrong(number, f"not a finished example ({error!r})") from error
        key: str = line["key"]
        self._untold.append(key)
        return key

    def _same(self, there: dict[str, Any], now: dict[str, Any]) -> None:
        differ = list(_differences(there, now))
        if differ:
            raise LogError(
                f"{self.path} is of another evaluation ({'; '.join(differ)}); give this one a folder of its own"
            )


def _outcome(line: Mapping[str, Any], index: int, example: dspy.Example) -> Outcome:
    """LookupError, TypeError, AttributeError, ValueError, ArithmeticError for a line that is none."""
    for name, kinds in (("feedback", str | None), ("key", str)):
        if not isinstance(line[name], kinds):
            raise ValueError(f"{name} is {line[name]!r}")
    if not isfinite(line["score"]):
        raise ValueError(f"score is {line['score']!r}")
    return replace(_ran(line, index, example), score=float(line["score"]), feedback=line["feedback"], resumed=True)


def _lost(line: Mapping[str, Any], index: int, example: dspy.Example) -> Outcome:
    """The same of one that failed."""
    for name, kinds in (("error", str), ("at", str), ("details", str | None), ("fatal", bool), ("key", str)):
        if not isinstance(line[name], kinds):
            raise ValueError(f"{name} is {line[name]!r}")
    return replace(_ran(line, index, example), **{name: line[name] for name in TOLD})


def _ran(line: Mapping[str, Any], index: int, example: dspy.Example) -> Outcome:
    if not isinstance(line["solved"], bool | None):
        raise ValueError(f"solved is {line['solved']!r}")
    return Outcome(
        index,
        example,
        dspy.Prediction(**line["prediction"]),
        spent=Usage(**{name: _amount(told) for name, told in line["spent"].items()}),
        judged=Usage(**{name: _amount(told) for name, told in line["judged"].items()}),
        unpriced=int(_amount(line["unpriced"])),
        seconds=float(_amount(line["seconds"])),
        solved=line["solved"],
        faults=int(_amount(line["faults"])),
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
