"""Exit codes of the command line: what a script can tell from them."""

from __future__ import annotations

import enum

from .search import Ended, SearchResult, SearchStatus


class Exit(enum.IntEnum):
    """1 is left to Python, for a crash of the program itself."""

    SOLVED = 0
    USAGE = 2
    UNVERIFIED = 3
    FAILED = 4
    MODEL = 5
    INTERRUPTED = 130  # 128 + SIGINT, as shells have it
    PIPE = 141  # 128 + SIGPIPE


MEANINGS = {
    Exit.SOLVED: "solved: code has verified the answer",
    Exit.USAGE: "usage: an option, an input or a file is wrong",
    Exit.UNVERIFIED: "unverified: the best candidate, which no code has verified",
    Exit.FAILED: "failed: the search ended without an answer worth giving",
    Exit.MODEL: "model: a wrong name, a missing key, no connection, or failing calls",
    Exit.INTERRUPTED: "interrupted: Ctrl-C; the best so far was given",
    Exit.PIPE: "broken pipe: nobody read the output to its end",
}


def listed() -> str:
    """The codes as the help shows them."""
    return "\n".join(f"{code:>3}  {meaning}" for code, meaning in MEANINGS.items())


def exit_of(result: SearchResult[object, object]) -> Exit:
    """The exit code that goes with a search."""
    if result.status is SearchStatus.SOLVED:
        return Exit.SOLVED
    if result.ended is Ended.STOPPED:
        return Exit.INTERRUPTED
    if result.status is SearchStatus.UNVERIFIED:
        return Exit.UNVERIFIED
    return Exit.MODEL if lost_to_errors(result) else Exit.FAILED


def lost_to_errors(result: SearchResult[object, object]) -> bool:
    """Whether a failed search says nothing about the problem: its calls failed, or most of them."""
    return result.ended is Ended.ERROR or (result.failed > 0 and 2 * result.failed >= result.spent.calls)
