"""The phases of one call: its beginning, its search, what is concluded of it, and the end that those who listen hear.

Each is waited for as long as the call has patience. What has not come back by then is left, and the call goes on with
what it has.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ..search import Ended, SearchResult, Stop
from ..search.beside import Beside
from ..search.hooks import Hooks
from ..search.patience import Left, Patience
from .calls.meter import not_known
from .conclusion import concluded, concluded_without_hooks
from .machine import machine
from .prediction import SearchFailed, SearchPrediction
from .start import GRACE
from .waiting import Waiting

if TYPE_CHECKING:
    from .session import Session

CONCLUDES = 0.1  # seconds that the task has at least to say what the best state answers, and listeners to hear of it
BREAKS_OFF = 1.0  # seconds that listeners have to hear of an error, where they may be left


class Phases:
    """Of one session, under one driver."""

    def __init__(self, session: Session, waiting: Waiting) -> None:
        self.session, self.waiting = session, waiting
        self.report, self.patience = session.report, session.patience

    async def run(self) -> SearchPrediction:
        """From the task to the prediction. Whatever comes, the task rests, if it was found, and nobody goes on."""
        session = self.session
        with session.journaled(), self._reported():
            try:
                result = await self._searched()
            finally:
                try:
                    if session.begun:
                        await self.waiting.rest(session, self._seconds_to_rest())
                finally:
                    session.close()
            if session.unknown is not None and (result.ended is Ended.ERROR or result.unclosed is not None):
                raise not_known(session.unknown)  # of a search around this one, too
            try:
                found = await self._concluded(result)
            except SearchFailed as failed:
                failed.result = await self._ended(failed.result)
                raise
            found._search = await self._ended(found.search)
            session.note_end(found.search)
            return found

    # ---- the search

    async def _searched(self) -> SearchResult[Any, Any]:
        session, report, patience = self.session, self.report, self.patience
        if patience is None:
            await self.waiting.look_up(session)
            session.find_task()
            session.open(await self.waiting.first_state(session))
            report.begins(session)
            return await self.waiting.drive(session)
        try:
            await self.waiting.beside(session.begin, patience)
        except Left:
            return self._left_at_once(patience)
        try:
            if report.hears_begin:
                await self.waiting.beside(partial(report.begins, session), patience)
            else:
                report.begins(session)
        except Left:
            return self._left_as_it_began(patience)
        return await self.waiting.drive(session)

    def _left_at_once(self, patience: Patience) -> SearchResult[Any, Any]:
        """The time was over before there was anything to search. No hook is called."""
        session = self.session
        session.search = machine(session, None, begun=False)
        session.search.stop(_why(patience))
        return session.search.result().replace(hung=patience.leave())

    def _left_as_it_began(self, patience: Patience) -> SearchResult[Any, Any]:
        """The same, where somebody who was told of its beginning has not come back."""
        return self.session.search.left(_why(patience)).replace(hung=patience.leave())

    def _seconds_to_rest(self) -> float | None:
        """Seconds that a step which still runs has to end in: at the deadline, and after a stop, next to none."""
        stop, deadline = self.session.stop, self.session.deadline
        if stop is not None and stop.asked:
            return GRACE
        return None if deadline is None else deadline + GRACE - time.monotonic()

    # ---- what comes of it

    async def _concluded(self, result: SearchResult[Any, Any]) -> SearchPrediction:
        session, patience = self.session, self.patience
        if patience is None:
            return concluded(session, result)
        if set(result.hung) <= self.report.deliver.names:  # what hung, if anything did, only listened
            self._begin_anew(patience)
            session.watch(patience.hooks)
            try:
                return await self.waiting.beside(partial(concluded, session, result), patience)
            except Left:
                result = result.replace(hung=patience.leave())
        return concluded_without_hooks(session, result)

    async def _ended(self, result: SearchResult[Any, Any]) -> SearchResult[Any, Any]:
        """Tell that the search is over. The result, and what hung as it was told."""
        report, patience = self.report, self.patience
        if patience is None:
            report.ends(result)
        elif report.hears_end(result):
            report.leave()
            self._begin_anew(patience)
            try:
                await self.waiting.beside(partial(self._tell_end, result), patience)
            except Left:
                result = result.replace(hung=patience.leave())
        return result

    def _tell_end(self, result: SearchResult[Any, Any]) -> None:
        if not self.report.begun:  # a hook of its beginning hung
            self.report.begins(self.session)
        self.report.ends(result)

    @staticmethod
    def _begin_anew(patience: Patience) -> None:
        """The hooks of one phase are over; those of the next begin, and have a moment."""
        patience.hooks = Hooks()
        patience.at_least(CONCLUDES)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """An error that breaks it off is told, for a while; nobody is told anything afterwards."""
        report, patience = self.report, self.patience
        try:
            yield
        except BaseException as error:
            if patience is None:
                report.breaks_off(error)
            elif report.goes_on:
                report.leave()
                patience.hooks = Hooks()
                soon = Patience(patience.hooks, Stop(), time.monotonic() + BREAKS_OFF)
                with suppress(Left):
                    Beside(partial(report.breaks_off, error)).wait(soon)
            raise
        finally:
            if patience is not None:
                patience.hooks.give_up()
            report.close()


def _why(patience: Patience) -> Ended:
    return Ended.STOPPED if patience.stop.asked else Ended.SECONDS
