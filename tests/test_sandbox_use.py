"""How the sandbox is used: its knobs, its checks, what it says of itself, and how it ends whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from dspy.primitives.code_interpreter import CodeInterpreter

from sandboxes import WAYS, needs_linux, sandbox
from thoughtree.search.environment import EnvironmentFault
from thoughtree.tasks.sandbox import (
    Check,
    Checked,
    Isolation,
    Sandbox,
    SandboxError,
    SandboxInterpreter,
    SandboxUnavailable,
    Why,
)
from thoughtree.tasks.sandbox.result import NOT_REACHED

PROTECTIONS = {"user", "processes", "network", "files", "calls"}
BASE = Path(getattr(sys, "_base_executable", sys.executable)).resolve()


# ---- knobs


@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        ({"cpu_seconds": 0}, r"cpu_seconds=0\)"),
        ({"wall_seconds": float("inf")}, r"wall_seconds=inf\)"),
        ({"wall_seconds": True}, r"wall_seconds=True\)"),
        ({"memory_mb": 63}, r"memory_mb=63\): must be a whole number, at least 64"),
        ({"memory_mb": 100.0}, r"memory_mb=100.0\)"),
        ({"output_bytes": -1}, r"output_bytes=-1\)"),
        ({"file_mb": 0}, r"file_mb=0\)"),
        ({"processes": 0}, r"processes=0\)"),
        ({"paths": ("lib",)}, r"paths=\('lib',\)\): must be a tuple of absolute paths"),
        ({"paths": "/lib"}, r"paths='/lib'\)"),
        ({"without": {"walls"}}, r"without=\{'walls'\}\): must be a set of some of these: filter"),
    ],
)
def test_a_bad_knob_is_named(knobs: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Sandbox(**knobs)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Sandbox.run\(code=...\): must be text, not bytes"):
        Sandbox().run(b"pass")  # type: ignore[arg-type]


@needs_linux
def test_the_least_of_everything_is_enough_for_a_program() -> None:
    least = Sandbox(memory_mb=64, output_bytes=0, file_mb=1, processes=1)
    assert least.run("import json").why is Why.END


@needs_linux
@pytest.mark.parametrize("without", WAYS)
def test_the_hosts_umask_closes_nothing_to_a_program(without: frozenset[str]) -> None:
    """Of root's own umask, where it is a careful one, the program is "others"."""
    before = os.umask(0o077)
    try:
        result = sandbox(without).run("import os, typing\nopen('f', 'w').close()\nprint(oct(os.stat('f').st_mode))")
    finally:
        os.umask(before)
    assert (result.why, result.stdout) == (Why.END, "0o100644\n")


@needs_linux
@pytest.mark.parametrize("without", WAYS)
def test_a_folder_of_modules_can_be_given(without: frozenset[str], tmp_path: Path) -> None:
    (tmp_path / "mine_alone.py").write_text("VALUE = 7\n")
    (tmp_path / "mine_alone.py").chmod(0o644)
    tmp_path.chmod(0o755)
    assert sandbox(without).run("import mine_alone").why is Why.ERROR
    result = sandbox(without, paths=(str(tmp_path),)).run("import mine_alone\nprint(mine_alone.VALUE)")
    assert result.stdout == "7\n"


# ---- checks


@needs_linux
def test_checks_run_in_the_programs_names_one_after_another() -> None:
    checks = [
        Check("assert double(2) == 4"),
        Check("seen = double(3)"),
        Check("assert seen == 7, 'seen is %d' % seen"),
        Check("double(1)", want="2"),
        Check("double(1)", want="3"),
        Check("print(double(1)); double('a')", want="2\n'aa'"),
        Check("{double(1), 5}", want="{5, 2}"),
        Check("double()", want="Traceback (most recent call last):\n  ...\nTypeError: ..."),
        Check("double(None)"),
        Check("import sys; sys.exit(0)"),
        Check("assert False"),
    ]
    result = sandbox().run("def double(x):\n    return x * 2", checks=checks)
    assert result.ok
    failure = "TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'"
    assert list(result.checks) == [
        Checked(True),
        Checked(True),
        Checked(False, "seen is 6"),
        Checked(True),
        Checked(False, "expected 3, got 2"),
        Checked(True),
        Checked(True),
        Checked(True),
        Checked(False, failure),
        Checked(False, "SystemExit: 0"),
        Checked(False, "does not hold"),
    ]


@needs_linux
@pytest.mark.parametrize(("code", "why"), [("while True: pass", Why.CPU), ("import os; os._exit(0)", Why.EXIT)])
def test_the_check_that_ends_the_run_fails_and_those_after_it(code: str, why: Why) -> None:
    result = sandbox(cpu_seconds=0.2).run("x = 1", checks=[Check("assert x"), Check(code), Check("assert x")])
    assert (result.ok, result.why) == (False, why)
    assert result.checks == (Checked(True), Checked(False, f"ended: {why}"), Checked(False, NOT_REACHED))


@needs_linux
def test_a_program_that_fails_reaches_no_check() -> None:
    result = sandbox().run("1 / 0", checks=[Check("pass")])
    assert (result.why, result.checks) == (Why.ERROR, (Checked(False, NOT_REACHED),))


@needs_linux
def test_setup_runs_before_a_program_that_keeps_its_own_lines() -> None:
    program = "from __future__ import annotations\ndef f(x: List[int]) -> None: ...\nprint(List)\nraise KeyError(1)"
    result = sandbox().run(program, setup="from typing import List")
    assert result.stdout == "typing.List\n"
    assert '"<program>", line 4' in result.stderr


# ---- what it says of itself


@needs_linux
@pytest.mark.parametrize(
    ("without", "lacking"),
    [
        (set(), set()),
        ({"root folder"}, set()),
        ({"namespaces"}, set()),
        ({"namespaces", "landlock"}, {"files"}),
        ({"namespaces", "filter"}, {"network", "calls"}),
    ],
)
def test_the_result_says_what_was_lacking(without: set[str], lacking: set[str]) -> None:
    """At least what was switched off: a system may refuse more."""
    isolation = sandbox(frozenset(without)).run("pass").isolation
    assert set(isolation.held) | set(isolation.lacking) == PROTECTIONS
    assert set(isolation.lacking) >= lacking
    assert isolation.complete is not bool(isolation.lacking)
    for what in isolation.lacking:
        assert f"{what} NOT isolated: not " in str(isolation)


def test_isolation_in_words() -> None:
    isolation = Isolation({"user": "7, of this run"}, {"network": "not cut"})
    assert str(isolation) == "network NOT isolated: not cut; user: 7, of this run"


@needs_linux
def test_strict_refuses_to_run_without_a_protection() -> None:
    strict = sandbox(frozenset({"namespaces", "landlock"}), strict=True)
    with pytest.raises(SandboxUnavailable, match=r"strict=True, and this system does not give: .*files") as caught:
        strict.run("print('ran')")
    assert isinstance(caught.value, EnvironmentFault)


@needs_linux
def test_a_root_folder_that_cannot_be_filled_is_left_for_the_next_best() -> None:
    """The whole root in itself: refused half-way, and nothing of the attempt is seen."""
    result = sandbox(paths=("/",)).run("import os\nprint(os.listdir())\nopen('f', 'wb').write(bytes(2**21))")
    assert (result.why, result.stdout) == (Why.END, "[]\n")
    assert {**result.isolation.held, **result.isolation.lacking}["files"] != "a root folder of its own"


@needs_linux
def test_a_system_that_refuses_namespaces() -> None:
    """Not switched off, but refused by the kernel: a program runs, and the result says why it was kept otherwise."""
    script = """
        from thoughtree.tasks.sandbox import Sandbox
        from thoughtree.tasks.sandbox.inside import call_filter, linux
        linux.forbid_new_privileges()
        call_filter.install(network=False, signals=False)  # refuses unshare and mount, to what this starts too
        result = Sandbox(wall_seconds=30, without={"landlock"}).run("print('ran')")
        print(result.why, result.stdout.strip(), result.isolation.lacking["files"], sep="|")
    """
    why, ran, files = _python(script).split("|")
    assert (why, ran) == ("ran to its end", "ran")
    assert files.startswith("not confined (namespaces: [Errno 1] unshare: Operation not permitted; Landlock:")


@needs_linux
def test_a_host_that_ignores_its_childrens_end() -> None:
    script = """
        import signal
        from thoughtree.tasks.sandbox import Sandbox
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        program = "import subprocess\\nprint(subprocess.run(['/bin/false']).returncode)"
        print(Sandbox(wall_seconds=30).run(program).stdout)
    """
    assert _python(script) == "1"


@needs_linux
@pytest.mark.skipif(os.geteuid() != 0, reason="already run as a normal user")
@pytest.mark.skipif(
    any(not folder.stat().st_mode & 0o001 for folder in BASE.parents), reason=f"other users may not run {BASE}"
)
def test_a_normal_user() -> None:
    script = """
        import os
        from thoughtree.tasks.sandbox import Sandbox
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        result = Sandbox(wall_seconds=30).run("import os\\nprint(os.getuid() != 0, len(os.listdir()))")
        print(result.why, result.stdout.strip(), result.isolation.held["user"], sep="|")
    """
    assert _python(script) == "ran to its end|True 0|the host's, unprivileged"


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems_are_refused_in_words(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    with pytest.raises(SandboxUnavailable, match=f"the sandbox needs Linux, and this is {system}"):
        Sandbox().run("pass")


@needs_linux
def test_no_place_to_work_is_a_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(SandboxUnavailable, match="has no folder to work in"):
        Sandbox().run("pass")


@needs_linux
def test_no_interpreter_is_a_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "_base_executable", str(tmp_path / "python"), raising=False)
    with pytest.raises(SandboxUnavailable, match=r"could not be started: .*No such file"):
        Sandbox().run("pass")


# ---- its end


@needs_linux
def test_an_interrupt_ends_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ctrl-C in the host, while a program runs. The folder for temporary ones stays as it was."""
    token = _token()
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    threading.Thread(target=_interrupt_when_running, args=(token,)).start()
    with pytest.raises(KeyboardInterrupt):
        sandbox().run(_sleeps(token))
    assert _running(token) == []
    assert (list(tmp_path.iterdir()), tmp_path.stat().st_mode & 0o7777) == ([], 0o1777)


@needs_linux
@pytest.mark.parametrize("without", ["", "namespaces"])
def test_a_host_that_is_killed_leaves_nothing(without: str, tmp_path: Path) -> None:
    token = _token()
    program = f"open('file', 'w').write('x')\n{_sleeps(token)}"
    script = f"""
        from thoughtree.tasks.sandbox import Sandbox
        Sandbox(wall_seconds=600, without={{w for w in [{without!r}] if w}}).run({program!r})
    """
    tmp_path.chmod(0o755)
    host = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    try:
        _until(lambda: _running(token))
    finally:
        host.kill()
        host.wait()
    _until(lambda: not _running(token) and not list(tmp_path.iterdir()))


def _sleeps(token: str) -> str:
    """A program that becomes a process which can be found."""
    return f"import os\nos.execv('/bin/sleep', ['sleep', '{token}'])"


def _token() -> str:
    """A time to sleep that nobody else sleeps."""
    return f"600.{os.getpid()}{time.monotonic_ns()}"


def _running(token: str) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")[1:2] == [token.encode()]:
                found.append(int(name))
        except OSError:
            continue
    return found


def _until(holds: Any) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


def _interrupt_when_running(token: str) -> None:
    _until(lambda: _running(token))
    os.kill(os.getpid(), signal.SIGINT)


def _python(script: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=100, check=True
    )
    return ran.stdout.strip()


# ---- DSPy's shape


def test_it_has_the_shape_of_dspys_interpreters() -> None:
    assert isinstance(SandboxInterpreter(), CodeInterpreter)


@needs_linux
def test_an_interpreter_executes_with_variables() -> None:
    interpreter = SandboxInterpreter(sandbox())
    interpreter.start()
    assert interpreter.execute("print(x + len(y['k']))", {"x": 1, "y": {"k": [1, (2, None)]}}) == "4\n".replace(
        "4", "3"
    )
    assert interpreter.execute("z = 1") is None
    with pytest.raises(SandboxError, match="NameError: name 'z' is not defined") as caught:
        interpreter.execute("print(z)")  # nothing is kept
    assert caught.value.result.why is Why.ERROR
    with pytest.raises(SyntaxError):
        interpreter.execute("def f(:", {"x": 1})
    interpreter.shutdown()
    assert interpreter.tools == {}


@pytest.mark.parametrize(
    ("variables", "error", "told"),
    [
        ({"x y": 1}, ValueError, "'x y': ...}\\): must be a name"),
        ({"x": object()}, TypeError, "a object cannot go into a sandbox"),
        ({"x": [float("nan")]}, ValueError, "must be finite"),
    ],
)
def test_variables_are_plain_values(variables: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        SandboxInterpreter().execute("pass", variables)
