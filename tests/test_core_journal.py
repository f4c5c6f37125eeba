"""The journal: written before it is told, read again line by line, resumed at any reply."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from test_core_routines import Climbers
from thoughtree.search import (
    DFS,
    MCTS,
    Answer,
    Answered,
    Ask,
    Beam,
    BestFirst,
    Budget,
    Codec,
    Ended,
    Failed,
    Illegal,
    Journal,
    JournalError,
    Outcome,
    Propose,
    Proposed,
    ProtocolError,
    Rate,
    Rated,
    Reflect,
    Reflected,
    Refused,
    Reply,
    Request,
    Search,
    SearchStatus,
    Step,
    Stepped,
    Tree,
    Unread,
    Usage,
    adrive,
    drive,
    run,
)
from thoughtree.search.chain import sealed
from thoughtree.search.codec import Recorded
from thoughtree.search.lines import journal_line
from worlds import Digits, Letters, search, shot

HEADER = {"controller": {"kind": "Beam", "width": 2}, "seed": 0, "versions": {"thoughtree": "1"}}


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


class Crash(BaseException):
    """The process dies here."""


def lines(path: Path) -> list[Any]:
    return lines_of(path.read_bytes().splitlines())


def lines_of(written: list[bytes]) -> list[Any]:
    """Without their checks."""
    found = [json.loads(line) for line in written]
    for line in found:
        assert len(line.pop("sum")) == 8
    return found


def recorded(path: Path, **more: Any) -> list[Recorded]:
    """What a journal on disk holds."""
    journal = Journal(path, HEADER, **more)
    found = list(journal.recorded())
    journal.close()
    return found


def sealed_lines(*written: str) -> bytes:
    """A journal of these lines, checks and all: what only a forger, or a defect of ours, could write."""
    content, check = b"", 0
    for line in written:
        whole, check = sealed(line.encode(), check)
        content += whole + b"\n"
    return content


def journaled(path: Path, world: Letters, **more: Any) -> Search[Any, Any]:
    """One whole search with a journal."""
    running = Search(Beam(max_depth=2), "", step=world.step, **more)
    journal = Journal(path, HEADER)
    run(running, world.answer, journal=journal)
    journal.close()
    return running


# ---- what is written


def test_a_line_a_reply_behind_a_header(tmp_path: Path) -> None:
    journaled(tmp_path / "journal", Letters({"": "a"}, {"a": 3.0}))
    assert lines(tmp_path / "journal") == [
        {"format": "thoughtree.journal/3", **HEADER},
        {
            "ask": ["propose", 0, 5, 0, 0],
            "attempt": 0,
            "about": 0,
            "reply": ["proposed", ["a"], None],
            "usage": [1, 0, 0.0, 0.0],
        },
        {
            "ask": ["rate", [1], 0, "rate"],
            "attempt": 0,
            "about": crc32(b"0 a"),  # the first child of the root, by the action a
            "reply": ["rated", [3.0], None, 0],
            "usage": [1, 0, 0.0, 0.0],
        },
        {
            "ask": ["propose", 1, 5, 0, 0],
            "attempt": 0,
            "about": crc32(b"0 a"),
            "reply": ["proposed", [], None],
            "usage": [1, 0, 0.0, 0.0],
        },
    ]


def test_a_reply_is_on_disk_before_it_is_told(tmp_path: Path) -> None:
    world, counts = Letters({"": "abc"}), []
    journal = Journal(tmp_path / "journal", HEADER)

    def observe(event: Any) -> None:
        counts.append((event.search.told, len(lines(tmp_path / "journal")) - 1))

    drive(
        Search(Beam(max_depth=1), "", step=world.step),
        lambda ask, tree: lambda: Reply(world.answer(ask.request, tree)),
        journal=journal,
        observe=observe,
    )
    assert len(counts) == 4
    assert all(written >= told for told, written in counts)


def test_replies_are_told_in_the_order_of_the_journal(tmp_path: Path) -> None:
    """Node ids hang on the order of telling where routines run at once: it must be the one on disk."""

    class Slow(Journal):
        """A thread that has just written may sleep before it hands its reply over."""

        def write(self, ask: Ask, reply: Reply) -> None:
            super().write(ask, reply)
            time.sleep(0.01 if ask.id % 2 else 0.0)

    world, told = Letters({"": "abcdefgh"}), []
    running = Search(Beam(branching=8, max_depth=1), "", step=world.step)
    drive(
        running,
        lambda ask, tree: lambda: Reply(world.answer(ask.request, tree)),
        journal=Slow(tmp_path / "journal", HEADER),
        observe=lambda event: told.append(event.ask.request),
    )
    written = [Codec().read(line).request for line in lines(tmp_path / "journal")[1:]]
    assert told == written


texts = st.text(max_size=20)
numbers = st.floats(allow_nan=False, allow_infinity=False)
outcomes = st.one_of(
    st.builds(Proposed, st.lists(texts | st.integers() | st.none() | st.booleans() | numbers).map(tuple)),
    st.lists(st.tuples(texts, st.floats(0, 1))).map(lambda x: Proposed(tuple(a for a, _ in x), tuple(p for _, p in x))),
    st.builds(Rated, st.lists(numbers).map(tuple), st.none(), st.integers(0, 3)),
    st.lists(texts).map(lambda x: Rated(tuple(0.0 for _ in x), tuple(x))),
    st.builds(
        Stepped,
        texts,
        st.none(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        numbers,
        st.none() | numbers,
        st.none() | texts | st.lists(st.integers()),
    ),
    st.builds(Illegal, texts),
    st.builds(Reflected, texts),
    st.builds(Answered, st.dictionaries(texts, texts), st.booleans(), st.none() | texts, st.none() | numbers, texts),
    st.builds(Unread, texts),
    st.builds(Failed, texts, st.booleans(), st.booleans(), st.none() | st.floats(0, 1e6)),
)
requests = st.one_of(
    st.builds(Propose, st.integers(0, 99), st.none() | st.integers(1, 9), st.integers(0, 9), st.integers(0, 9)),
    st.builds(Step, st.integers(0, 99)),
    st.builds(
        Rate,
        st.lists(st.integers(0, 99), min_size=1).map(tuple),
        st.integers(0, 9),
        st.sampled_from(["rate", "cheap"]),
    ),
    st.builds(Reflect, st.integers(0, 99)),
    st.builds(Answer, st.integers(0, 99)),
)
usages = st.builds(Usage, st.integers(0, 9), st.integers(0, 10**9), st.floats(0, 1e9), st.floats(0, 1e9))


@settings(max_examples=300, deadline=None)
@given(requests, st.integers(0, 5), outcomes, usages, st.lists(st.dictionaries(texts, texts), max_size=2))
def test_every_reply_is_read_as_it_was_written(
    request: Request, attempt: int, outcome: Any, usage: Usage, records: Any
) -> None:
    reply = Reply(outcome, usage, records)
    written = json.dumps(Codec().write(Ask(7, request, attempt, about=9), reply), allow_nan=False)
    assert Codec().read(json.loads(written)) == (request, attempt, 9, reply)
    assert Codec().read(*journal_line(written.encode())) == (request, attempt, 9, reply)


def test_the_types_of_actions_come_back() -> None:
    actions = ("1", 1, 1.0, True, None)
    written = json.dumps(Codec().write(Ask(0, Propose(0, 5)), Reply(Proposed(actions))))
    reply = Codec().read(json.loads(written)).reply
    assert reply is not None
    assert [type(a) for a in reply.outcome.actions] == [str, int, float, bool, type(None)]  # type: ignore[union-attr]


def test_states_and_fields_are_written_by_the_tasks_codec(tmp_path: Path) -> None:
    codec = Codec(
        dump_state=lambda state: [str(x) for x in state],
        load_state=lambda written: tuple(Fraction(x) for x in written),
        key=frozenset,
        dump_fields=lambda fields: {"value": str(fields["value"])},
        load_fields=lambda written: {"value": Fraction(written["value"])},
    )
    state = (Fraction(1, 3), Fraction(5))
    journal = Journal(tmp_path / "journal", HEADER, codec=codec)
    stepped = Stepped(state, key=frozenset(state), terminal=True)
    journal.write(Ask(0, Step(1)), Reply(stepped))
    journal.write(Ask(1, Step(2)), Reply(Stepped(state)))
    journal.write(Ask(2, Answer(1)), Reply(Answered({"value": Fraction(2, 7)})))
    journal.close()
    read = [line.reply.outcome for line in recorded(tmp_path / "journal", codec=codec) if line.reply]
    assert read == [stepped, Stepped(state), Answered({"value": Fraction(2, 7)})]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Proposed((Fraction(1, 3),)), "the action Fraction(1, 3) is a Fraction; propose text or numbers"),
        (Proposed((("left", 2),)), "the action ('left', 2) is a tuple"),
        (Proposed(("fine", {"tool": "look"})), "is a dict"),
        (Stepped(Fraction(1, 3)), "Object of type Fraction is not JSON serializable"),
        (Stepped("s", observation=float("nan")), "Out of range float values are not JSON compliant"),
        (Stepped("s", observation=ENDLESS), "maximum recursion depth exceeded"),
    ],
)
def test_what_cannot_be_written_is_an_error_that_names_the_request(tmp_path: Path, outcome: Any, said: str) -> None:
    request = Propose(3, 5) if isinstance(outcome, Proposed) else Step(3)
    journal = Journal(tmp_path / "journal", HEADER)
    with pytest.raises(JournalError) as caught:
        journal.write(Ask(0, request), Reply(outcome))
    assert f"the reply to {request!r} cannot be written as JSON" in str(caught.value)
    assert said in str(caught.value)
    assert str(tmp_path / "journal") in str(caught.value)


@pytest.mark.parametrize("driver", ["plain", "threads", "asyncio"])
def test_a_search_whose_reply_cannot_be_written_does_not_go_on(tmp_path: Path, driver: str) -> None:
    world, told = Letters({"": "ab"}), []
    running = Search(Beam(), "", step=world.step)
    journal = Journal(tmp_path / "journal", HEADER)

    def outcome(ask: Ask, tree: Tree[Any, Any]) -> Any:
        return Proposed((frozenset("x"),)) if ask.id == 0 else world.answer(ask.request, tree)

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Any:
        async def later() -> Reply:
            return Reply(outcome(ask, tree))

        return later if driver == "asyncio" else lambda: Reply(outcome(ask, tree))

    def go() -> None:
        if driver == "plain":
            answer = lambda request, tree: outcome(Ask(0, request), tree)  # noqa: E731
            run(running, answer, journal=journal, observe=told.append)
        elif driver == "threads":
            drive(running, prepare, journal=journal, observe=told.append)
        else:
            asyncio.run(adrive(running, prepare, journal=journal, observe=told.append))

    with pytest.raises(JournalError, match=r"the reply to Propose\(node=0, n=5"):
        go()
    assert (told, running.told) == ([], 0)


def test_a_refusal_is_never_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", HEADER)
    running = Search(Beam(), "")
    drive(running, lambda ask, tree: lambda: Reply(Refused("calls")), journal=journal)
    assert running.ended is Ended.CALLS
    assert len(lines(tmp_path / "journal")) == 1


def test_after_close_nothing_is_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", HEADER)
    journal.close()
    journal.close()
    journal.write(Ask(0, Propose(0, 5)), Reply(Unread("late")))
    assert len(lines(tmp_path / "journal")) == 1


def test_many_threads_write_whole_lines(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", HEADER)

    def write(i: int) -> None:
        for k in range(50):
            journal.write(Ask(0, Propose(i, k + 1)), Reply(Unread("x" * 2000)))

    threads = [threading.Thread(target=write, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.close()
    found = {line.request for line in recorded(tmp_path / "journal")}
    assert found == {Propose(i, k + 1) for i in range(8) for k in range(50)}


@pytest.mark.parametrize("driver", ["threads", "asyncio"])
def test_a_reply_is_written_by_the_thread_that_received_it(tmp_path: Path, driver: str) -> None:
    """Before it is queued: a driver that is late keeps no reply off the disk."""
    received: dict[int, int] = {}
    written: dict[int, int] = {}

    class Watched(Journal):
        def write(self, ask: Ask, reply: Reply) -> None:
            written[ask.id] = threading.get_ident()
            super().write(ask, reply)

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Any:
        def call() -> Reply:
            received[ask.id] = threading.get_ident()
            return Reply(Proposed(tuple("abcd")) if isinstance(ask.request, Propose) else Rated((1.0,)))

        async def later() -> Reply:
            return call()

        return later if driver == "asyncio" else call

    def observe(event: Any) -> None:
        if event.ask.id == 1:  # the driver is busy, while the other ratings come in
            until = time.monotonic() + 30
            while driver == "threads" and len(lines(tmp_path / "journal")) < 1 + 5 and time.monotonic() < until:
                time.sleep(0.001)
            counts.append(len(lines(tmp_path / "journal")) - 1)

    counts: list[int] = []
    running = Search(Beam(branching=4, max_depth=1), "", step=lambda state, action: Stepped(state + action))
    journal = Watched(tmp_path / "journal", HEADER)
    if driver == "asyncio":
        asyncio.run(adrive(running, prepare, journal=journal, observe=observe))
    else:
        drive(running, prepare, journal=journal, observe=observe)
    assert written == received
    assert len(written) == 5
    assert (threading.get_ident() in written.values()) == (driver == "asyncio")
    assert counts == [5]


def test_text_of_any_kind_comes_back(tmp_path: Path) -> None:
    """NUL, lone surrogates, line ends of all kinds, a megabyte: each is one line of ASCII."""
    actions = ("a\0b", "\ud800", "x\u2028y\x85\r\nz", "\x1b[2J", "e" * 10**6, '", "calls": [{', "\udcff\U0001f600")
    path, asked = tmp_path / "journal", []

    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        asked.append(request)
        return Proposed(actions) if isinstance(request, Propose) else Rated((1.0,))

    for _ in range(2):
        running, journal = (
            Search(Beam(branching=9, max_depth=1), "", step=lambda s, a: Stepped(a)),
            Journal(path, HEADER),
        )
        run(running, answer, journal=journal)
        journal.close()
        assert tuple(node.state for node in running.tree)[1:] == actions
    assert len(asked) == 8
    assert len(path.read_bytes().split(b"\n")) == 1 + 8 + 1
    assert path.read_bytes().isascii()


# ---- what is read


def test_a_torn_last_line_is_dropped_and_its_call_asked_again(tmp_path: Path) -> None:
    path, world = tmp_path / "journal", Letters({"": "ab", "a": "c"})
    whole = journaled(path, world)
    content = path.read_bytes()
    last = content.rstrip(b"\n").rfind(b"\n") + 1
    for cut in range(last, len(content)):  # every way to tear it
        path.write_bytes(content[:cut])
        world.asked.clear()
        assert shot(journaled(path, world)) == shot(whole)
        assert len(world.asked) == 1
        assert path.read_bytes() == content


def test_a_header_torn_by_a_crash_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_text('{"format": "thoughtr')
    journaled(path, Letters({"": "a"}))
    assert lines(path)[0] == {"format": "thoughtree.journal/3", **HEADER}


@pytest.mark.parametrize("line", ["{", "\0" * 40, "[1, 2]", "", "[" * 100_000, '{"sum": "00000000"}', "{}"])
def test_a_wrong_line_in_the_middle_is_an_error_that_names_it(tmp_path: Path, line: str) -> None:
    path = tmp_path / "journal"
    journaled(path, Letters({"": "ab"}))
    good = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*good[:2], line.encode() + b"\n", *good[2:]]))
    before = path.read_bytes()
    with pytest.raises(JournalError, match="line 3: it was changed, or lines before it are missing, doubled or moved"):
        Journal(path, HEADER)
    assert path.read_bytes() == before  # nothing was lost by looking


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"ask": ["propose", 0, 5, 0, 0]}', "not a reply of a search"),
        (
            '{"ask": ["guess", 0], "attempt": 0, "reply": ["unread", ""], "usage": [1, 0, 0, 0]}',
            "unknown request 'guess'",
        ),
        (
            '{"ask": ["step", 0], "attempt": 0, "reply": ["huh"], "usage": [1, 0, 0, 0]}',
            "unknown outcome 'huh'",
        ),
        (
            '{"ask": ["step", 0], "attempt": 0, "reply": ["unread"], "usage": [1, 0, 0, 0]}',
            "not a reply of a search",
        ),
        (
            '{"ask": ["rate", [1], 0, "rate"], "attempt": 0, "usage": [1, 0, 0, 0], '
            '"reply": ["rated", [NaN], null, 0]}',
            "NaN is no JSON number",
        ),
        ('{"ask": ["propose", [], 5, 0, 0], "attempt": 0, "code": true}', "[] is no count"),
        ('{"ask": ["propose", 0, 5, 0, 0], "attempt": 1e999, "code": true}', "inf is no count"),
        ('{"ask": ["step", 0], "attempt": 0, "reply": ["unread", ""], "usage": [-9, 0, 0, 0]}', "-9 is no count"),
        ('{"ask": ["step", 0], "attempt": 0, "reply": ["unread", ""], "usage": [1, 0, -9.5, 0]}', "-9.5 is no amount"),
        (
            '{"ask": ["rate", [1], 0, "rate"], "attempt": 0, "usage": [1, 0, 0, 0], "reply": ["rated", [1'
            + "0" * 400
            + "], null, 0]}",
            "too large",
        ),
    ],
)
def test_a_line_of_no_reply_is_an_error_that_names_it(tmp_path: Path, line: str, said: str) -> None:
    """As only a forger or a defect of ours writes it: with the right check."""
    path = tmp_path / "journal"
    journaled(path, Letters({"": "ab"}))
    path.write_bytes(sealed_lines(*map(json.dumps, lines(path)[:2]), line))
    before = path.read_bytes()
    with pytest.raises(JournalError, match="line 3: not a reply of a search") as caught:
        recorded(path)
    assert said in str(caught.value)
    assert path.read_bytes() == before


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_damage_is_read_as_another_run_or_crashes_it(tmp_path_factory: Any, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "journal"
    whole = shot(journaled(path, Letters({"": "ab", "a": "c"}, {"b": 9.0})))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at, size = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(0, 9))
        content[at : at + size] = data.draw(st.binary(max_size=9))
    path.write_bytes(content)
    with contextlib.suppress(JournalError):
        assert shot(journaled(path, Letters({"": "ab", "a": "c"}, {"b": 9.0}))) == whole


def test_an_outcome_that_does_not_answer_is_neither_written_nor_read(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path, HEADER)
    with pytest.raises(ProtocolError, match="does not answer Rate"):
        journal.write(Ask(0, Rate((1, 2))), Reply(Rated((1.0,))))
    journal.close()
    line = {
        "ask": ["rate", [1, 2], 0, "rate"],
        "attempt": 0,
        "reply": ["rated", [1.0], None, 0],
        "usage": [1, 0, 0, 0],
    }
    path.write_bytes(sealed_lines(*(json.dumps(line) for line in (*lines(path), line))))
    with pytest.raises(JournalError, match="line 2: not a reply of a search"):
        recorded(path)


def test_the_journal_of_another_search_is_refused_with_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    Journal(path, HEADER).close()
    other = {**HEADER, "controller": {"kind": "Beam", "width": 3}, "task": "sudoku"}
    with pytest.raises(JournalError) as caught:
        Journal(path, other)
    assert "belongs to another search" in str(caught.value)
    assert "controller: {'kind': 'Beam', 'width': 2} there, {'kind': 'Beam', 'width': 3} now" in str(caught.value)
    assert "task: None there, 'sudoku' now" in str(caught.value)
    assert "seed" not in str(caught.value)


def test_versions_may_differ(tmp_path: Path) -> None:
    Journal(tmp_path / "journal", HEADER).close()
    Journal(tmp_path / "journal", {**HEADER, "versions": {"thoughtree": "2"}, "written": "later"})


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text('{"format": "my.notes/3"}\n')
    with pytest.raises(JournalError, match=r"format: 'my.notes/3' there, 'thoughtree.journal/3' now"):
        Journal(path, HEADER)


def test_two_writers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    first = Journal(path, HEADER)
    with pytest.raises(JournalError, match="another run is writing to it"):
        Journal(path, HEADER)
    first.close()
    Journal(path, HEADER).close()


def test_a_closed_journal_is_free_while_a_line_is_still_being_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a cancelled search leaves it: what resumes at once is not refused."""
    path, forcing, forced = tmp_path / "journal", threading.Event(), threading.Event()
    first = Journal(path, HEADER, fsync=True)

    def fsync(file: int) -> None:
        forcing.set()
        forced.wait(30)

    monkeypatch.setattr("os.fsync", fsync)
    disk = threading.Thread(target=first.force)
    disk.start()
    try:
        assert forcing.wait(30)
        with pytest.raises(JournalError, match="another run is writing to it"):
            Journal(path, HEADER)
        first.close()
        Journal(path, HEADER).close()
    finally:
        forced.set()
        disk.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a fork of POSIX's")
def test_a_fork_that_closes_a_journal_does_not_free_it(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    held = Journal(path, HEADER)
    child = os.fork()
    if not child:
        held.close()
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(JournalError, match="another run is writing to it"):
        Journal(path, HEADER)
    held.close()


def test_a_writer_in_another_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    held = Journal(path, HEADER)
    script = f"from thoughtree.search import Journal\nJournal({str(path)!r}, {{}})"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert "JournalError" in ran.stderr
    assert "another run is writing to it" in ran.stderr
    held.close()


@pytest.mark.parametrize("order", ["fatal first", "fatal last"])
def test_what_ended_a_run_for_good_is_asked_again(tmp_path: Path, order: str) -> None:
    """A wrong key may be mended by then; what was paid for is not paid for again."""
    path, world = tmp_path / "journal", Letters({"": "ab", "a": "c", "b": "d"})

    def replies(request: Request, tree: Tree[Any, Any]) -> Outcome:
        return Failed("wrong key", fatal=True) if request == Rate((2,)) else world.answer(request, tree)

    running, journal = Search(Beam(max_depth=2), "", step=world.step), Journal(path, HEADER)
    asks = running.ask()
    while asks:
        for ask in reversed(asks) if order == "fatal first" else asks:  # the others are in flight by then
            reply = Reply(replies(ask.request, running.tree))
            journal.write(ask, reply)
            running.tell(ask.id, reply.outcome)
        asks = running.ask()
    journal.close()
    assert (running.ended, running.spent.calls) == (Ended.ERROR, 3)

    again = Search(Beam(max_depth=2), "", step=world.step)
    mended, paid = Letters({"": "ab", "a": "c", "b": "d"}), Journal(path, HEADER)
    result = run(again, mended.answer, journal=paid)
    paid.close()
    assert mended.asked[0] == "rate b"
    assert not {"propose ", "rate a"} & set(mended.asked)
    assert result.errors == {}
    whole = run(Search(Beam(max_depth=2), "", step=world.step), world.answer)
    assert [n.state for n in result.tree] == [n.state for n in whole.tree]
    third = run(Search(Beam(max_depth=2), "", step=world.step), broken, journal=Journal(path, HEADER))
    assert [n.state for n in third.tree] == [n.state for n in whole.tree]


def broken(request: Request, tree: Tree[Any, Any]) -> Outcome:
    raise AssertionError(f"{request} was on disk")


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "full").symlink_to("/dev/full")  # reads as zeros without end
    with pytest.raises(JournalError, match="not a regular file"):
        Journal(tmp_path / "full", HEADER)
    for name in ("a\0b", "long" * 100):
        with pytest.raises(JournalError, match="cannot be opened for writing"):
            Journal(tmp_path / name, HEADER)
    with pytest.raises(JournalError, match="cannot be opened for writing"):
        Journal(tmp_path, HEADER)


def test_folders_are_made(tmp_path: Path) -> None:
    Journal(tmp_path / "a" / "b" / "journal", HEADER).close()
    assert (tmp_path / "a" / "b" / "journal").exists()


def test_a_full_disk_ends_the_search_and_leaves_a_journal_that_can_be_resumed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    script = """
        import resource, signal, sys
        from thoughtree.search import *
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (700, resource.RLIM_INFINITY))
        told = []
        journal = Journal(sys.argv[1], {})
        replies = {Propose: Proposed(tuple("abcdefgh")), Rate: Rated((1.0,))}
        try:
            drive(
                Search(Beam(branching=8), "", step=lambda s, a: Stepped(s + a)),
                lambda ask, tree: lambda: Reply(replies[type(ask.request)]),
                concurrency=int(sys.argv[2]), journal=journal, observe=lambda e: told.append(e.ask.id),
            )
        except JournalError as error:
            print(len(told), error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        try:  # there is room again, but a torn line is in the way
            journal.write(Ask(0, Propose(9, 9)), Reply(Unread("more")))
        except JournalError as error:
            print("still", error)
        journal.close()
    """
    for concurrency in (1, 4):
        path.unlink(missing_ok=True)
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script), str(path), str(concurrency)],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        first, second = ran.stdout.splitlines()
        assert f"journal {path}: cannot be written: [Errno 27]" in first
        assert second.startswith("still")
        assert path.stat().st_size == 700
        whole = list(Journal(path, {}).recorded())
        assert len(whole) == 4  # the header, the proposal, three ratings, and a torn line that is dropped
        assert int(first.split()[0]) <= len(whole)  # nothing was told that is not on disk


# ---- resuming


def driven(
    driver: str, running: Search[Any, Any], world: Any, journal: Journal, crash_at: int | None, step: int
) -> int:
    """Run with a crash as the reply `crash_at` comes; the calls that were made."""
    made, lock = [0], threading.Lock()

    def gate() -> None:
        with lock:
            made[0] += 1
            if made[0] - 1 == crash_at:
                raise Crash

    def prepare(ask: Ask, tree: Tree[Any, Any]) -> Any:
        outcome = world.answer(ask.request, tree, ask.attempt)
        if step and isinstance(ask.request, Rate) and ask.request.nodes[0] % step == 0:
            return Reply(outcome, Usage(0), by_code=True)

        def call() -> Reply:
            gate()
            return Reply(outcome)

        async def later() -> Reply:
            await asyncio.sleep(0)
            return call()

        return later if driver == "asyncio" else call

    try:
        if driver == "asyncio":
            asyncio.run(adrive(running, prepare, concurrency=4, journal=journal))
        else:
            drive(running, prepare, concurrency=4 if driver == "threads" else 1, journal=journal)
    finally:
        journal.close()
    return made[0]


@pytest.mark.parametrize("driver", ["threads, one call", "threads", "asyncio"])
@pytest.mark.parametrize("by_code", [0, 2])
@pytest.mark.parametrize(
    ("controller", "at_once"),
    [(DFS(), 1), (Beam(width=2, branching=3), 1), (BestFirst(open=2), 1), (Climbers(count=6), 4)],
)
def test_a_run_crashed_at_any_reply_resumes_to_a_whole_run(
    tmp_path: Path, driver: str, by_code: int, controller: Any, at_once: int
) -> None:
    """With routines that run at once, node ids hang on the order of replies: the journal has that order."""

    def fresh() -> tuple[Search[Any, Any], Digits]:
        world = Digits(5, flaky=0.1, unread=0.1)
        return search(controller, world, closing=lambda best: True, at_once=at_once), world

    total, crash = 0, 0
    while True:
        path = tmp_path / f"{crash}"
        (first, world), crashed = fresh(), False
        try:
            total = driven(driver, first, world, Journal(path, HEADER), crash, by_code)
        except Crash:
            crashed = True
        paid = sum("usage" in line for line in lines(path)[1:])
        resumed, world = fresh()
        made = driven(driver, resumed, world, Journal(path, HEADER), None, by_code)
        assert resumed.done
        assert isinstance(resumed.closed, Answered | Failed | Unread)
        assert made + paid == resumed.spent.calls  # nothing on disk is paid for again
        # Told once more, from the disk alone, it is the same run.
        again, world = fresh()
        assert driven(driver, again, world, Journal(path, HEADER), None, by_code) == 0
        assert shot(again) == shot(resumed)
        if at_once == 1:
            plain, world = fresh()
            driven("threads, one call", plain, world, Journal(tmp_path / f"plain-{crash}", HEADER), None, by_code)
            assert shot(resumed)[0] == shot(plain)[0]
        if not crashed:
            break
        crash += 3
    assert total > 0


def test_a_run_that_crashed_in_its_closing_call_makes_that_call_again(tmp_path: Path) -> None:
    world = Letters({"": "ab"})

    def fresh() -> Search[Any, Any]:
        return Search(Beam(max_depth=1), "", step=world.step, closing=lambda best: True)

    def answer(request: Request, tree: Tree[Any, Any]) -> Any:
        if isinstance(request, Answer) and not again:
            raise Crash
        return world.answer(request, tree)

    again = False
    journal = Journal(tmp_path / "journal", HEADER)
    with pytest.raises(Crash):
        run(fresh(), answer, journal=journal)
    journal.close()
    again, journal = True, Journal(tmp_path / "journal", HEADER)
    world.asked.clear()
    result = run(fresh(), answer, journal=journal)
    assert (world.asked, result.answer, result.spent.calls) == (["answer a"], {"answer": "a"}, 4)


@pytest.mark.parametrize("controller", [DFS(), Beam(width=2, branching=3), BestFirst(open=2)])
def test_a_larger_budget_goes_on_and_its_closing_call_is_about_its_own_best_node(
    tmp_path: Path, controller: Any
) -> None:
    def fresh(calls: int) -> tuple[Search[Any, Any], Digits]:
        world = Digits(7, unread=0.2)
        return search(controller, world, calls=calls, closing=lambda best: True), world

    made = 0
    for calls in (3, 6, 11, 200):
        running, world = fresh(calls)
        made += driven("threads, one call", running, world, Journal(tmp_path / "journal", HEADER), None, 0)
        assert running.closed is not None
        assert running.spent.calls == made <= calls  # all that was paid, closing calls of earlier runs among it
        paid = driven("threads, one call", fresh(calls)[0], world, Journal(tmp_path / "journal", HEADER), None, 0)
        assert paid == 0
    whole, world = fresh(200)
    driven("threads, one call", whole, world, Journal(tmp_path / "other", HEADER), None, 0)
    assert str(list(running.tree)) == str(list(whole.tree))
    assert (running.best().id, running.closed) == (whole.best().id, whole.closed)
    written = [line["ask"] for line in lines(tmp_path / "journal")[1:]]
    assert sum(ask[0] != "answer" for ask in written) == whole.spent.calls - 1  # each other call was paid for once
    assert made == whole.spent.calls - 1 + len({tuple(ask) for ask in written if ask[0] == "answer"})


def test_where_a_larger_budget_goes_another_way_no_reply_is_given_to_another_node(tmp_path: Path) -> None:
    # With 8 calls the retry for "a" is not made: a has failed. With more it is, and a's children come first.
    world = Letters({"": "ab", "a": "c", "b": "d", "ac": "e", "bd": "f"}, {"a": 9.0, "ac": 2.0, "bd": 3.0})

    def go(path: Path, calls: int) -> Search[Any, Any]:
        running = Search(
            Beam(max_depth=3), "", step=world.step, transient=1, calls={Rate: 3}, budget=Budget(calls=calls)
        )

        def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
            busy = ask.request == Rate((1,)) and ask.attempt == 0
            failed = Failed("busy", transient=True, retry_after=0.0)
            return lambda: Reply(failed, Usage(3)) if busy else Reply(world.answer(ask.request, tree))

        journal = Journal(path, HEADER)
        drive(running, prepare, concurrency=1, journal=journal)
        journal.close()
        return running

    short = go(tmp_path / "journal", 8)
    assert (short.ended, short.tree[1].reason) == (Ended.CALLS, "busy")
    assert shot(go(tmp_path / "journal", 99)) == shot(go(tmp_path / "whole", 99))


def test_a_smaller_budget_reads_as_much_as_it_may_spend(tmp_path: Path) -> None:
    world = Letters({"": "abc", "a": "d", "b": "e", "c": "f"})
    journaled(tmp_path / "journal", world)
    world.asked.clear()
    small = journaled(tmp_path / "journal", world, budget=Budget(calls=3))
    assert (world.asked, small.spent.calls, small.ended) == ([], 3, Ended.CALLS)


def test_a_resumed_run_asks_again_what_a_purse_refused(tmp_path: Path) -> None:
    world = Letters({"": "ab"})
    journal = Journal(tmp_path / "journal", HEADER)

    def poor(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
        return lambda: Reply(Refused("cost")) if ask.id == 1 else Reply(world.answer(ask.request, tree))

    result = drive(Search(Beam(max_depth=1), "", step=world.step), poor, concurrency=1, journal=journal)
    journal.close()
    assert (result.ended, result.status) == (Ended.COST, SearchStatus.UNVERIFIED)
    world.asked.clear()
    resumed = Search(Beam(max_depth=1), "", step=world.step)
    run(resumed, world.answer, journal=Journal(tmp_path / "journal", HEADER))
    assert (world.asked, resumed.ended) == (["rate a"], Ended.SEARCHED_OUT)


def test_replies_of_code_are_marked_and_worked_out_again(tmp_path: Path) -> None:
    def fresh(world: Letters, journal: Journal) -> Any:
        def prepare(ask: Ask, tree: Tree[Any, Any]) -> Reply:
            outcome = world.answer(ask.request, tree)
            if isinstance(outcome, Proposed):  # legal moves, of a type that JSON has not
                return Reply(Proposed(tuple((a, 1) for a in outcome.actions)), Usage(0), by_code=True)
            return Reply(outcome)

        running = Search(Beam(max_depth=2), "", step=lambda state, move: world.step(state, move[0]))
        result = drive(running, prepare, journal=journal)
        journal.close()
        return result

    first, second = (Letters({"": "ab", "a": "c"}, {"a": 3.0}) for _ in range(2))
    result = fresh(first, Journal(tmp_path / "journal", HEADER))
    written = lines(tmp_path / "journal")
    assert written[1] == {"ask": ["propose", 0, 5, 0, 0], "attempt": 0, "about": 0, "code": True}
    again = fresh(second, Journal(tmp_path / "journal", HEADER))
    assert second.asked == ["propose ", "propose a", "propose b"]  # no rating
    assert [(n.action, n.state, n.value) for n in again.tree] == [(n.action, n.state, n.value) for n in result.tree]
    assert lines(tmp_path / "journal") == written


def test_usage_and_records_come_back(tmp_path: Path) -> None:
    record = {"model": "m", "text": "sure", "usage": {"total_tokens": 7}, "cost": 0.25}
    journal = Journal(tmp_path / "journal", HEADER)
    journal.write(Ask(0, Rate((1,)), attempt=2), Reply(Rated((20.0,), ("sure",)), Usage(1, 7, 0.25, 1.5), [record]))
    journal.close()
    ((request, attempt, _, reply),) = recorded(tmp_path / "journal")
    assert (request, attempt) == (Rate((1,)), 2)
    assert reply == Reply(Rated((20.0,), ("sure",)), Usage(1, 7, 0.25, 1.5), [record])


def test_a_replay_is_observed_like_a_run(tmp_path: Path) -> None:
    world, seen = Letters({"": "ab"}), []
    journaled(tmp_path / "journal", world)
    run(
        Search(Beam(max_depth=2), "", step=world.step),
        world.answer,
        journal=Journal(tmp_path / "journal", HEADER),
        observe=lambda event: seen.append(event.ask.request),
    )
    assert seen == [Propose(0, 5), Rate((1,)), Rate((2,)), Propose(1, 5), Propose(2, 5)]


@pytest.mark.parametrize("free", [(), (Propose,), (Step,), (Propose, Step)], ids=lambda kinds: str(len(kinds)))
@pytest.mark.parametrize(
    "controller",
    [MCTS(rollouts=8, branching=2, max_depth=3, at_once=3), BestFirst(open=3, branching=3), Beam(width=3, max_depth=2)],
    ids=lambda controller: type(controller).__name__,
)
def test_whatever_the_budgets_no_reply_is_given_to_another_node(tmp_path: Path, controller: Any, free: Any) -> None:
    """What costs nothing goes on where a budget has refused a retry, and another way where it has not."""

    def go(path: Path, seed: int, calls: int | None) -> Search[Any, Any]:
        world = Digits(seed, flaky=0.25)
        running = Search(
            controller,
            (),
            budget=Budget(calls=calls),
            calls=dict.fromkeys(free, 0),
            transient=1,
            root_key=(),
        )

        def prepare(ask: Ask, tree: Tree[Any, Any]) -> Callable[[], Reply]:
            usage = Usage(0) if type(ask.request) in free else Usage(1)
            reply = Reply(world.answer(ask.request, tree, ask.attempt), usage)
            return lambda: reply

        codec = Codec(load_state=tuple, key=lambda state: tuple(sorted(state)))
        journal = Journal(path, HEADER, codec=codec)
        drive(running, prepare, concurrency=4, journal=journal)
        journal.close()
        return running

    for seed in range(12):
        rng, path = random.Random(seed), tmp_path / f"{seed}"
        for calls in (*sorted(rng.randint(3, 40) for _ in range(3)), None):
            running, world = go(path, seed, calls), Digits(seed)
            for node in running.tree:
                actions = tuple(n.action for n in running.tree.path(node)[1:])
                assert node.state in (None, actions)
                worth = world.answer(Rate((node.id,)), running.tree).values[0]
                assert node.value in (None, worth)
        content = path.read_bytes()
        assert shot(go(path, seed, None)) == shot(running)
        assert path.read_bytes() == content


def test_a_long_replay_leaves_turns_to_others_on_the_loop(tmp_path: Path) -> None:
    def fresh() -> Search[Any, Any]:
        return Search(Beam(width=40, branching=5, max_depth=5), "", step=lambda state, action: Stepped(state + action))

    def answer(request: Request, tree: Tree[Any, Any]) -> Outcome:
        return Proposed(tuple("abcde")) if isinstance(request, Propose) else Rated((1.0,))

    journal = Journal(tmp_path / "journal", HEADER)
    replies = run(fresh(), answer, journal=journal).spent.calls
    journal.close()
    turns = [0]

    async def other() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    async def both() -> Any:
        beside = asyncio.create_task(other())
        found = await adrive(fresh(), broken, journal=Journal(tmp_path / "journal", HEADER))
        beside.cancel()
        return found

    assert asyncio.run(both()).spent.calls == replies
    assert replies == 6 * (1 + 5 + 25 + 40 + 40)
    assert turns[0] >= replies // 100
