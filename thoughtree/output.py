"""Where the command line writes: results to stdout, all else to stderr. A reader who has gone ends it."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from rich.console import Console, RenderableType
from rich.text import Text

from .exits import Exit
from .modules.calls.redaction import redact
from .search.visible import one_line

ENDLESS = 100_000  # columns of what is no terminal: whoever reads it wraps its lines


class PipeClosed(Exception):
    """Nobody reads any more."""

    code = Exit.PIPE


def console(stream: TextIO) -> Console:
    """A console that wraps on a terminal only. Its text is no markup, and nothing in it is highlighted."""
    width = None if stream.isatty() else ENDLESS
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def show(*things: RenderableType) -> None:
    """Write these to stdout, in one go."""
    _render(sys.stdout, *things)


def say(message: str) -> None:
    """Write a message to stderr, without keys; a line of its own, which a terminal wraps."""
    _render(sys.stderr, Text(f"thoughtree: {one_line(redact(message))}"))


def write(text: str) -> None:
    """Write this to stdout as it is."""
    _write(sys.stdout, text)


def _render(stream: TextIO, *things: RenderableType) -> None:
    out = console(stream)
    with out.capture() as captured:
        for thing in things:
            out.print(thing)
    _write(stream, captured.get())


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # else Python complains as it exits
        raise PipeClosed from error
