"""One evaluation that several processes make together: which of them does what, by locks that die with their holder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .log_lines import LogError, has_locks, lock

CLAIMS, FAILED, GATHERED = "claims", "failed", "gathered"
USED = "in use"  # a file that is locked while somebody works with the claims beside it


@dataclass(frozen=True, slots=True)
class SharedRun:
    """In place of a folder for `resume`: processes that are given the same do each example once, between them.

        evaluate = Evaluate(devset=devset, metric=solved)
        result = evaluate(program, resume=SharedRun("kept", "monday"))  # in any number of processes

    folder: what is finished is kept there, as ever. name: of this run. An example that failed is not tried again by
    another process of the same run; another name tries it again. Each gives the result of all examples. What a process
    was at that is killed, another takes over, from where it was. The folder must be on a disk with file locks.
    """

    folder: Path
    name: str

    def __init__(self, folder: str | Path, name: str) -> None:
        if not name or not all(letter.isalnum() or letter in "-_" for letter in name):
            raise ValueError(f"name={name!r}: must be letters, digits, - and _, as it is part of a file's name")
        object.__setattr__(self, "folder", Path(folder))
        object.__setattr__(self, "name", name)

    def __truediv__(self, inside: str) -> SharedRun:
        return SharedRun(self.folder / inside, self.name)

    @property
    def failed(self) -> str:
        """The file of what failed in this run."""
        return f"{FAILED}-{self.name}.jsonl"

    @property
    def gathered(self) -> str:
        """The file of what was gathered in this run."""
        return f"{GATHERED}-{self.name}.jsonl"

    def forget(self) -> None:
        """Take away what is of use to this run alone, in all folders inside too. For when all its processes ended."""
        for kind in (FAILED, GATHERED):
            for path in [*self.folder.rglob(f"{kind}-{self.name}.*")]:
                path.unlink(missing_ok=True)
        for path in [*self.folder.rglob(CLAIMS)]:
            with open(path / USED, "ab") as used:
                if lock(used, alone=True):  # else another run is at it
                    shutil.rmtree(path, ignore_errors=True)


class Claims:
    """Who does what. folder: made if it is not there. LogError where the system has no locks."""

    def __init__(self, folder: Path) -> None:
        if not has_locks():
            raise LogError(f"{folder}: this system has no file locks, by which processes share a run")
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._used = open(folder / USED, "ab")  # noqa: SIM115  # until close()
        lock(self._used, alone=False, wait=True)

    @contextmanager
    def claim(self, key: str) -> Iterator[bool]:
        """Whether nobody else holds it, here or in another process. It is let go of at the end, or by a kill."""
        self._folder.mkdir(exist_ok=True)
        with open(self._folder / key, "ab") as file:
            yield lock(file, alone=True)

    def close(self) -> None:
        self._used.close()
