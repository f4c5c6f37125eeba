"""A run that goes on: a journal's replies told again, in their order, each to the request that it answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import Any

from .budget import SearchStatus
from .codec import Recorded
from .journal import Journal, JournalError
from .protocol import FREE, Answer, Ask, Failed, Propose, Reply, Request
from .search import Search

Told = dict[tuple[Request, int, int | None], Reply]  # by a request, its attempt, and the mark of its nodes


def replay(
    journal: Journal,
    search: Search[Any, Any],
    ask: Callable[[], list[Ask]],
    made: Callable[[Ask, Reply | None], Reply | None],
    tell: Callable[[Ask, Reply], None],
) -> Generator[None, None, tuple[list[Ask], Told]]:
    """Tell one reply after each step; returns the asks that are left, in order: the world's. And what was paid for and
    not asked for here, the closing calls of runs that smaller budgets ended: it counts, and may be asked for yet.

    ask: drains the search. made: the reply to tell, given that on disk (None: code's); None: there is none any more.
    Raises JournalError for a reply that was paid for and is another run's.
    """
    kept: Told = {}
    asked: dict[tuple[Request, int], Ask] = {}
    late: dict[tuple[Request, int], Ask] = {}  # in flight as the search ended: told if it was, and never started
    ended = False

    def collect() -> None:
        nonlocal asked, late, ended
        if not ended and search.status is not SearchStatus.RUNNING:
            ended, late, asked = True, asked, {}
        for new in ask():
            asked[new.request, new.attempt] = new

    for line, following in _each_with_next(journal.recorded()):
        collect()
        search.tree.coming = _expanded(following) if search.at_once == 1 else None  # several are not told in order
        key = line.request, line.attempt
        in_time = key in asked
        if (open := asked.pop(key, None) or late.pop(key, None)) is None:
            if search.status is SearchStatus.RUNNING and not search.short and _paid(line):
                raise _another_run(journal, line.request, "this run does not ask for it")
            if line.reply is not None and isinstance(line.request, Answer):  # of a run that a smaller budget ended
                search.charge(line.request, line.reply.usage)
                kept[line.request, line.attempt, line.about] = replace(line.reply, usage=FREE)
            continue  # or of a larger one, which this one's does not cover
        if line.about is not None and line.about != open.about:
            if _paid(line):
                raise _another_run(journal, line.request, "it is about another node than here")
            reply = None  # of a run that a smaller budget ended: what costs nothing went on from there
        elif line.reply is not None and _ended_it(line.reply):
            search.charge(line.request, line.reply.usage)
            reply = None
        else:
            reply = made(open, line.reply)
        if reply is not None:
            tell(open, reply)
        elif in_time:
            asked[key] = open
        yield
    search.tree.coming = None
    collect()
    for newest in sorted(asked.values(), key=lambda left: -left.id):
        reply = kept.pop((newest.request, newest.attempt, newest.about), None)
        if reply is not None:
            tell(newest, reply)
        elif not search.withdraw(newest.id):
            continue
        del asked[newest.request, newest.attempt]
    collect()
    return sorted(asked.values(), key=lambda left: left.id), kept


def _each_with_next(lines: Iterator[Recorded]) -> Iterator[tuple[Recorded, Recorded | None]]:
    line = next(lines, None)
    while line is not None:
        following = next(lines, None)
        yield line, following
        line = following


def _expanded(line: Recorded | None) -> int | None:
    """The node that this reply is about, where a proposal was asked for."""
    return line.request.node if line is not None and isinstance(line.request, Propose) else None


def _ended_it(reply: Reply) -> bool:
    """Whether this reply ended its run for a wrong key or an empty account: mended by now, or why resume?"""
    return isinstance(reply.outcome, Failed) and reply.outcome.fatal


def _paid(line: Recorded) -> bool:
    """Whether this reply was paid for, and to a request that does not hang on the budget, as a closing call does."""
    return line.reply is not None and line.reply.usage.calls > 0 and not isinstance(line.request, Answer)


def _another_run(journal: Journal, request: Request, why: str) -> JournalError:
    return JournalError(
        f"journal {journal.path}: its reply to {request!r} is another run's ({why}); the task, or a function that was "
        "given, does not do now what it did then: give this run a journal of its own"
    )
