"""Where the command line writes: results to stdout, all else to stderr. A reader who has gone ends it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rich.console import Console, RenderableType
from rich.text import Text

from .exits import Exit
from .mistake import Mistake
from .modules.calls.redaction import redact
from .search.story import Story
from .search.visible import one_line

ENDLESS = 100_000  # columns of what is no terminal: whoever reads it wraps its lines
STDOUT = Path("-")  # as --output
LONGEST = 2_000  # characters of a message: what is wrong and its mend, and not all of the wrong value between them


class PipeClosed(Exception):
    """Nobody reads any more."""

    code = Exit.PIPE


def prepare() -> None:
    """Before the command line is read: streams that take any text, also where they are closed or nobody reads.

    What is printed before a command begins (a help text, say) ends quietly where its reader has gone; see `guarded`.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed: else the next file that is opened would have its number
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        getattr(sys, name).reconfigure(errors="backslashreplace")  # ASCII terminals exist
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, lambda *_: os._exit(Exit.PIPE))


def console(stream: TextIO) -> Console:
    """A console that wraps on a terminal only. Its text is no markup, and nothing in it is highlighted."""
    width = None if stream.isatty() else ENDLESS
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def show(*things: RenderableType) -> None:
    """Write these to stdout, in one go."""
    _render(sys.stdout, *things)


def say(message: str) -> None:
    """Write a message to stderr, without keys; a line of its own, which a terminal wraps."""
    line = one_line(redact(message))
    if len(line) > LONGEST:
        line = f"{line[: LONGEST // 2]} ... ({len(line) - LONGEST:,} more characters) ... {line[-LONGEST // 2 :]}"
    _render(sys.stderr, Text(f"thoughtree: {line}"))


def say_notes(story: Story) -> None:
    """Write to stderr what a reader of this journal has to know, such as where it is damaged."""
    for note in story.notes:
        say(f"{story.path}: {note}")


def write(text: str) -> None:
    """Write this to stdout as it is."""
    with _writing(sys.stdout):
        sys.stdout.write(text)
        sys.stdout.flush()


def _render(stream: TextIO, *things: RenderableType) -> None:
    out = console(stream)
    with _writing(stream):
        with out.capture() as captured:
            for thing in things:
                out.print(thing)
        stream.write(captured.get())
        stream.flush()


def kept(save: Callable[[], object]) -> bool:
    """Whether a report's file was written; if not, it is said why, and what was paid for is still told."""
    try:
        save()
    except OSError as error:
        say(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        return False
    return True


@contextmanager
def flushed() -> Iterator[None]:
    """What others print to stdout within it, such as a help text, is written by its end, or SystemExit says why not."""
    try:
        with _writing(sys.stdout):
            try:
                yield
            finally:
                sys.stdout.flush()
    except PipeClosed as closed:
        sys.exit(closed.code)
    except Mistake as mistake:
        say(str(mistake))
        sys.exit(mistake.code)


@contextmanager
def _writing(stream: TextIO) -> Iterator[None]:
    """PipeClosed where nobody reads any more, and Mistake where the output cannot be written."""
    try:
        yield
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # else Python complains as it exits
        if isinstance(error, BrokenPipeError):
            raise PipeClosed from error
        if stream is sys.stdout:
            raise Mistake(f"the output cannot be written: {error.strerror}") from error
        # A message that cannot be said, as its disk is full, say: that costs nobody the result.
