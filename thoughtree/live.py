"""What a running search shows on a terminal: one line, or its tree, painted anew at most ten times a second.

    with LiveTree(program.task) as live:
        found = program(numbers="4 9 10 13", config={"on_event": live})

Where nothing can be painted over (a pipe, a file, a dumb terminal) there are no control sequences, and one plain line
in the end.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from .modules.progress import SearchProgress, progress
from .output import console
from .search import Event, SearchResult, Stop
from .tree_view import tree_view

REPAINTS = 10  # a second, at most
PAUSE = 1 / REPAINTS  # seconds between two looks, at least
SHARE = 20  # at most a twentieth of the search's time goes into looking at its tree


class Painted:
    """A context manager around what goes on. `line` says where it stands; `view` is what is painted."""

    def __init__(self, stream: TextIO | None, repaints: int = REPAINTS) -> None:
        self.console, self.started = console(sys.stderr if stream is None else stream), time.monotonic()
        self.paints = self.console.is_terminal and not self.console.is_dumb_terminal
        self._live = Live(
            console=self.console,
            refresh_per_second=repaints,
            transient=True,
            redirect_stdout=False,
            get_renderable=self.view,
        )

    def __enter__(self) -> Self:
        if self.paints:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.paints:
            self._live.stop()
        else:
            self.catch_up()
            self.console.print(Text(self.told()), soft_wrap=True)

    def catch_up(self) -> None:
        """What goes on is over: look at all that was passed over."""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def told(self) -> str:
        """Where it stands, in words."""
        raise NotImplementedError

    def hint(self) -> str:
        """What a person at the terminal can do."""
        return "Ctrl-C stops"

    def line(self) -> Text:
        """One line, cut where the terminal ends."""
        hint = (f"  ({hint})", "dim") if (hint := self.hint()) else ""
        return Text.assemble(self.told(), hint, no_wrap=True, overflow="ellipsis", end="")

    def view(self) -> RenderableType:
        return self.line()


class LiveLine(Painted):
    """Nodes, depth, calls, cost, best so far. Call it with each event. stop: what Ctrl-C asks to stop, if it does."""

    def __init__(self, stream: TextIO | None = None, stop: Stop | None = None) -> None:
        self.stop = stop
        self._now = SearchProgress()
        self._missed: Event | None = None  # the last, where it was not looked at
        self._due = 0.0
        super().__init__(stream)

    def __call__(self, event: Event) -> None:
        """On the search's own thread, where the tree stands still. The repainting thread reads a snapshot."""
        self._missed = event
        if time.monotonic() >= self._due or event.search.done:
            self.catch_up()

    def view(self) -> RenderableType:
        """On the repainting thread. Where a reply was passed over and none has come since, the tree stands still."""
        if self._missed is not None and time.monotonic() >= self._due:
            with suppress(RuntimeError):  # it moves after all: what has changed it will say so
                self.catch_up()
        return self.painted()

    def painted(self) -> RenderableType:
        return self.line()

    def catch_up(self) -> None:
        """Look at the last reply, if it was passed over."""
        event, self._missed = self._missed, None
        if event is None:  # the other thread was faster
            return
        began = time.monotonic()
        self._look(event)
        ended = time.monotonic()
        self._due = max(ended + SHARE * (ended - began), began + PAUSE)

    def _look(self, event: Event) -> None:
        self._now = progress(event.search)

    def hint(self) -> str:
        if self.stop is None:
            return ""
        return "stopping" if self.stop.asked else "Ctrl-C stops"

    def told(self) -> str:
        now = self._now
        parts = [f"{now.nodes} nodes", f"depth {now.depth}", f"{now.calls} calls"]
        if now.cost:
            parts.append(f"${now.cost:.4f}")
        parts += ["no value yet" if now.best is None else f"best {now.best:g}", f"{self.seconds:.0f} s"]
        return "  ".join(parts)


class LiveTree(LiveLine):
    """The same, and below it as much of the tree as there is room for: the best path, and what is near the root.

    task: whose states and actions these are, to show them in its words.
    """

    def __init__(self, task: Any = None, stream: TextIO | None = None, stop: Stop | None = None) -> None:
        self.task = task
        self._tree: RenderableType | None = None
        super().__init__(stream, stop)

    def _look(self, event: Event) -> None:
        super()._look(event)
        if self.paints:
            result: SearchResult[Any, Any] = event.search.result()
            room = max(1, self.console.size.height - 3)  # below the line, and above the cursor
            self._tree = tree_view(result.replace(task=self.task), most=room, one_line_each=True)

    def painted(self) -> RenderableType:
        line, tree = self.line(), self._tree
        if tree is None:
            return line
        line.end = "\n"
        return Group(line, tree)
