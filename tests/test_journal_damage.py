"""Damaged journals: a clear error, or a clean recovery; never the tree of another run."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from thoughtree.search import (
    DFS,
    MCTS,
    Answer,
    Answered,
    Ask,
    Beam,
    BestFirst,
    Journal,
    JournalError,
    Rate,
    Rated,
    Reply,
    Search,
    drive,
    run,
)
from worlds import Digits, Letters, prepared, search, shot

HEADER = {"controller": "any", "seed": 0}
CONTROLLERS = [
    DFS(branching=2, max_depth=2),
    Beam(width=2, branching=2, max_depth=2),
    BestFirst(branching=2, keep=2, max_depth=2, open=2),
    MCTS(branching=2, rollouts=4, max_depth=2, at_once=2),
]
each = pytest.mark.parametrize("controller", CONTROLLERS, ids=lambda controller: type(controller).__name__)


def go(path: Path, controller: Any, seed: int = 5, concurrency: int = 1) -> tuple[Any, int]:
    """What a run with this journal comes to, and the calls that it makes."""
    world, journal = Digits(seed), Journal(path, HEADER)
    running = search(controller, world)
    try:
        if concurrency == 1:
            run(running, world.answer, journal=journal)
        else:
            drive(running, prepared(world), concurrency=concurrency, journal=journal)
    finally:
        journal.close()
    return shot(running), world.calls


def resumed(path: Path, controller: Any, content: bytes) -> tuple[Any, int]:
    """What a run comes to that goes on from this content, and the calls that it makes."""
    path.write_bytes(content)
    return go(path, controller)


@each
def test_cut_at_any_byte_it_goes_on_from_its_whole_lines(controller: Any, tmp_path: Path) -> None:
    """With one reply at a time, as it then comes to the same tree whatever is left to ask."""
    path = tmp_path / "journal"
    whole, replies = go(path, controller)
    content = path.read_bytes()
    assert len(content.splitlines()) == replies + 1
    for cut in range(len(content)):
        found, calls = resumed(path, controller, content[:cut])
        assert found == whole
        assert calls == replies - max(0, content[:cut].count(b"\n") - 1)
        assert path.read_bytes() == content  # the rest is written again, to the byte


@each
def test_any_byte_that_is_changed_is_found(controller: Any, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole, _ = go(path, controller, concurrency=3)
    content = path.read_bytes()
    rng = random.Random(0)
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= rng.randint(1, 255)
        if at == len(content) - 1:  # no newline at the end: a torn line
            assert resumed(path, controller, damaged)[0] == whole
            continue
        line = content[:at].count(b"\n") + 1
        with pytest.raises(JournalError, match=rf"(, line {line}: |belongs to another search)"):
            resumed(path, controller, damaged)
        assert path.read_bytes() == damaged  # nothing is lost by looking


@each
def test_lines_that_are_swapped_doubled_lost_or_foreign_are_found(controller: Any, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole, _ = go(path, controller, concurrency=3)
    go(tmp_path / "2", controller, seed=6)
    lines, foreign = (path.read_bytes().splitlines(keepends=True) for path in (path, tmp_path / "2"))
    assert lines[0] == foreign[0]  # of the same call
    cases: dict[str, list[bytes]] = {"all twice": lines + lines, "without a header": lines[1:]}
    for i in range(1, len(lines)):
        cases |= {
            f"{i} twice": [*lines[: i + 1], *lines[i:]],
            f"{i} again at the end": [*lines, lines[i]],
            f"{i} of another run": [*lines[:i], foreign[min(i + 1, len(foreign) - 1)], *lines[i + 1 :]],
            f"a blank before {i}": [*lines[:i], b"\n", *lines[i:]],
        }
        if i + 1 < len(lines):
            cases |= {
                f"{i} and the next swapped": [*lines[:i], lines[i + 1], lines[i], *lines[i + 2 :]],
                f"{i} lost": [*lines[:i], *lines[i + 1 :]],
                f"{i} and the next in one": [*lines[:i], lines[i].rstrip(b"\n"), *lines[i + 1 :]],
                f"another run's from {i + 1}": [*lines[: i + 1], *foreign[i + 1 :]],
            }
    for name, damaged in cases.items():
        if b"".join(damaged) != b"".join(lines):  # two runs may have said the same for a while
            with pytest.raises(JournalError, match=r", line \d+: |format: None there"):
                raise AssertionError(name, resumed(path, controller, b"".join(damaged))[0] == whole)


def test_the_error_says_how_to_go_on_and_that_works(tmp_path: Path) -> None:
    path, controller = tmp_path / "journal", CONTROLLERS[1]
    whole, _ = go(path, controller)
    lines = path.read_bytes().splitlines(keepends=True)
    with pytest.raises(JournalError) as caught:
        resumed(path, controller, b"".join([*lines[:4], b"#" + lines[4], *lines[5:]]))
    assert "line 5: it was changed, or lines before it are missing, doubled or moved; " in str(caught.value)
    assert "to go on from the line before it, delete it and all that follows" in str(caught.value)
    assert resumed(path, controller, b"".join(lines[:4]))[0] == whole


@pytest.mark.parametrize(
    "content", [b"do not lose this", b"{}", b"\n", b"\0" * 40, b'{"format": "other"}', b"\xff\xfe"]
)
def test_a_file_that_is_no_journal_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    """Without a newline at its end too: that is no torn line of ours."""
    path = tmp_path / "notes.txt"
    for end in (b"", b"\n", b"\nmore"):
        path.write_bytes(content + end)
        with pytest.raises(
            JournalError, match=r"(line 1: not JSON|line 1: not a JSON object|belongs to another search)"
        ):
            Journal(path, HEADER)
        assert path.read_bytes() == content + end


def test_the_torn_line_of_another_searchs_journal_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    go(path, CONTROLLERS[1])
    torn = path.read_bytes()[:-5]
    path.write_bytes(torn)
    with pytest.raises(JournalError, match="belongs to another search"):
        Journal(path, {**HEADER, "seed": 1})
    assert path.read_bytes() == torn


def test_a_task_that_does_other_things_now_is_found(tmp_path: Path) -> None:
    """Else ratings of one node would be read as those of another, that has its number now."""
    path = tmp_path / "journal"

    def tried(illegal: str, parse: Any = None) -> Any:
        world = Letters({"": "abc", "a": "d", "b": "e"}, {"b": 9.0}, illegal=illegal)
        running = Search(Beam(width=1, max_depth=2), "", parse=parse, step=world.step)
        journal = Journal(path, HEADER)
        try:
            return [node.value for node in run(running, world.answer, journal=journal).tree], world.asked
        finally:
            journal.close()

    assert tried("") == ([None, 1.0, 9.0, 1.0, 1.0], ["propose ", "rate a", "rate b", "rate c", "propose b", "rate be"])
    content = path.read_bytes()
    assert tried("") == ([None, 1.0, 9.0, 1.0, 1.0], [])
    with pytest.raises(JournalError, match=r"its reply to Rate\(nodes=\(2,\).* another run's \(this run does not ask"):
        tried("b")
    with pytest.raises(JournalError, match=r"its reply to Rate\(nodes=\(1,\).* \(it is about another node than here\)"):
        tried("", parse=lambda state, action: {"a": "c", "c": "a"}.get(action, action))
    assert path.read_bytes() == content


def test_a_reply_with_a_part_called_calls_is_read_as_written(tmp_path: Path) -> None:
    path, record = tmp_path / "journal", {"model": "m", "outputs": ['x, "calls": [1]']}
    answered = Answered({"a": 1, "calls": [{"calls": [1]}, 2]})
    replies = [
        Reply(answered),
        Reply(answered, records=[record]),
        Reply(Rated((1.0,)), records=[record, {"calls": [3]}]),
    ]
    journal = Journal(path, HEADER)
    for id, reply in enumerate(replies):
        journal.write(Ask(id, Rate((1,)) if isinstance(reply.outcome, Rated) else Answer(id)), reply)
    journal.close()
    assert [line.reply for line in Journal(path, HEADER).recorded()] == replies
