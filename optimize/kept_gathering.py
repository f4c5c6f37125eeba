"""Searches gathered over a folder that keeps the replies: nothing is paid twice, and processes share the examples."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy

from ..modules.recording import Recording
from .fields import keys_of
from .gathering import Gathered, Gatherer
from .job import REPLIES
from .log_lines import LogLines
from .report import Progress
from .running import Lost
from .shared_run import CLAIMS, Claims, SharedRun
from .trying import recorded, with_shared_calls
from .workers import LOOK_UP, in_threads


class Kept:
    """place: the folder, made if it is not there; a SharedRun: other processes are at the same examples.

    In it are the replies of all LMs, as a tuner keeps them in its `log_dir`, which may be this folder too.
    """

    def __init__(self, place: str | Path | SharedRun) -> None:
        self.shared = place if isinstance(place, SharedRun) else None
        self.folder = place.folder if isinstance(place, SharedRun) else Path(place)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"resume={str(self.folder)!r}: is no folder that can be written to: {error}") from error
        self.recording = Recording.at(self.folder / REPLIES)

    def program(self, program: dspy.Module) -> dspy.Module:
        """A copy whose own LMs go through the recording."""
        return with_shared_calls(program, self.recording)

    def lm(self, lm: Any) -> Any:
        """An LM that goes through the recording; None, and what is recorded already, as it is."""
        return recorded(lm, self.recording)

    @contextmanager
    def calls(self) -> Iterator[None]:
        """In which the configured LM goes through the recording."""
        with dspy.context(lm=self.lm(dspy.settings.lm)):
            yield

    def gather(self, gatherer: Gatherer, examples: Sequence[dspy.Example]) -> list[Gathered]:
        """Each example once, in their order: here, or in another process and then here, by its replies."""
        with self.calls():
            if self.shared is None:
                return gatherer.run(examples)
            shared = Sharing(self.shared, gatherer, examples)
            shared.work()
            others = [
                example for key, example in shared.jobs.items() if key not in shared.mine and not shared.done[key]
            ]
            replayed = iter(replace(gatherer, display_progress=False).run(others))
            return [shared.mine.get(key) or shared.failed(key) or next(replayed) for key in shared.jobs]

    def help(self, gatherer: Gatherer, examples: Sequence[dspy.Example]) -> None:
        """Run examples for another process that gathers them, until all are done."""
        assert self.shared is not None
        with self.calls():
            Sharing(self.shared, gatherer, examples).work()


class Sharing:
    """The examples of one gathering, shared out among processes.

    jobs: all of them, by their keys. mine: what was run here. done: the error of each that somebody has run, or None.
    refused: those whose error is that a limit around all of them is used up.
    """

    def __init__(self, shared: SharedRun, gatherer: Gatherer, examples: Sequence[dspy.Example]) -> None:
        self.gatherer = gatherer
        self.jobs = dict(zip(keys_of(list(examples)), examples, strict=True))
        self.mine: dict[str, Gathered] = {}
        self.done: dict[str, str | None] = {}
        self.refused: set[str] = set()
        self._claims = Claims(shared.folder / CLAIMS)
        self._lines = LogLines(shared.folder / shared.gathered, shared=True)
        self._lock = threading.Lock()
        self._progress = Progress(len(self.jobs), gatherer.display_progress)

    def work(self) -> None:
        """Raises the error of the run that was one too many."""
        try:
            with self._progress:
                while left := self._left():
                    ran = len(self.mine)
                    in_threads(left, self._one, self.gatherer.threads)
                    if len(self.mine) == ran:  # others are at all that is left
                        time.sleep(LOOK_UP)
        finally:
            self._lines.close()
            self._claims.close()

    def failed(self, key: str) -> Gathered | None:
        """What another process found, where that is an error."""
        if (error := self.done[key]) is None:
            return None
        return Gathered(self.jobs[key], error=error, refused=key in self.refused)

    def _errors(self) -> list[str]:
        return [error for key, error in self.done.items() if error is not None and key not in self.refused]

    def _left(self) -> list[str]:
        self._look()
        errors = self._errors()
        if len(errors) > self.gatherer.max_errors:  # over all processes
            raise Lost(errors[-1])
        return [key for key in self.jobs if key not in self.done]

    def _look(self) -> None:
        with self._lock:
            for _, line in self._lines.fresh():
                if line["key"] in self.jobs and line["key"] not in self.done:
                    self.done[line["key"]] = line["error"]
                    self.refused |= {line["key"]} if line["refused"] else set()
                    self._progress.count(line["score"], line["calls"])

    def _one(self, key: str) -> None:
        with self._claims.claim(key) as claimed:
            if claimed:
                self._look()  # only now nobody else can be at it
            if not claimed or key in self.done:
                return
            alone = replace(self.gatherer, threads=1, display_progress=False, errors=len(self._errors()))
            (found,) = alone.run([self.jobs[key]])
            calls = sum(seen.result.spent.calls for seen in found.searches)
            score = float(found.accepted) if found.error is None else None
            self.mine[key] = found
            with self._lines.writing():
                self._lines.append(
                    {"key": key, "error": found.error, "refused": found.refused, "score": score, "calls": calls}
                )
