"""A journal that is deleted, moved or replaced under a run is noticed with the next line; and one writer a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from puzzle24 import PUZZLE, call, drivers, engine
from thoughtree import Beam, Game24, TreeOfThoughts
from thoughtree.search import Ask, Journal, JournalError, Propose, Reply, Unread
from thoughtree.search.lock import FAR, lock_byte


def deleted(path: Path) -> None:
    path.unlink()


def moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def without_its_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("renamed"))


WAYS = [deleted, moved, replaced, without_its_folder]
posix = pytest.mark.skipif(os.name == "nt", reason="Windows lets nobody delete or move an open file")


def line(journal: Journal, n: int) -> None:
    journal.write(Ask(0, Propose(n, 1)), Reply(Unread("said")))


@posix
@pytest.mark.parametrize("way", WAYS)
def test_the_next_line_says_that_the_journal_is_gone_and_so_do_all_after_it(
    way: Callable[[Path], None], tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir()
    path = tmp_path / "runs" / "journal"
    journal = Journal(path, {})
    line(journal, 1)
    way(path)
    for n in (2, 3):
        with pytest.raises(JournalError, match="deleted, moved or replaced while this run was writing to it"):
            line(journal, n)
    journal.close()


@posix
@drivers
@pytest.mark.parametrize("way", WAYS)
def test_a_run_whose_journal_is_gone_ends_there_and_says_so(
    way: Callable[[Path], None], driver: str, tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir()
    path = tmp_path / "runs" / "journal"
    model = engine()

    def event(told: Any) -> None:
        if told.search.told == 3:
            way(path)

    program = TreeOfThoughts(task=Game24(), controller=Beam(width=2), concurrency=1)
    with pytest.raises(JournalError, match="deleted, moved or replaced"):
        call(program, model, driver, numbers=PUZZLE, config={"journal": path, "on_event": event})
    assert model.count() == 4  # what was paid for as it was noticed was the last


def test_another_current_folder_is_no_other_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    journal = Journal("journal", {})
    line(journal, 1)
    (tmp_path / "other").mkdir()
    os.chdir(tmp_path / "other")
    line(journal, 2)
    journal.close()
    assert len((tmp_path / "journal").read_text().splitlines()) == 3


def test_a_lock_of_windows_is_one_byte_that_no_journal_gets_to(tmp_path: Path) -> None:
    """By the rules of its C runtime, which locks from where the file stands, and refuses with EACCES."""
    locked: set[int] = set()

    def locking(file: int, how: str, count: int) -> None:
        at = os.lseek(file, 0, os.SEEK_CUR)
        assert count == 1
        if how == "unlock":
            locked.remove(at)
        elif at in locked:
            raise PermissionError(13, "Permission denied")
        else:
            locked.add(at)

    windows = SimpleNamespace(locking=locking, LK_NBLCK="lock", LK_UNLCK="unlock")
    path = tmp_path / "file"
    with open(path, "a+b", buffering=0) as first, open(path, "a+b", buffering=0) as second:
        first.write(b"header\n")
        first.seek(2)
        unlock = lock_byte(first, windows)
        assert (locked, first.tell()) == ({FAR}, 2)
        with pytest.raises(BlockingIOError):
            lock_byte(second, windows)
        assert second.tell() == 0
        first.write(b"line\n")
        unlock()
        assert locked == set()
        lock_byte(second, windows)()
    assert path.read_bytes() == b"header\nline\n"
