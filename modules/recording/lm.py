"""`RecordLM`: an LM whose replies are kept, and which is asked nothing twice."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import cache
from typing import Any

import dspy
from dspy.clients.base_lm import LM_CLASS_STATE_KEY
from dspy.clients.call_result import CallResult
from dspy.clients.execution import execute

from ..background import in_thread
from ..calls.attempt import aexecute
from ..calls.redaction import hide, public, secrets_of, telling
from .asked import Asked, asked_of
from .definition import definition_of, settings_of
from .flights import POLL, Flight
from .hidden import bare_address, is_secret
from .kept import Kept, loaded
from .ledger import Ledger, refusals_noted
from .store import Recording


class RecordLM(Kept):
    """`lm`, with each request and its reply appended to a recording; a request that is there already is not paid again.

        lm = RecordLM(dspy.LM("openai/gpt-4o-mini"), "replies.jsonl")
        with dspy.context(lm=lm):
            program(question="...")
        print(lm.paid, lm.hits)

    It is an LM of `lm`'s own class: prompts, engine, prices and what it can do are the same; DSPy's cache gives place
    to the recording. A reply is on disk before the program has it. Errors are not recorded. One request has one
    reply, so equal requests at one time are one call; independent samples need a `rollout_id` each, which searches,
    BestOfN and Refine give them. A hit takes a call and its tokens from a budget, and no dollars.

    path: a file, a Recording, or None for one in memory. Several LMs may share it, also in other processes.
    refresh: pay for each request once more, and let the new reply count. Raises RecordingError.
    """

    refresh: bool

    def __new__(cls, lm: Any, path: Any = None, *, refresh: bool = False) -> Any:
        kind: Any = type(lm)
        if not isinstance(lm, dspy.BaseLM):
            raise TypeError(f"RecordLM(lm={lm!r}): a dspy.LM is needed, as in RecordLM(dspy.LM('openai/gpt-4o-mini'))")
        if kind.__call__ is not dspy.BaseLM.__call__ or kind.acall is not dspy.BaseLM.acall:
            raise TypeError(
                f"RecordLM(lm=...): a {kind.__name__} answers by a `__call__` of its own; record the LM that it calls"
            )
        made: Any = lm.copy()
        record: Any = cls
        made.__class__ = _kind(record, kind)
        return made

    def __init__(
        self, lm: Any, path: str | os.PathLike[str] | Recording | None = None, *, refresh: bool = False
    ) -> None:
        self.recording, self.ledger, self.refresh = Recording.at(path), Ledger(), refresh
        self.cache = False
        # Of all copies, which are numbered and get other settings.
        self._settings = settings_of(lm)
        self._definitions: dict[tuple[str, str], dict[str, Any]] = {}
        self._renewed: set[str] = set()

    def answer(self, call: Any) -> CallResult:
        call.cache = False
        asked = asked_of(self, call)
        while True:
            if (kept := self._known(asked)) is not None:
                return kept
            flight = self.recording.flights.board(asked.key, blocking=True)
            if isinstance(flight, Flight):
                break
            with suppress(TimeoutError):
                flight.result(POLL)
        try:
            if (kept := self._known(asked, look=True)) is not None:
                return kept
            definition, began = self._definition(), time.perf_counter()
            with self._paying(asked.whole["n"]):
                return self._paid(asked, execute(self, call), definition, time.perf_counter() - began)
        finally:
            self.recording.flights.land(flight)

    async def aanswer(self, call: Any) -> CallResult:
        call.cache = False
        asked = asked_of(self, call)
        while True:
            if (kept := self._known(asked)) is not None:
                return kept
            flight = self.recording.flights.board(asked.key, blocking=False)
            if isinstance(flight, Flight):
                break
            await _ended(flight)
        try:
            if (kept := self._known(asked, look=True)) is not None:
                return kept
            definition, began = await self._adefinition(), time.perf_counter()
            async with self._apaying(asked.whole["n"]):
                return self._paid(asked, await aexecute(self, call), definition, time.perf_counter() - began)
        finally:
            self.recording.flights.land(flight)

    def _known(self, asked: Asked, *, look: bool = False) -> CallResult | None:
        if self.refresh and asked.key not in self._renewed:
            return None
        result = self.recording.find(asked.key, look=look)
        return None if result is None else self.served(asked, result, cache_hit=True)

    @contextmanager
    def _paying(self, n: int) -> Iterator[None]:
        """Under the ceilings for calls that are paid. Refusal where one of them does not let it start."""
        purse = self.recording.purse
        if purse is None:
            yield
            return
        with refusals_noted():
            purse.enter(n, purse.deadline)
        try:
            yield
        finally:
            purse.leave()

    @asynccontextmanager
    async def _apaying(self, n: int) -> AsyncIterator[None]:
        purse = self.recording.purse
        if purse is None:
            yield
            return
        with refusals_noted():
            await purse.aenter(n, purse.deadline)
        try:
            yield
        finally:
            purse.leave()

    def _paid(self, asked: Asked, result: CallResult, definition: dict[str, Any], seconds: float) -> CallResult:
        """Append it. Where another process was faster its reply stands, so that all go on from the same."""
        used, is_priced = self.used_by(result, asked, seconds)
        for ledger in (self.ledger, self.recording.ledger):
            ledger.pay(used, priced=is_priced)
        if (purse := self.recording.purse) is not None:
            purse.add(used.tokens, used.cost if is_priced else None, used.seconds, self.model)
        dumped = hide(result.dump(), telling(secrets_of(self)))
        stands = self.recording.keep(asked.key, asked.shown(self), dumped, definition, replace=self.refresh)
        if self.refresh:
            self._renewed.add(asked.key)
        if stands is dumped:
            return result
        return replace(loaded(stands, cache_hit=False), usage=result.usage, cost=result.cost)

    def _definition(self) -> dict[str, Any]:
        name = (self.model, self.model_type)
        if name not in self._definitions:
            self._definitions[name] = definition_of(self, self._settings)
        return self._definitions[name]

    async def _adefinition(self) -> dict[str, Any]:
        """The same. DSPy may fetch its catalog of models for it, for which no loop waits."""
        known = self._definitions.get((self.model, self.model_type))
        found: dict[str, Any] = known or await in_thread(self._definition)
        return found

    def dump_state(self) -> dict[str, Any]:
        """The state of the LM that is recorded, without any key: saved programs go into production."""
        lm: Any = super()
        state = public(lm.dump_state(), secrets_of(self))
        kind = _recorded(type(self))
        state = {name: value for name, value in state.items() if name in _ADDRESSES or not is_secret(name)}
        state |= {name: bare_address(state[name]) for name in _ADDRESSES if isinstance(state.get(name), str)}
        return state | {LM_CLASS_STATE_KEY: f"{kind.__module__}.{kind.__qualname__}"}

    def __reduce__(self) -> Any:
        state: Any = self.__getstate__()  # DSPy's has no locks; for others it is all there is
        secrets = secrets_of(self)
        bare = {name: public(state[name], secrets) for name in _SETTINGS if name in state}
        return _unpickled, (RecordLM, _recorded(type(self)), {**state, **bare, "history": []})


_ADDRESSES = ("api_base", "base_url")
_SETTINGS = ("kwargs", "launch_kwargs", "train_kwargs")


async def _ended(ahead: Future[None]) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(POLL):
            await asyncio.wrap_future(ahead)


@cache
def _kind(record: Any, kind: Any) -> Any:
    return type(record.__name__, (record, kind), {"__module__": record.__module__})


def _recorded(kind: type[Any]) -> Any:
    """The class of the LM that is recorded, whatever stands before it: us, and the gate."""
    return next(base for base in kind.__mro__ if issubclass(base, dspy.BaseLM) and not issubclass(base, Kept))


def _unpickled(record: Any, kind: Any, state: dict[str, Any]) -> Any:
    made: Any = object.__new__(_kind(record, kind))
    if hasattr(kind, "__setstate__"):
        made.__setstate__(state)
    else:
        made.__dict__.update(state)
    return made
