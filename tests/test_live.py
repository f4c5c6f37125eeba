"""What a running search shows: on a terminal of 80 columns, without colour, on a dumb terminal, and in a pipe."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import dspy
import pytest
from rich.cells import cell_len
from rich.console import Console

from hostile import KINDS, obeyed, search
from puzzle24 import PUZZLE, call, engine
from thoughtree import DFS, Game24, SearchResult, TreeOfThoughts
from thoughtree.live import LiveLine, LiveTree
from thoughtree.tree_view import tree_view

CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
WIDE = "漢字の長い文" * 40
LONG = "x" * 200


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Terminal]:
    """A terminal of 80 columns and 24 lines."""

    def make(**environment: str) -> Terminal:
        for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **environment}.items():
            monkeypatch.setenv(name, value)
        return Terminal()

    return make


def solved(on_event: Any) -> SearchResult[Any, Any]:
    program = TreeOfThoughts(task=Game24(), controller=DFS(), concurrency=1)
    found = call(program, engine(), numbers=PUZZLE, config={"on_event": on_event})
    result: SearchResult[Any, Any] = found.search
    return result


def frame(live: LiveLine, width: int = 80) -> list[str]:
    """What is painted, on a terminal of this width."""
    out = io.StringIO()
    Console(file=out, width=width, height=24, force_terminal=True, color_system=None, highlight=False).print(
        live.view()
    )
    return CONTROL.sub("", out.getvalue()).rstrip("\n").split("\n")


def test_a_line_says_where_the_search_stands(terminal: Callable[..., Terminal]):
    live = LiveLine(terminal())
    (line,) = frame(live)
    assert re.fullmatch(r"0 nodes  depth 0  0 calls  no value yet  \d+ s", line)
    result = solved(live)
    (line,) = frame(live)
    assert line.startswith(f"{len(result.tree)} nodes  depth 3  {result.spent.calls} calls  best 20  ")


def test_the_tree_is_shown_below_it(terminal: Callable[..., Terminal]):
    live = LiveTree(Game24(), terminal())
    assert len(frame(live)) == 1
    result = solved(live)
    line, *tree = frame(live)
    assert "nodes  depth 3" in line
    assert tree[0].startswith("#0 start  [4 9 10 13]")
    assert len(tree) == len(result.tree)
    assert any("6*4=24  [24]  solved" in line for line in tree)


def test_a_tree_larger_than_the_screen_leaves_its_line_and_its_path_in_sight(terminal: Callable[..., Terminal]):
    live = LiveTree(Game24(), terminal(LINES="8"))
    solved(live)
    shown = frame(live)
    assert len(shown) == 6  # two lines of the eight stay free
    assert "nodes" in shown[0]
    assert [step for step in ("10-4=6", "13-9=4", "6*4=24") if not any(step in line for line in shown)] == []


@pytest.mark.parametrize("text", [WIDE, LONG, "e\u0301" * 150, "👩‍👩‍👧" * 60, "a\tb" * 60])
@pytest.mark.parametrize("width", [80, 40])
def test_each_node_has_one_line_which_ends_with_the_terminal(text: str, width: int):
    found, _ = search("values", text)
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, highlight=False, markup=False, emoji=False)
    console.print(tree_view(found.search, one_line_each=True))
    lines = out.getvalue().rstrip("\n").split("\n")
    assert len(lines) == len(found.search.tree)
    assert max(map(cell_len, lines)) <= width
    cut = [line for line in lines if "beta" in line]
    assert cut
    assert all("…" in line for line in cut)


def test_a_long_step_leaves_room_for_what_became_of_it():
    found, _ = search("values", LONG)
    out = io.StringIO()
    Console(file=out, width=120, color_system=None, highlight=False).print(tree_view(found.search, one_line_each=True))
    (line,) = [line for line in out.getvalue().splitlines() if "#2 " in line]
    assert re.search(r"x… .*20 sure", line)


def test_in_a_pipe_nothing_is_cut():
    found, _ = search("values", LONG)
    out = io.StringIO()
    Console(file=out, width=100_000, color_system=None, highlight=False).print(tree_view(found.search))
    assert f"beta {LONG}" in out.getvalue()


@pytest.mark.parametrize("make", [LiveLine, lambda stream: LiveTree(Game24(), stream)], ids=["line", "tree"])
def test_a_terminal_is_painted_over_and_left_clean(make: Any, terminal: Callable[..., Terminal]):
    stream = terminal()
    with make(stream) as live:
        solved(live)
    shown = stream.getvalue()
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1  # the cursor is back
    assert shown.endswith("\x1b[2K")  # the last line is erased
    assert max(cell_len(line) for line in re.split(r"[\r\n]+", CONTROL.sub("", shown))) <= 80


@pytest.mark.parametrize("make", [LiveLine, lambda stream: LiveTree(Game24(), stream)], ids=["line", "tree"])
def test_without_colour(make: Any, terminal: Callable[..., Terminal]):
    stream = terminal(NO_COLOR="1")
    with make(stream) as live:
        solved(live)
        live._live.refresh()
    assert "nodes" in stream.getvalue()
    assert COLOUR.findall(stream.getvalue()) == []


@pytest.mark.parametrize("kind", ["dumb", "pipe"])
@pytest.mark.parametrize("make", [LiveLine, lambda stream: LiveTree(Game24(), stream)], ids=["line", "tree"])
def test_where_nothing_can_be_painted_over_there_is_one_plain_line(
    make: Any, kind: str, terminal: Callable[..., Terminal]
):
    stream = terminal(TERM="dumb")
    if kind == "pipe":
        stream = terminal()
        stream.isatty = lambda: False  # type: ignore[method-assign]
    with make(stream) as live:
        result = solved(live)
        assert stream.getvalue() == ""
    (line,) = stream.getvalue().splitlines()
    assert line.startswith(f"{len(result.tree)} nodes  depth 3  {result.spent.calls} calls  best 20  ")
    assert obeyed(line) == []


@pytest.mark.parametrize("kind", ["terminal", "line ends", "rich markup", "bidi", "NUL", "surrogate"])
def test_nothing_that_a_model_says_is_obeyed(kind: str, terminal: Callable[..., Terminal]):
    live = LiveTree(None, terminal())
    search("values", KINDS[kind], config={"on_event": live})
    lines = frame(live)
    assert [bad for line in lines for bad in obeyed(line)] == []
    assert len(lines) > 3
    if kind == "rich markup":
        assert any("[bold red]x[/bold red]" in line for line in lines)


def test_a_live_view_is_an_event_handler_of_any_program(terminal: Callable[..., Terminal]):
    with LiveTree(stream=terminal()) as live, dspy.context(lm=None):
        found, _ = search("environment", "x", config={"on_event": live})
    assert any(f"#{found.search.best.id} " in line for line in frame(live))
