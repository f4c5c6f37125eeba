"""A recording's file: shared by threads and processes, killed at any moment, damaged, full, or no recording at all."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from dspy.clients.call_result import CACHE_FORMAT

from engines import Engine, lm
from patience import PATIENCE, until
from thoughtree import Recording, RecordLM, ReplayLM
from thoughtree.modules.recording import RecordingError
from thoughtree.modules.recording.asked import Asked
from thoughtree.modules.recording.line import header
from thoughtree.search.chain import sealed

TESTS = Path(__file__).parent
POSIX = pytest.mark.skipif(os.name != "posix", reason="locks, pipes and signals of POSIX")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.jsonl"


def model(path: Any, **settings: Any) -> Any:
    return RecordLM(lm(Engine(lambda kind, inputs, n: f"reply {n}")), path, **settings)


def recorded(path: Path, questions: int = 3) -> list[bytes]:
    """The lines of a recording: a header, an LM, and as many replies."""
    record = model(path)
    for i in range(questions):
        record(f"question {i}")
    return path.read_bytes().splitlines(keepends=True)


def worker(script: str, *arguments: Any) -> subprocess.Popen[str]:
    """Another process, which has `model`, `path` and `arguments`; it prints "ready" once it has imported all."""
    before = """
        import sys, time, warnings
        warnings.simplefilter("ignore")
        from pathlib import Path
        from test_recording_file import model
        path, arguments = Path(sys.argv[1]), sys.argv[2:]
        print("ready", flush=True)
        sys.stdin.readline()
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(before) + textwrap.dedent(script), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )


def start(workers: list[subprocess.Popen[str]]) -> None:
    """All at once."""
    for process in workers:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in workers:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


# ---- shared


def test_a_line_is_on_disk_before_the_program_has_its_reply(path: Path):
    record = model(path)
    for n in range(1, 4):
        record(f"question {n}")
        assert path.read_bytes().count(b'{"key": "') == n


def test_threads_write_whole_lines_and_lose_none(tmp_path: Path, request: pytest.FixtureRequest):
    request.addfinalizer(partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1e-6)  # threads meet wherever they can
    for run in range(3):  # each looks for what it asks while the others write
        path = tmp_path / f"{run}.jsonl"
        record = model(path)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i, record=record: record(f"question {i % 50}"), range(100)))
        again = Recording(path, create=False)
        assert (len(again), len(again.lms), len(record.recording.lms)) == (50, 1, 1)
        assert path.read_bytes().count(b"\n") == 2 + 50
        assert (record.paid.calls, record.hits.calls) == (50, 50)


def test_who_looks_between_a_write_and_its_end_takes_nothing_twice(path: Path, monkeypatch: pytest.MonkeyPatch):
    record = model(path)
    write, lookers = os.write, list[threading.Thread]()

    def write_and_be_overtaken(file: int, content: Any) -> int:
        written = write(file, content)
        looker = threading.Thread(target=lambda: record.recording.find("0" * 64, look=True))
        looker.start()
        looker.join(0.1)
        lookers.append(looker)
        return written

    monkeypatch.setattr(os, "write", write_and_be_overtaken)
    for i in range(3):
        record(f"question {i}")
    for looker in lookers:
        looker.join(PATIENCE)
    assert len(record.recording.lms) == 1
    assert len(Recording(path, create=False)) == 3


@POSIX
def test_four_processes_share_a_file(path: Path):
    script = """
        record = model(path)
        mine, said = int(arguments[0]), {}
        for i in range(60):  # of each three, one is asked by all
            question = f"question {i}" if i % 3 == 0 else f"question {i} of {mine}"
            said[question] = record(question)[0] + f" of {mine}"
            time.sleep(0.001)
        again = {question: record(question)[0] for question in said}
        print(record.paid.calls, record.hits.calls, len(again), flush=True)
    """
    workers = [worker(script, path, i) for i in range(4)]
    start(workers)
    told = [tuple(map(int, process.communicate(timeout=60)[0].split())) for process in workers]
    shared, own = 20, 40
    assert len(Recording(path, create=False)) == shared + 4 * own
    assert path.read_bytes().count(b'{"key": "') == shared + 4 * own
    assert [paid + hits for paid, hits, _ in told] == [120] * 4
    assert 4 * own + shared <= sum(paid for paid, _, _ in told) <= 4 * (own + shared)


@POSIX
def test_of_two_processes_that_pay_for_one_request_both_go_on_from_the_first_reply(path: Path):
    script = """
        from engines import Engine, lm
        from patience import until
        from thoughtree import RecordLM

        def reply(kind, inputs, n):  # the first as both have asked, the second as that one is on disk
            path.with_name(arguments[0]).touch()
            if arguments[0] == "first":
                until(path.with_name("second").exists)
            else:
                until(lambda: path.exists() and b"from first" in path.read_bytes())
            return f"from {arguments[0]}"

        record = RecordLM(lm(Engine(reply)), path)
        print(record("hi")[0], record.paid.calls, record.hits.calls, flush=True)
    """
    workers = [worker(script, path, name) for name in ("first", "second")]
    start(workers)
    assert [process.communicate(timeout=100)[0].split() for process in workers] == [["from", "first", "1", "0"]] * 2
    assert ReplayLM(path)("hi") == ["from first"]


@POSIX
def test_what_was_on_disk_when_a_process_was_killed_is_not_paid_again(path: Path):
    script = """
        record = model(path)
        for i in range(100_000):
            record(f"question {i}" + " and more" * 2000)  # 18 kB a line
    """
    lines = 0
    for delay in (0.0, 0.05, 0.1):
        before = path.stat().st_size if path.exists() else 0
        process = worker(script, path)
        start([process])
        until(lambda before=before: path.exists() and path.stat().st_size > before + 50_000)  # two lines, at the least
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        found = Recording(path, create=False)
        assert len(found) > lines
        lines = len(found)
        record = model(path)
        for i in range(lines):
            record(f"question {i}" + " and more" * 2000)
        assert (record.paid.calls, record.hits.calls) == (0, lines)
        del found, record
    assert path.read_bytes().count(b'{"key": "') == lines


@POSIX
def test_a_forked_child_records_beside_calls_in_flight(path: Path):
    parent, begun = os.getpid(), path.with_name("begun")

    def reply(kind: Any, inputs: dict[str, str], n: int) -> str:
        """The parent's, as the child asks too; the child's, as that one is on disk."""
        if os.getpid() == parent:
            until(begun.exists)
        else:
            begun.touch()
            until(lambda: path.exists() and b"reply 1" in path.read_bytes())
        return f"reply {n}"

    engine = Engine(reply)
    record = RecordLM(lm(engine), path)
    thread = threading.Thread(target=lambda: record("hi"))
    thread.start()
    until(lambda: engine.now)
    child = os.fork()
    if child == 0:
        try:
            # It makes its call itself, and the parent's reply is there first.
            os._exit(0 if record("hi") == ["reply 1"] and record.paid.calls == 1 else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    thread.join(PATIENCE)
    assert len(Recording(path, create=False)) == 1


def test_a_pickled_recording_is_the_file(path: Path):
    recorded(path)
    again = pickle.loads(pickle.dumps(Recording.at(path)))
    assert (again.path, len(again)) == (path, 3)
    with pytest.raises(RecordingError, match="in memory cannot be pickled"):
        pickle.dumps(Recording())


def test_one_path_is_one_recording_in_a_process(path: Path):
    one = model(path)
    two = model(path.parent / "." / path.name)
    assert one.recording is two.recording
    assert Recording(path) is not one.recording


def test_recordings_can_be_joined_end_to_end(path: Path):
    other = path.with_name("other.jsonl")
    recorded(path, 2)
    model(other)("another")
    path.write_bytes(path.read_bytes() + other.read_bytes())
    replay = ReplayLM(path)
    assert [replay("question 1"), replay("another")] == [["reply 2"], ["reply 1"]]
    assert len(replay.recording) == 3


# ---- torn and damaged


@pytest.mark.parametrize("left", [1, 40, -1])
def test_a_torn_last_line_is_passed_over_and_cut_by_the_next_writer(left: int, path: Path):
    *whole, last = recorded(path)
    path.write_bytes(b"".join(whole) + last[:left])
    replay = ReplayLM(Recording(path, create=False))
    assert len(replay.recording) == 2
    assert path.read_bytes() == b"".join(whole) + last[:left]  # who reads changes nothing
    record = RecordLM(lm(Engine(lambda kind, inputs, n: "new")), Recording(path))
    assert [record("question 1"), record("question 2"), record("question 9")] == [["reply 2"], ["new"], ["new"]]
    assert path.read_bytes().startswith(b"".join(whole))
    assert replay("question 9") == ["new"]
    assert len(Recording(path, create=False)) == 4


@pytest.mark.parametrize("left", [0, 1, 20, -1])
def test_a_torn_header_begins_anew(left: int, path: Path):
    path.write_bytes((header() + b"\n")[:left])
    with pytest.raises(RecordingError, match="is empty"):
        ReplayLM(path)
    assert model(path)("hi") == ["reply 1"]
    assert len(Recording(path, create=False)) == 1


def flipped(line: bytes) -> bytes:
    return line.replace(b"reply", b"Reply", 1)


def cut(line: bytes) -> bytes:
    return line[:100] + b"\n"


def glued(line: bytes) -> bytes:
    return line[:-1] + line


def binary(line: bytes) -> bytes:
    return b"\x00\xff" * 50 + b"\n"


def blank(line: bytes) -> bytes:
    return b"\n"


def of_another(line: bytes) -> bytes:
    return b'{"event": "step"}\n'


@pytest.mark.parametrize("damage", [flipped, cut, glued, binary, blank, of_another])
def test_a_damaged_line_is_named(damage: Any, path: Path):
    lines = recorded(path)
    lines[3] = damage(lines[3])
    path.write_bytes(b"".join(lines))
    for opening in (lambda: ReplayLM(path), lambda: model(path), lambda: Recording(path)):
        with pytest.raises(RecordingError, match=rf"recording {path}, line 4: it was changed or damaged"):
            opening()
    assert path.read_bytes() == b"".join(lines)


def test_damage_that_comes_while_it_is_open_is_named_each_time(path: Path):
    recorded(path)
    replay = ReplayLM(path)
    with path.open("ab") as file:
        file.write(b"not ours\n")
    for _ in range(2):
        with pytest.raises(RecordingError, match="line 6: it was changed or damaged"):
            replay("question 9")
    assert replay("question 1") == ["reply 2"]
    with pytest.raises(RecordingError, match="line 6"):
        model(path)("question 9")


def sealed_line(value: Any) -> bytes:
    """A line whose check is right, as whoever forges a file can make it."""
    return sealed(json.dumps(value).encode(), 0)[0] + b"\n"


GOOD: dict[str, Any] = {"key": "0" * 64, "asked": {"request": {}}, "result": {}}


def served(recording: Recording, key: str) -> Any:
    return ReplayLM(recording).served(Asked(key, {"n": 1}), recording.find(key) or {}, cache_hit=False)


@pytest.mark.parametrize(
    "value",
    [
        GOOD,
        GOOD | {"result": []},
        GOOD | {"result": {"_dspy_format": "dspy-lm15-result-v9"}},
        GOOD | {"result": {"_dspy_format": CACHE_FORMAT}},
        GOOD | {"result": {"_dspy_format": CACHE_FORMAT, "responses": [{"model": 3}], "outputs": 1, "cost": "x"}},
        GOOD | {"asked": None},
        GOOD | {"asked": {"request": {"messages": 3}}},
        GOOD | {"asked": {"request": {"messages": [3]}}},
        GOOD | {"asked": {"request": {"config": 3}}},
        GOOD | {"key": "z" * 64},
        GOOD | {"key": 3},
        {"lm": {"model": "a/b"}},
        {"lm": []},
        {"other": 1},
    ],
    ids=str,
)
def test_a_forged_line_is_an_error_that_names_it(value: dict[str, Any], path: Path):
    path.write_bytes(b"".join(recorded(path)) + sealed_line(value))
    with pytest.raises(RecordingError, match=r"line 6: "):
        served(Recording(path, create=False), "0" * 64)


def test_any_damage_is_an_error_or_a_shorter_recording(path: Path):
    lines = recorded(path, 4)
    replies = {reply["key"]: reply["result"] for reply in map(json.loads, lines[2:])}
    draw = random.Random(11)
    opened = 0
    for _ in range(300):
        content = bytearray(b"".join(lines))
        for _ in range(draw.randint(1, 3)):
            start = draw.randrange(len(content))
            how = draw.randrange(3)
            if how == 0:
                content[start] = draw.randrange(256)
            elif how == 1:
                del content[start : start + draw.randint(1, 900)]
            else:
                content[start:start] = draw.randbytes(draw.randint(1, 9))
        path.write_bytes(content)
        try:
            found = Recording(path, create=False)
        except RecordingError:
            continue
        opened += 1
        for key, result in replies.items():
            assert found.find(key) in (None, result)
    assert opened > 0  # where nothing but the end of the last line was hit


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"format": "thoughtree.recording/9", "written": {}}\n', "holds 'thoughtree.recording/9', and this version"),
        (b'{"format": "thoughtree.journal/2", "seed": 0}\n{}\n', "holds 'thoughtree.journal/2', and this version"),
        (b"a,b\n1,2\n", "is no recording, which begins with a header"),
        (b"a note without an end", "is no recording"),
        (b"[" * 100_000 + b"\n", "is no recording"),
        (b"\n", "is no recording"),
        (header().replace(b"dspy", b"DSPy") + b"\n", "the header was changed or damaged"),
    ],
)
def test_a_file_of_another_kind_is_refused_and_left_alone(content: bytes, problem: str, path: Path):
    path.write_bytes(content)
    for opening in (lambda: ReplayLM(path), lambda: model(path)):
        with pytest.raises(RecordingError, match=rf"line 1: (it )?{problem}"):
            opening()
    assert path.read_bytes() == content


# ---- no file


def test_a_recording_that_is_not_there(path: Path):
    with pytest.raises(RecordingError, match=r"no such file; make one with RecordLM\(lm, '.*replies.jsonl'\)"):
        ReplayLM(path)
    assert not path.exists()
    deep = path.parent / "a" / "b" / "replies.jsonl"
    assert model(deep)("hi") == ["reply 1"]
    with pytest.raises(RecordingError, match="give the path of a recording"):
        ReplayLM(None)  # type: ignore[arg-type]


@POSIX
def test_a_place_that_is_no_file(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("x")
    for name, problem in [
        ("", "Is a directory|not a regular file"),
        ("pipe", "not a regular file"),
        ("file/x", "cannot"),
    ]:
        for opening in (ReplayLM, model):
            with pytest.raises(RecordingError, match=problem):
                opening(tmp_path / name)
    for opening in (ReplayLM, model):
        with pytest.raises(RecordingError, match="null"):
            opening("a\0b")


@POSIX
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_recording_that_may_not_be_written_is_replayed(path: Path):
    recorded(path)
    path.chmod(0o400)
    assert ReplayLM(path)("question 1") == ["reply 2"]
    with pytest.raises(RecordingError, match="cannot be opened for reading and writing"):
        RecordLM(lm(Engine(lambda kind, inputs, n: "x")), Recording(path))


@POSIX
def test_a_full_disk_is_an_error_and_leaves_whole_lines(path: Path):
    recorded(path)
    script = """
        import resource
        record = model(path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, resource.RLIM_INFINITY))
        for question in ("a", "b"):
            try:
                record(question)
            except Exception as error:
                print(type(error).__name__, error, flush=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(record("b"), flush=True)
    """
    before = path.read_bytes()
    process = worker(script, path)
    start([process])
    told = process.communicate(timeout=60)[0].splitlines()
    assert told[0].startswith("RecordingError")
    assert f"recording {path}: cannot be written: [Errno 27]" in told[0]
    assert told[1].startswith("RecordingError")
    assert told[2] == "['reply 3']"
    assert path.read_bytes().startswith(before)
    assert len(Recording(path, create=False)) == 4


def test_a_file_that_is_replaced_while_it_is_in_use_is_noticed(path: Path):
    record = model(path)
    record("hi")
    path.unlink()
    with pytest.raises(RecordingError, match="cannot be written"):
        record("ho")
    recorded(path)
    with pytest.raises(RecordingError, match="another file has taken its place"):
        record("ho")
    assert record("hi") == ["reply 1"]
    path.write_bytes(b"")


def test_a_file_that_is_cut_while_it_is_in_use_is_noticed(path: Path):
    lines = recorded(path)
    replay = ReplayLM(path)
    os.truncate(path, len(lines[0]))
    with pytest.raises(RecordingError, match="another program has cut it"):
        replay("question 9")
