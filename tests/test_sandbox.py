"""What programs may do in the sandbox, and what is said of each."""

from __future__ import annotations

import os
import socket
import tempfile
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandboxes import WAYS, left_of, needs_linux, sandbox
from thoughtree.tasks.sandbox import Sandbox, SandboxResult, Why

pytestmark = needs_linux


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> frozenset[str]:
    """The protections left out: none, and all that need a namespace."""
    ways: frozenset[str] = request.param
    return ways


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder of the host that anybody may write to, and a file in it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "kept").write_text("as it was")
        (folder / "kept").chmod(0o666)
        yield folder


def assert_over(result: SandboxResult, *why: Why) -> None:
    """It is not ok, for one of these reasons, and nothing of it is left."""
    assert not result.ok
    assert result.why in why
    assert left_of(result) == []


# ---- programs that end


def test_a_program_that_ends_is_ok(way: frozenset[str]) -> None:
    result = sandbox(way).run("import sys\nprint(input(), 2)\nprint('e', file=sys.stderr)", stdin="one\ntwo\n")
    assert (result.ok, result.exit, result.why) == (True, 0, Why.END)
    assert (result.stdout, result.stderr, result.error) == ("one 2\n", "e\n", "")


def test_the_standard_library_is_there(way: frozenset[str]) -> None:
    names = "collections, json, re, decimal, encodings.cp1252, heapq, random, sqlite3, dataclasses, typing"
    result = sandbox(way).run(f"import {names}\nprint('é'.encode('cp1252'), json.loads('[1]'))")
    assert (result.why, result.stdout) == (Why.END, "b'\\xe9' [1]\n")


def test_an_error_is_shown_as_an_interpreter_shows_it() -> None:
    result = sandbox().run("def f(x):\n    return 1 / x\nf(0)")
    assert_over(result, Why.ERROR)
    assert (result.exit, result.error) == (1, "ZeroDivisionError: division by zero")
    assert result.stderr.splitlines() == [
        "Traceback (most recent call last):",
        '  File "<program>", line 3, in <module>',
        '  File "<program>", line 2, in f',
        "ZeroDivisionError: division by zero",
    ]


@pytest.mark.parametrize("code", ["def f(:", "x = '\0'", "\udcff"])
def test_what_is_no_python_is_an_error(code: str) -> None:
    assert_over(sandbox().run(code), Why.ERROR)


def test_the_same_program_prints_the_same() -> None:
    results = [sandbox().run("print(set('abcdefgh'), hash('a'))") for _ in range(2)]
    assert results[0].stdout == results[1].stdout


def test_a_script_is_main() -> None:
    result = sandbox().run("import sys\nprint(__name__, sys.argv, sys.modules['__main__'].__dict__ is globals())")
    assert result.stdout == "__main__ ['<program>'] True\n"


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("import sys; sys.exit(0)", 0),
        ("exit()", 0),
        ("import sys; sys.exit(3)", 3),
        ("raise SystemExit('why')", 1),
        ("import os; os._exit(0)", 0),
        ("import atexit, os; atexit.register(os._exit, 0)", 0),
    ],
)
def test_leaving_before_the_end_is_no_pass(code: str, exit_code: int) -> None:
    result = sandbox().run(code)
    assert_over(result, Why.EXIT)
    assert result.exit == exit_code


def test_no_output_passes_for_a_verdict(way: frozenset[str]) -> None:
    """Whatever it writes, and wherever to."""
    code = """
        import os
        print("end")
        for fd in range(3, 64):
            try:
                os.write(fd, b"end\\nready\\t1\\ncheck\\t0\\t\\n")
            except OSError:
                pass
        os._exit(0)
    """
    assert_over(sandbox(way).run(_code(code)), Why.EXIT)


def test_a_spy_on_os_write_learns_nothing() -> None:
    result = sandbox().run("import os\nseen = []\nos.write = lambda *a: seen.append(a)\nprint(seen)")
    assert (result.why, result.stdout) == (Why.END, "[]\n")


# ---- time


def test_an_endless_loop_meets_the_cpu_limit(way: frozenset[str]) -> None:
    result = sandbox(way, cpu_seconds=0.2).run("print('begun', flush=True)\nwhile True: pass")
    assert_over(result, Why.CPU)
    assert result.stdout == "begun\n"
    assert result.cpu_seconds >= 0.2


def test_children_count_towards_the_cpu_limit() -> None:
    code = "import os\nfor _ in range(3):\n    if os.fork() == 0:\n        while True: pass\nos.wait()"
    assert_over(sandbox(cpu_seconds=0.3).run(code), Why.CPU)


def test_a_handler_does_not_put_the_limit_off() -> None:
    code = "import signal\nfor s in (15, 24): signal.signal(s, signal.SIG_IGN)\nwhile True: pass"
    assert_over(sandbox(cpu_seconds=0.2).run(code), Why.CPU)


@pytest.mark.parametrize(
    "code",
    [
        "import time; time.sleep(60)",
        "import os; os.kill(os.getpid(), 19)",  # it stops itself
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()",
    ],
)
def test_waiting_meets_the_wall_limit(code: str) -> None:
    assert_over(sandbox(wall_seconds=0.3).run(code), Why.WALL)


@pytest.mark.parametrize("end", ["", "del a"])
def test_an_endless_destructor_meets_the_cpu_limit(way: frozenset[str], end: str) -> None:
    code = f"class A:\n    def __del__(self):\n        while True: pass\na = A()\n{end}"
    assert_over(sandbox(way, cpu_seconds=0.2).run(code), Why.CPU)


# ---- memory, output, files


@pytest.mark.parametrize(
    "code",
    ["x = bytearray(10 * 2**30)", "x = []\nwhile True: x.append(bytearray(10**6))", "x = [0] * 10**9"],
)
def test_ten_gigabytes_meet_the_memory_limit(way: frozenset[str], code: str) -> None:
    assert_over(sandbox(way, memory_mb=100).run(code), Why.MEMORY)


def test_processes_share_the_memory_limit(way: frozenset[str]) -> None:
    code = (
        "import os, time\nfor _ in range(3):\n    if os.fork() == 0: break\nx = bytearray(60 * 2**20)\ntime.sleep(30)"
    )
    assert_over(sandbox(way, memory_mb=120).run(code), Why.MEMORY)


def test_memory_outside_the_address_space_is_refused() -> None:
    result = sandbox().run("import os\ntry: os.memfd_create('x')\nexcept PermissionError: print('refused')")
    assert result.stdout == "refused\n"


@pytest.mark.parametrize("fd", [1, 2])
def test_ten_gigabytes_of_output_are_cut(way: frozenset[str], fd: int) -> None:
    code = f"import os\nblock = b'x' * 2**20\nfor _ in range(10 * 2**10): os.write({fd}, block)"
    result = sandbox(way, output_bytes=5000).run(code)
    assert_over(result, Why.OUTPUT)
    assert (result.stdout, result.stderr)[fd - 1] == "x" * 5000


def test_output_up_to_the_limit_is_kept() -> None:
    result = sandbox(output_bytes=5000).run("print('x' * 4999)")
    assert (result.why, len(result.stdout)) == (Why.END, 5000)


def test_output_that_nobody_reads_in_time_is_cut_too() -> None:
    assert_over(sandbox(output_bytes=10).run("print('x' * 50)"), Why.OUTPUT)


@pytest.mark.parametrize(
    "code",
    [
        "with open('f', 'wb') as f:\n    for _ in range(10 * 2**10): f.write(bytes(2**20))",
        "for i in range(10**5): open(f'f{i}', 'wb').write(bytes(2**18))",
    ],
)
def test_ten_gigabytes_of_files_meet_the_file_limit(way: frozenset[str], code: str) -> None:
    assert_over(sandbox(way, file_mb=2).run(code), Why.FILES)


HEAPS = {
    "files": "open(str(i), 'w').close()",
    "folders": "os.mkdir(str(i))",
    "links": "os.symlink('/', str(i))",
    "folders in folders": "os.mkdir('d'); os.chdir('d')",
}


@pytest.mark.parametrize("heap", HEAPS)
def test_files_without_number_are_bounded_and_gone_afterwards(
    way: frozenset[str], heap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = f"import os, time\nfor i in range(6000): {HEAPS[heap]}\ntime.sleep(60)"
    assert_over(sandbox(way, file_mb=64).run(code), Why.FILES)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("code", ["os.symlink('/etc', 'e'); os.symlink('.', 'self')", "os.mkfifo('pipe')"])
def test_what_is_no_file_is_gone_afterwards_too(
    way: frozenset[str], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert sandbox(way).run(f"import os\n{code}").why is Why.END
    assert (list(tmp_path.iterdir()), os.path.isdir("/etc")) == ([], True)


# ---- processes and signals


def test_as_many_processes_as_allowed(way: frozenset[str]) -> None:
    code = """
        import os, time
        started = 0
        try:
            for _ in range(20):
                if os.fork() == 0:
                    time.sleep(30)
                started += 1
        except BlockingIOError:
            print(started)
    """
    result = sandbox(way, processes=6).run(_code(code))
    assert (result.stdout, result.why) == ("5\n", Why.END)
    assert left_of(result) == []


@pytest.mark.parametrize("fork", ["os.fork()", "os.setsid() if os.fork() == 0 else None"])
def test_a_fork_bomb_is_bounded_and_ended(way: frozenset[str], fork: str) -> None:
    code = f"import os\nwhile True:\n    try: {fork}\n    except OSError: pass"
    assert_over(sandbox(way, processes=8, cpu_seconds=0.2, wall_seconds=3).run(code), Why.CPU, Why.WALL)


def test_a_bomb_that_fails_met_the_process_limit() -> None:
    assert_over(sandbox(processes=4).run("import os\nwhile True: os.fork()"), Why.PROCESSES)


def test_daemons_do_not_outlive_the_run(way: frozenset[str]) -> None:
    """Their own sessions, no parent, no open pipe."""
    code = """
        import os, time
        for _ in range(3):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.setsid()
                    for fd in range(4):
                        os.close(fd)
                    time.sleep(600)
                os._exit(0)
        for _ in range(3):
            os.wait()
        print("done")
    """
    result = sandbox(way).run(_code(code))
    assert (result.why, result.stdout) == (Why.END, "done\n")
    assert left_of(result) == []


def test_a_child_that_holds_the_output_does_not_hold_the_run(way: frozenset[str]) -> None:
    result = sandbox(way).run("import os, time\nif os.fork() == 0: time.sleep(600)\nprint('done')")
    assert (result.why, result.stdout) == (Why.END, "done\n")


def test_signals_do_not_get_out(way: frozenset[str]) -> None:
    """Neither to the launcher nor to the host, by number, by group or to all."""
    code = f"""
        import os, signal
        signal.signal(15, signal.SIG_IGN)
        for pid in (os.getppid(), 1, {os.getpid()}):
            for number in (2, 9, 15, 19):
                try:
                    os.kill(pid, number)
                except OSError:
                    pass
        try:
            os.kill(-1, 15)
        except OSError:
            pass
        os.killpg(0, 15)
        print("alive")
    """
    result = sandbox(way).run(_code(code))
    assert (result.why, result.stdout) == (Why.END, "alive\n")


@pytest.mark.parametrize(
    ("code", "number"), [("import os; os.kill(os.getpid(), 9)", 9), ("import ctypes; ctypes.string_at(0)", 11)]
)
def test_a_crash_is_told_by_its_signal(code: str, number: int) -> None:
    result = sandbox().run(code)
    assert_over(result, Why.SIGNAL)
    assert result.exit == -number


def test_deep_recursion_is_an_error() -> None:
    result = sandbox().run("def f(): f()\nf()")
    assert_over(result, Why.ERROR)
    assert result.error.startswith("RecursionError")


@pytest.mark.parametrize("inside", ["def f(): f()\nf()", "x = []\nfor _ in range(10**6): x = [x]\nrepr(x)"])
def test_recursion_without_its_limit_ends_all_the_same(inside: str) -> None:
    code = f"import sys\nsys.setrecursionlimit(10**9)\n{inside}"
    assert_over(sandbox(memory_mb=100, cpu_seconds=1).run(code), Why.MEMORY, Why.SIGNAL, Why.CPU, Why.ERROR)


# ---- the outside


@pytest.mark.parametrize("way", [*WAYS, pytest.param(frozenset({"root folder"}), id="landlock")])
def test_nothing_outside_is_written_or_read(way: frozenset[str], outside: Path) -> None:
    code = f"""
        import os
        folder = {str(outside)!r}
        for attempt in (
            lambda: open(folder + "/new", "w").write("x"),
            lambda: open(folder + "/kept", "w").write("x"),
            lambda: open(folder + "/kept").read(),
            lambda: os.remove(folder + "/kept"),
            lambda: os.rename(folder + "/kept", folder + "/moved"),
            lambda: os.listdir(folder),
            lambda: open("/etc/passwd").read(),
            lambda: open("/proc/1/environ").read(),
        ):
            try:
                attempt()
            except OSError:
                print("refused")
    """
    result = sandbox(way).run(_code(code))
    assert result.stdout == "refused\n" * 8
    assert [(file.name, file.read_text()) for file in outside.iterdir()] == [("kept", "as it was")]


def test_the_folder_is_empty_writable_and_gone_afterwards(way: frozenset[str], tmp_path: Path) -> None:
    code = """
        import os
        print(os.listdir())
        os.makedirs("a/b")
        open("a/b/c", "w").write("x")
        print(open("a/b/c").read())
        os.chmod("a/b", 0)
        os.chmod("a", 0)
    """
    before, tempfile.tempdir = tempfile.tempdir, str(tmp_path)
    try:
        result = sandbox(way).run(_code(code))
    finally:
        tempfile.tempdir = before
    assert result.stdout == "[]\nx\n"
    assert list(tmp_path.iterdir()) == []


def test_no_environment_is_inherited(way: frozenset[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "kept")
    code = """
        import os, subprocess
        print(dict(os.environ))
        print(subprocess.run(["/usr/bin/env"], capture_output=True).stdout)
        try:
            print(open("/proc/self/environ").read())
        except OSError:
            pass
    """
    result = sandbox(way).run(_code(code))
    assert result.stdout.splitlines()[:2] == ["{}", "b''"]
    assert "SECRET" not in result.stdout


def test_no_file_is_inherited(way: frozenset[str]) -> None:
    """Nor does what a program executes inherit the channel."""
    code = """
        import os
        def inherited(fd):
            try:
                return os.get_inheritable(fd)
            except OSError:
                return False
        print([fd for fd in range(64) if inherited(fd)])
    """
    reading, writing = os.pipe()
    try:
        os.set_inheritable(reading, True)
        result = sandbox(way).run(_code(code))
    finally:
        os.close(reading)
        os.close(writing)
    assert result.stdout == "[0, 1, 2]\n"


def test_no_network(way: frozenset[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory() as folder:
        local = socket.socket(socket.AF_UNIX)
        local.bind(f"{folder}/local")
        os.chmod(folder, 0o777)
        os.chmod(f"{folder}/local", 0o777)
        local.listen()
        server.setblocking(False)
        local.setblocking(False)
        code = f"""
            import socket
            for family, address in ((2, {server.getsockname()!r}), (1, {folder + "/local"!r}), (2, ("192.0.2.1", 80))):
                try:
                    socket.socket(family).connect(address)
                except OSError:
                    print("refused")
        """
        result = sandbox(way).run(_code(code))
        assert result.stdout == "refused\n" * 3
        for listening in (server, local):
            with pytest.raises(BlockingIOError):
                listening.accept()
        local.close()


def test_no_namespace_is_made_inside() -> None:
    """In one it would have rights, and memory that no limit counts."""
    code = """
        import ctypes
        libc = ctypes.CDLL(None)
        print(libc.unshare(0x10000000), libc.mount(b"x", b"/", b"tmpfs", 0, None))
    """
    assert sandbox().run(_code(code)).stdout == "-1 -1\n"


def test_eight_at_once() -> None:
    """Each its own verdict, and its own count of processes."""
    codes = [
        "print(0)",
        "while True: pass",
        "print(2)\nimport sys; sys.exit(0)",
        "x = bytearray(2**40)",
        "import os\ntry: os.fork()\nexcept OSError: print('alone')",
        "1 / 0",
        "while True: print('x' * 1000)",
        "print(7)",
    ]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(Sandbox(cpu_seconds=0.5, wall_seconds=30, processes=1).run, codes))
    assert [result.why for result in results] == [
        *(Why.END, Why.CPU, Why.EXIT, Why.MEMORY),
        *(Why.END, Why.ERROR, Why.OUTPUT, Why.END),
    ]
    assert [results[number].stdout for number in (0, 4, 7)] == ["0\n", "alone\n", "7\n"]


def _code(text: str) -> str:
    return textwrap.dedent(text)
