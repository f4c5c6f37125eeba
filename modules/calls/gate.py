"""The gate that every LM call of a search passes, whatever module or adapter makes it.

A call takes a reservation from the request's meter and from every `limit` around it, waits for its turn,
and is made once: DSPy's own retries are off, since a retry is a request of the search. What it used and
said goes to the meter in place of DSPy's history, which grows for ever and may be switched off.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from typing import Any

import dspy
from dspy.clients._deprecation import warn_legacy_lm, warn_openai_messages
from dspy.clients.execution import finalize, prepare
from dspy.utils.callback import with_callbacks

from .attempt import aprepare, keep_key
from .inert import encodable
from .meter import Meter as Meter
from .meter import OverCalls as OverCalls
from .meter import current as current
from .passage import Passage
from .record import entry_of, entry_of_history
from .redaction import hide, secrets_of, telling
from .served import ServedLM, aanswered, answered
from .texts import changed

LONGEST = 86_400.0  # seconds: of a longer timeout a client is not told; sockets take none of centuries


def gate(
    lm: Any,
    *,
    history: bool = False,
    timeout: float | None = None,
    prices: Mapping[str, tuple[float, float]] | None = None,
    retries: bool = False,
) -> Any:
    """A copy of `lm` behind the gate, sharing its engine and its cache (about 12 us).

    history: write to DSPy's history as well. timeout: the client's timeout in seconds, where DSPy owns the
    client and the LM's own is not shorter. prices: {model: (dollars per million tokens in, out)}, used where
    DSPy knows no price. A default `n` of the LM is dropped: a search asks for its samples one by one. retries: for
    code that is no search, keep the LM's own retries (a call and its retries then count as one) and its `n`.
    """
    if not isinstance(lm, dspy.BaseLM):
        raise TypeError(f"lm={lm!r}: a dspy.LM is needed, as in dspy.configure(lm=dspy.LM('openai/gpt-4o-mini'))")
    imposed = _shorter(lm, timeout)
    once: dict[str, Any] = {} if retries else {"num_retries": 0, "n": None}
    copy: Any = lm.copy(**once, **({} if imposed is None else {"timeout": imposed}))
    kind: Any = type(lm)
    copy.__class__ = _gated(kind)
    copy.gate_history = history
    copy.gate_secrets = telling(secrets_of(lm))
    # `lm` may have passed a gate before, of a search around this one
    copy.gate_prices = {**getattr(lm, "gate_prices", {}), **(prices or {})}
    before = getattr(lm, "gate_timeout", None)
    copy.gate_timeout = before if imposed is None else before or (lm.kwargs.get("timeout"),)
    if history:
        copy.history = lm.history
    return copy


def _shorter(lm: Any, timeout: float | None) -> float | None:
    """The timeout to impose. An engine object owns its client, and an httpx.Timeout is left to its owner."""
    if timeout is None or timeout > LONGEST or not isinstance(getattr(lm, "engine", None), str):
        return None
    own = lm.kwargs.get("timeout")
    return timeout if own is None or (isinstance(own, int | float) and own > timeout) else None


@cache
def _gated(kind: Any) -> type[Any]:
    if issubclass(kind, _Gate):
        return kind
    plain = kind.__call__ is dspy.BaseLM.__call__ and kind.acall is dspy.BaseLM.acall
    plain = plain or issubclass(kind, ServedLM)
    return type(f"Gated{kind.__name__}", (_Gate if plain else _OuterGate, kind), {"__module__": kind.__module__})


class _Gate:
    """Stands before an LM's own class. `gate` sets its attributes."""

    gate_history: bool
    gate_prices: Mapping[str, tuple[float, float]]
    gate_secrets: tuple[str, ...]  # what a reply must not tell
    gate_timeout: tuple[Any] | None  # what the LM's own timeout was, where another is imposed
    kwargs: dict[str, Any]
    model: str
    model_type: str

    def __call__(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        passage = Passage(_candidates(kwargs.get("n", self.kwargs.get("n"))))
        passage.enter()
        token = _passage.set(passage)
        try:
            return self._call(prompt, messages=messages, **kwargs)
        finally:
            _passage.reset(token)
            passage.leave()

    async def acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        passage = Passage(_candidates(kwargs.get("n", self.kwargs.get("n"))))
        await passage.aenter()
        token = _passage.set(passage)
        try:
            return await self._acall(prompt, messages=messages, **kwargs)
        finally:
            _passage.reset(token)
            passage.leave()

    # The two below are BaseLM's `__call__` and `acall`, except for where the result goes.

    @with_callbacks
    def _call(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        call = self._checked(prepare(self, prompt, messages, kwargs), messages)
        began = time.perf_counter()
        try:
            result = answered(self, call)
        except BaseException:
            self._lost(began)
            raise
        return self._settle(call, result, time.perf_counter() - began)

    @with_callbacks
    async def _acall(self, prompt: Any = None, *, messages: Any = None, **kwargs: Any) -> Any:
        call = self._checked(await aprepare(self, prompt, messages, kwargs), messages)
        began = time.perf_counter()
        try:
            result = await aanswered(self, call)
        except BaseException:
            self._lost(began)
            raise
        return self._settle(call, result, time.perf_counter() - began)

    def _checked(self, call: Any, messages: Any) -> Any:
        if not call.managed:
            warn_legacy_lm()
        warn_openai_messages(self, messages)
        if self.gate_timeout is not None and call.cache:
            keep_key(call, self.gate_timeout[0])
        return call

    def _settle(self, call: Any, result: Any, seconds: float) -> Any:
        """Account for a result as dspy.clients.execution.finalize does, to the meter first."""
        result.outputs = self._harmless(result.outputs)
        _under_way().paid(entry_of(self, call, result, seconds, self.gate_prices))
        if self.gate_history:
            return finalize(self, call, result)
        tracker = dspy.settings.usage_tracker
        if tracker and not result.cache_hit:
            tracker.add_usage(self.model, result.usage)
        if call.request is None:
            return result.outputs
        response = result.typed(call.request, self.model_type)
        parts = tuple(self._harmless_part(part) for part in response.message.parts)
        return replace(response, message=replace(response.message, parts=parts))

    def _harmless(self, outputs: Any) -> Any:
        """What the model said, without keys that it echoes, and without what no prompt can hold."""
        return hide(changed(outputs, encodable), self.gate_secrets)

    def _harmless_part(self, part: Any) -> Any:
        text = getattr(part, "text", None)
        return replace(part, text=self._harmless(text)) if isinstance(text, str) else part

    def _lost(self, began: float) -> None:
        _under_way().lost(time.perf_counter() - began, secrets_of(self))


class _OuterGate(_Gate):
    """Before an LM class with a `__call__` of its own: that is called, and its history entries are read."""

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        with self._listening() as said:
            said += (outputs := self._harmless(super(_Gate, self).__call__(*args, **kwargs)))  # type: ignore[misc]
        return outputs

    async def _acall(self, *args: Any, **kwargs: Any) -> Any:
        with self._listening() as said:
            said += (outputs := self._harmless(await super(_Gate, self).acall(*args, **kwargs)))  # type: ignore[misc]
        return outputs

    @contextmanager
    def _listening(self) -> Iterator[list[Any]]:
        said: list[Any] = []
        entries: list[dict[str, Any]] = []
        token = _heard.set((entries, self.gate_history and not dspy.settings.disable_history))
        began = time.perf_counter()
        try:
            with dspy.context(disable_history=False):  # else DSPy tells us nothing
                yield said
        except BaseException:
            self._lost(began)
            raise
        finally:
            _heard.reset(token)
        seconds = time.perf_counter() - began
        for entry in entries or [{"outputs": said}]:
            record = entry_of_history(self, entry, seconds / max(1, len(entries)), self.gate_prices)
            _under_way().paid({**record, "outputs": self._harmless(record["outputs"])})

    def update_history(self, entry: dict[str, Any]) -> None:
        entries, keep = _heard.get(([], self.gate_history))  # the default: from a thread of the LM's own
        entries.append(entry)
        if keep:
            super().update_history(entry)  # type: ignore[misc]


# The call that is on its way through a gate here: what an LM calls for its part belongs to that call.
_passage: ContextVar[Passage | None] = ContextVar("thoughtree_passage", default=None)


def passing() -> bool:
    return _passage.get() is not None


def _under_way() -> Passage:
    passage = _passage.get()
    assert passage is not None
    return passage


def is_gated(lm: Any) -> bool:
    return isinstance(lm, _Gate)


# What an _OuterGate's call hears from DSPy, and whether the user's history wants it too.
_heard: ContextVar[tuple[list[dict[str, Any]], bool]] = ContextVar("thoughtree_heard")


def _candidates(n: Any) -> int:
    """How many calls `n=` makes: DSPy's native engines ask once for each candidate."""
    return n if isinstance(n, int) and n > 0 else 1
