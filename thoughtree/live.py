"""One line on the terminal while a search runs: nodes, calls, cost, best so far."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TextIO

from rich.live import Live
from rich.text import Text

from .modules.progress import SearchProgress, progress
from .output import console
from .search import Event, Stop

REPAINTS = 10  # a second, at most
SHARE = 20  # at most a twentieth of the search's time goes into looking at its tree


class LiveLine:
    """A context manager; call it with each event. stream: a terminal."""

    def __init__(self, stream: TextIO, stop: Stop) -> None:
        self.stop, self.started = stop, time.monotonic()
        self._now = SearchProgress()
        self._due = 0.0
        self._live = Live(
            console=console(stream),
            refresh_per_second=REPAINTS,
            transient=True,
            redirect_stdout=False,
            get_renderable=self.line,
        )

    def __enter__(self) -> LiveLine:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """On the search's own thread, where the tree stands still. The repainting thread reads a snapshot."""
        began = time.monotonic()
        if began >= self._due:
            self._now = progress(event.search)
            ended = time.monotonic()
            self._due = ended + SHARE * (ended - began)

    def line(self) -> Text:
        now, seconds = self._now, time.monotonic() - self.started
        parts = [f"{now.nodes} nodes", f"depth {now.depth}", f"{now.calls} calls"]
        if now.cost:
            parts.append(f"${now.cost:.4f}")
        parts += ["no value yet" if now.best is None else f"best {now.best:g}", f"{seconds:.0f} s"]
        told = "stopping" if self.stop.asked else "Ctrl-C stops"
        return Text.assemble("  ".join(parts), (f"  ({told})", "dim"), no_wrap=True, overflow="ellipsis", end="")
