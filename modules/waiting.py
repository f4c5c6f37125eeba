"""How one call waits: in threads, or on an event loop. What it waits for is written once, in `phases`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..search import SearchResult, adrive, drive
from ..search.beside import Beside, aside
from ..search.patience import Patience
from .catalog import alook_up, look_up
from .start import afirst_state, arest, first_state, rest

if TYPE_CHECKING:
    from .session import Session

T = TypeVar("T")


class Threads:
    """Blocks the thread that calls. Nothing here awaits anything: see `waited`."""

    async def beside(self, call: Callable[[], T], patience: Patience) -> T:
        """`call()`, in a thread that is left where patience ends: Left."""
        return Beside(call).wait(patience)

    async def look_up(self, session: Session) -> None:
        look_up(session.program, session.plan)

    async def first_state(self, session: Session) -> Any:
        return first_state(session.task, session.inputs)

    async def drive(self, session: Session) -> SearchResult[Any, Any]:
        return drive(session.search, session.answering.prepare, **session.driven())

    async def rest(self, session: Session, seconds: float | None) -> None:
        rest(session.task, seconds)


class Loop:
    """The same on the running loop, on which others have their turn meanwhile."""

    async def beside(self, call: Callable[[], T], patience: Patience) -> T:
        return await aside(call, patience)

    async def look_up(self, session: Session) -> None:
        await alook_up(session.program, session.plan)

    async def first_state(self, session: Session) -> Any:
        return await afirst_state(session.task, session.inputs)

    async def drive(self, session: Session) -> SearchResult[Any, Any]:
        return await adrive(session.search, session.answering.aprepare, **session.driven())

    async def rest(self, session: Session, seconds: float | None) -> None:
        await arest(session.task, seconds)


Waiting: TypeAlias = Threads | Loop


def waited(call: Coroutine[Any, Any, T]) -> T:
    """What a call with `Threads` gives. It never gives way to anybody, so its first step is its last."""
    try:
        call.send(None)
    except StopIteration as end:
        found: T = end.value
        return found
    call.close()
    raise RuntimeError("a call in threads awaited something")
