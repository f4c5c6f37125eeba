"""The command line as a process: pipes, a terminal, Ctrl-C, and a reader who goes."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

import pytest

from patience import PATIENCE, until

pty = pytest.importorskip("pty", reason="needs a terminal as POSIX has them")

SOLVED = re.compile(r"answer: 4 \* \(9 - \(13 - 10\)\)")
REPAINT = re.compile(rb"(\d+) nodes  depth (\d+)  (\d+) calls")

# program: one level, and then two calls that never end. stuck: code that never ends in the search itself. Each writes a
# file as it comes so far.
SLOW = """
    import threading
    from pathlib import Path
    import thoughtree

    def hang(name):
        Path(name).touch()
        threading.Event().wait()

    def propose(inputs, node, n):
        if node.depth == 1:
            hang(f"hung {node.path[-1]}")
        return ["first", "second"]

    def rate(inputs, nodes):
        return [0.25 + 0.5 * (node.path[-1] == "second") for node in nodes]

    def made(propose, task=None):
        return thoughtree.TreeOfThoughts(
            "question -> answer", task=task, propose=propose, rate=rate, answer="path")

    program = made(propose)

    class Stuck(thoughtree.FreeText):
        def apply(self, state, action):
            if state:
                hang("stuck")  # on the search's own thread
            return super().apply(state, action)

    def fast(inputs, node, n):
        return ["first", "second"]

    stuck = made(fast, Stuck())
"""


def command(*arguments):
    return [sys.executable, "-m", "thoughtree", "solve", *arguments]


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "slow_program.py").write_text(dedent(SLOW))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "FORCE_COLOR"))}
    return kept | {"DSPY_CACHEDIR": str(tmp_path / "cache"), "TERM": "xterm-256color", "COLUMNS": "80"}


def start(arguments, environment, folder, **streams):
    return subprocess.Popen(command(*arguments), cwd=folder, env=environment, stdin=subprocess.DEVNULL, **streams)


class Terminal:
    """A child whose stderr is a terminal of 80 columns. seen: what it has shown there.

    A thread reads it all the while: a terminal that nobody reads takes a few kilobytes, and then the child waits.
    """

    def __init__(self, arguments, environment, folder):
        self.mine, theirs = pty.openpty()
        self.seen = b""
        self.child = start(arguments, environment, folder, stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        with suppress(OSError):  # how Linux says that the other end is closed
            while shown := os.read(self.mine, 65536):
                self.seen += shown

    def wait_for(self, pattern):
        """Until the pattern has been shown."""
        until(lambda: re.search(pattern, self.seen) or not self.reader.is_alive())
        assert re.search(pattern, self.seen), f"{pattern!r} was never shown, but {self.seen!r}"

    def interrupt(self):
        self.child.send_signal(signal.SIGINT)

    def end(self):
        """Exit code and stdout."""
        out, _ = self.child.communicate(timeout=PATIENCE)
        self.reader.join(PATIENCE)
        return self.child.returncode, out.decode()

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()
        self.reader.join(PATIENCE)
        os.close(self.mine)


@pytest.fixture
def terminal(environment, tmp_path):
    opened = []

    def make(*arguments):
        opened.append(Terminal(arguments, environment, tmp_path))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def test_piped_output_has_no_progress_and_no_colour(environment, tmp_path):
    done = subprocess.run(
        command("4 9 10 13", "--tree"),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0
    assert SOLVED.search(done.stdout)
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr.count("\n") == 1  # that a stand-in plays


def test_long_lines_are_not_wrapped_in_a_pipe(environment, tmp_path):
    numbers = " ".join(map(str, range(1, 21)))
    done = subprocess.run(
        command(numbers, "--quiet"),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0
    (line,) = done.stdout.splitlines()
    assert len(line) > 80


def test_an_ascii_locale_gets_escapes_and_no_crash(environment, tmp_path):
    done = subprocess.run(
        command("4 9 10 13", "--tree"),
        cwd=tmp_path,
        env=environment | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert SOLVED.search(done.stdout)


@pytest.mark.parametrize("closed", ["stdout", "both"])
def test_a_reader_who_has_gone_ends_it_quietly(environment, tmp_path, closed):
    reading, writing = os.pipe()
    os.close(reading)
    error = subprocess.STDOUT if closed == "both" else subprocess.PIPE
    child = start(("4 9 10 13", "--tree"), environment, tmp_path, stdout=writing, stderr=error)
    os.close(writing)
    _, said = child.communicate(timeout=PATIENCE)
    assert child.returncode == 141
    assert said is None or said.count(b"\n") == 1  # that a stand-in plays; no traceback


@pytest.mark.parametrize("arguments", [["--version"], ["solve", "--help"], ["solve", "--nope"]])
def test_a_help_text_ends_quietly_where_nobody_reads(environment, tmp_path, arguments):
    reading, writing = os.pipe()
    os.close(reading)
    child = subprocess.Popen(
        [sys.executable, "-m", "thoughtree", *arguments], cwd=tmp_path, env=environment, stdout=writing, stderr=writing
    )
    os.close(writing)
    assert child.wait(PATIENCE) == 141


def shell(line, environment, folder):
    """What a line of a POSIX shell says and returns; $solve is the command."""
    return subprocess.run(
        ["sh", "-c", line.replace("$solve", '"$python" -m thoughtree solve')],
        cwd=folder,
        env=environment | {"python": sys.executable},  # whose path may have spaces
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize("redirected", [">&-", "2>&-", "<&-"])
def test_a_stream_may_be_closed(environment, tmp_path, redirected):
    """What goes to the others, and into a file of the search's own, is what it ever is."""
    done = shell(f"$solve '4 9 10 13' --journal run.jsonl {redirected}", environment, tmp_path)
    assert done.returncode == 0
    assert ("answer:" in done.stdout) == (redirected != ">&-")
    assert done.stderr.count("\n") == (redirected != "2>&-")  # that a stand-in plays
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    assert all(json.loads(line) for line in lines)


needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")


@needs_full
@pytest.mark.parametrize("options", ["", "--json"])
def test_output_that_cannot_be_written_is_said_in_one_line(environment, tmp_path, options):
    done = shell(f"$solve '4 9 10 13' {options} >/dev/full", environment, tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "thoughtree: the output cannot be written: No space left on device"
    assert "Traceback" not in done.stderr


@needs_full
@pytest.mark.parametrize("words", ["--help", "--version", "", "solve --help"])
def test_a_help_text_that_cannot_be_written_is_said_in_one_line(environment, tmp_path, words):
    done = shell(f'"$python" -m thoughtree {words} >/dev/full', environment, tmp_path)
    assert done.returncode == 2
    assert done.stderr == "thoughtree: the output cannot be written: No space left on device\n"


@needs_full
def test_messages_that_cannot_be_written_cost_nobody_the_result(environment, tmp_path):
    done = shell("$solve '4 9 10 13' 2>/dev/full", environment, tmp_path)
    assert done.returncode == 0
    assert SOLVED.search(done.stdout)


def test_a_terminal_sees_progress_that_is_gone_in_the_end(terminal):
    screen = terminal("4 9 10 13", "--json")
    code, out = screen.end()
    assert (code, json.loads(out)["status"]) == (0, "solved")
    assert screen.seen.count(b"\x1b[?25l") == screen.seen.count(b"\x1b[?25h") == 1  # the cursor is back
    assert screen.seen.rstrip().endswith(b"\x1b[2K")  # the line is erased


def test_ctrl_c_gives_the_best_so_far(terminal, tmp_path):
    screen = terminal("?", "--program", "slow_program:program")
    screen.wait_for(rb"3 nodes  depth 1  \d calls")
    until(lambda: (tmp_path / "hung first").exists() and (tmp_path / "hung second").exists())
    screen.interrupt()
    code, out = screen.end()
    assert code == 130
    assert "answer: second\n" in out
    assert "status: unverified (stopped by Ctrl-C)" in out
    assert "2 more in flight" in out
    assert b"Traceback" not in screen.seen


def test_a_second_ctrl_c_quits_where_the_first_cannot_end_it(terminal, tmp_path):
    screen = terminal("?", "--program", "slow_program:stuck")
    screen.wait_for(rb"3 nodes  depth 1")
    until((tmp_path / "stuck").exists)
    screen.interrupt()
    screen.wait_for(rb"stopping")
    screen.interrupt()
    code, out = screen.end()
    assert (code, out) == (130, "")
    assert b"thoughtree: interrupted" in screen.seen
    assert b"Traceback" not in screen.seen


def test_the_tree_is_seen_as_it_grows(terminal):
    screen = terminal("?", "--program", "slow_program:program", "--tree")
    screen.wait_for(rb"#1 \x1b\[0mfirst.*0.25")
    screen.wait_for(rb"#2 \x1b\[0m\S*second.*0.75")
    screen.interrupt()
    code, out = screen.end()
    assert code == 130
    assert "#2 second" in out


@pytest.mark.parametrize("what", [[], ["--tree"]])
def test_repaints_are_at_most_ten_a_second(terminal, what):
    """However many replies there are. What is shown never goes back."""
    screen = terminal("1 2 3 4 5 6", "--target", "9999", "--width", "20", "--branching", "20", *what)
    began = time.monotonic()
    code, _ = screen.end()
    seconds = time.monotonic() - began
    shown = [tuple(map(int, found)) for found in REPAINT.findall(screen.seen)]
    assert code == 3
    assert shown == sorted(shown)
    assert len(shown) <= 10 * seconds + 2  # one as it starts, one as it ends


def test_no_color_is_respected(terminal, environment):
    environment["NO_COLOR"] = "1"
    screen = terminal("1 1 1 1", "--tree")
    code, out = screen.end()
    assert code == 3
    assert not re.search(rb"\x1b\[[0-9;]*3[0-7]m", screen.seen + out.encode())


def test_the_console_script_is_declared():
    project = Path(__file__).parents[1] / "pyproject.toml"
    if not project.exists():
        pytest.skip("no checkout around these tests")
    assert 'thoughtree = "thoughtree.__main__:main"' in project.read_text()
