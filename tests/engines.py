"""Scripted engines: a stub language model that answers by a function. Shared by all tests.

    engine = Engine(lambda kind, inputs, n: {"verdict": "sure"})
    with dspy.context(lm=lm(engine)):
        ...
    assert engine.count() == 1

A prompt's `kind` is the tuple of output field names that it asks for, or the name that `kinds` gives it;
`inputs` are its input fields as text; `n` counts the calls from 1. Replies come in the format that the
prompt asks for, so the ChatAdapter's, the JSONAdapter's and the XMLAdapter's prompts are all answered.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dspy
import dspy.lm15 as lm15

from thoughtree.prompts import input_values, output_names, prompt_text, written


def response(text: str, model: str = "stub/model", finish: str = "stop", tokens: tuple[int, int] = (1, 1)) -> Any:
    """A whole lm15.Response around a reply's text."""
    return lm15.Response(
        id=None,
        model=model,
        message=lm15.Message.assistant([lm15.TextPart(text)]),
        finish_reason=finish,
        usage=lm15.Usage(input_tokens=tokens[0], output_tokens=tokens[1], total_tokens=sum(tokens)),
    )


@dataclass(frozen=True)
class Call:
    """One call that reached the engine."""

    kind: Any
    inputs: dict[str, str]
    request: Any


class Engine:
    """Answers every call with `fn(kind, inputs, n)`: output fields, a raw reply's text, or an lm15.Response.

    What `fn` raises is the provider's error. delay: seconds a call takes, or a function of n.
    kinds: {name: an output field that only this kind has}. tokens: in and out, of each call.
    """

    def __init__(
        self,
        fn: Callable[[Any, dict[str, str], int], Any],
        delay: float | Callable[[int], float] = 0.0,
        *,
        kinds: Mapping[str, str] | None = None,
        tokens: tuple[int, int] = (1, 1),
    ) -> None:
        self.fn, self.kinds, self.tokens = fn, dict(kinds or {}), tokens
        self.delay = delay if callable(delay) else (lambda n: delay)
        self.calls: list[Call] = []
        self.now = self.peak = 0
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: Any) -> Engine:  # one script and one count, however often the LM is copied
        return self

    def count(self, kind: Any = None) -> int:
        """How many calls of this kind, or of all kinds, arrived."""
        return sum(kind is None or call.kind == kind for call in self.calls)

    def complete(self, request: Any) -> Any:
        with self._arrive(request) as (call, n):
            time.sleep(self.delay(n))
            return self._reply(call, n)

    @contextmanager
    def _arrive(self, request: Any) -> Iterator[tuple[Call, int]]:
        prompt = prompt_text(request)
        names = output_names(prompt)
        kind = next((kind for kind, field in self.kinds.items() if field in names), names)
        call = Call(kind, input_values(prompt), request)
        with self._lock:
            self.calls.append(call)
            n = len(self.calls)
            self.now += 1
            self.peak = max(self.peak, self.now)
        try:
            yield call, n
        finally:
            with self._lock:
                self.now -= 1

    def _reply(self, call: Call, n: int) -> Any:
        answer = self.fn(call.kind, call.inputs, n)
        if isinstance(answer, Mapping):
            answer = written(answer, prompt_text(call.request))
        if isinstance(answer, str):
            answer = response(answer, call.request.model, tokens=self.tokens)
        return answer


class AsyncEngine:
    """The asynchronous side of an Engine, with the same script and the same counts."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __deepcopy__(self, memo: Any) -> AsyncEngine:
        return self

    async def complete(self, request: Any) -> Any:
        with self.engine._arrive(request) as (call, n):
            await asyncio.sleep(self.engine.delay(n))
            return self.engine._reply(call, n)


def lm(engine: Engine, model: str = "stub/model", **settings: Any) -> Any:
    """A dspy.LM on this engine, sync and async, without a cache unless `cache=True` is given."""
    settings.setdefault("cache", False)
    return dspy.LM(model, engine=engine, async_engine=AsyncEngine(engine), **settings)
