"""`--workers N`: this process and others that do its examples with it, each example once."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .mistake import Mistake
from .output import say
from .processes import Work, started

if TYPE_CHECKING:
    from .modules.calls.limit import limit
    from .optimize import SharedRun


@dataclass(frozen=True, slots=True)
class Crew:
    """folder: that its processes share. name: of this run. until: when its wall time is up, of `time.time()`."""

    folder: Path
    name: str
    until: float | None = None

    @property
    def run(self) -> SharedRun:
        from .optimize import SharedRun

        return SharedRun(self.folder, self.name)

    def purse(self, ceilings: Mapping[str, Any]) -> limit:
        """What they may spend together."""
        from .shared_limit import SharedLimit

        own = dict(ceilings)
        if self.until is not None:
            own["seconds"] = max(self.until - time.time(), 1e-3)
        return SharedLimit(self.folder / f"spent-{self.name}", **own)


@contextmanager
def crew(
    workers: int | None, resume: Path | None, seconds: float | None, work: Work, options: Any
) -> Iterator[Crew | None]:
    """Where more than one worker is asked for, the others are at `work(options, crew)` within it; else None.

    resume: the folder that is kept; None: one that is gone in the end. seconds: the wall time of all of them.
    """
    if (workers or 1) == 1:
        yield None
        return
    from .optimize.log_lines import has_locks

    if not has_locks():
        raise Mistake(f"--workers {workers}: this system has no file locks, by which processes share examples")
    with _folder(resume) as folder:
        made = Crew(folder, uuid.uuid4().hex[:12], None if seconds is None else time.time() + seconds)
        try:
            with started(work, (options, made), (workers or 1) - 1) as others:
                yield made
                codes = [other.exitcode or 0 for other in others]
            if lost := sum(code < 0 for code in codes):
                say(f"{lost} of {workers} processes were killed; the others did what they had been at")
            if idle := sum(code > 0 for code in codes):
                say(f"{idle} of {workers} processes could not work; the others did without them")
        finally:
            made.run.forget()
            (folder / f"spent-{made.name}").unlink(missing_ok=True)


@contextmanager
def _folder(resume: Path | None) -> Iterator[Path]:
    if resume is not None:
        resume.mkdir(parents=True, exist_ok=True)
        yield resume
        return
    with tempfile.TemporaryDirectory(prefix="thoughtree-") as made:
        yield Path(made)
