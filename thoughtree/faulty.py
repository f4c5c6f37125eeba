"""`FaultyLM`: a real `dspy.LM` around another, whose calls go wrong as a plan says."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dspy
from dspy import lm15
from dspy.clients.backend_selection import CLIENT_KEYS
from dspy.clients.execution import execute, prepare

from .faults import Fault, FaultKind
from .modules.calls.attempt import aexecute
from .modules.calls.served import ServedLM
from .prompts import prompt_text

POLL = 0.02  # seconds between two looks of an asynchronous call that hangs


class FaultyLM(dspy.LM):  # type: ignore[misc]
    """`lm`, with faults. Prompts, adapters, budgets, retries and journals are those of any model.

        model = FaultyLM(dspy.LM("openai/gpt-4o-mini"), [Fault.rate_limit(share=0.2), Fault.latency(0.01, skew=1.0)])
        with dspy.context(lm=model):
            program(question="...")

    The first fault of the list that meets a call decides it; latencies are added. The same seed gives the same faults
    to the same prompts, in whatever order calls arrive; but `after`, and which of several equal prompts in flight is
    the first, are matters of arrival. DSPy's cache is off, in front of the faults and behind them: a cached reply
    would meet none. DSPy's own retries are `lm`'s; a search makes its own in their place.
    """

    def __init__(self, lm: Any, faults: Sequence[Fault] = (), *, seed: int = 0) -> None:
        if not isinstance(lm, dspy.BaseLM):
            raise TypeError(f"FaultyLM(lm={lm!r}): must be a dspy.LM")
        if isinstance(lm, ServedLM):  # it knows rollout ids, which no engine is told
            raise TypeError(f"FaultyLM(lm={lm!r}): put the faults behind it, as in RecordLM(FaultyLM(lm), path)")
        for fault in faults:
            if not isinstance(fault, Fault):
                raise TypeError(f"FaultyLM(faults=...): {fault!r} is no Fault; make one as in Fault.rate_limit()")
        behind = lm.copy(cache=False, num_retries=0, callbacks=[])
        self._plan = _Plan(tuple(faults), seed)
        model_type: Any = lm.model_type
        super().__init__(
            lm.model,
            model_type=model_type,
            cache=False,
            callbacks=lm.callbacks,
            num_retries=lm.num_retries,
            engine=_Engine(behind, self._plan),
            async_engine=_AsyncEngine(behind, self._plan),
        )
        # What a call asks for is sent from here, what a client connects with is needed there.
        self.kwargs = {name: value for name, value in lm.kwargs.items() if name not in CLIENT_KEYS}

    @property
    def calls(self) -> int:
        """The calls that arrived, whatever became of them."""
        return self._plan.calls

    @property
    def met(self) -> dict[FaultKind, int]:
        """How many calls each kind of fault has met."""
        with self._plan.lock:
            return dict(self._plan.met)

    def release(self) -> None:
        """End all calls that hang, and let none hang from now on."""
        self._plan.released.set()


@dataclass(frozen=True, slots=True)
class _Draw:
    """What becomes of one call: the seconds it waits, and the fault that decides it."""

    prompt: bytes
    delay: float
    fault: Fault | None


class _Plan:
    """The faults, and how often each prompt has met them. Shared by all copies of the LM, and by all threads."""

    def __init__(self, faults: tuple[Fault, ...], seed: int) -> None:
        self.faults, self.seed, self.lock = faults, seed, threading.Lock()
        self.calls, self.met = 0, Counter[FaultKind]()
        self.released = threading.Event()
        self._times: Counter[tuple[int, bytes]] = Counter()  # of a fault's index and a prompt
        self._first: dict[bytes, Any] = {}  # of a prompt: the reply that all its calls get

    def __deepcopy__(self, memo: Any) -> _Plan:  # one plan and one count, however often the LM is copied
        return self

    def draw(self, request: Any) -> _Draw:
        """What becomes of the call that has just arrived."""
        said = repr((request.model, request.system, request.messages, request.tools)).encode(errors="surrogatepass")
        prompt, text = hashlib.blake2b(said, digest_size=16).digest(), prompt_text(request)
        delay, decided = 0.0, None
        with self.lock:
            self.calls += 1
            for index, fault in enumerate(self._meeting(prompt, text)):
                if fault is None or (decided is not None and fault.kind is not FaultKind.LATENCY):
                    continue
                times = self._times[index, prompt] = self._times[index, prompt] + 1
                self.met[fault.kind] += 1
                if fault.kind is FaultKind.LATENCY:
                    delay += fault.delay(self.seed, index, prompt, times)
                else:
                    decided = fault
        return _Draw(prompt, delay, decided)

    def _meeting(self, prompt: bytes, text: str) -> Iterator[Fault | None]:
        """Each fault, or None where it does not meet the call with this prompt."""
        for index, fault in enumerate(self.faults):
            due = self.calls > fault.after and (fault.times is None or self._times[index, prompt] < fault.times)
            yield fault if due and fault.chosen(self.seed, index, prompt, text) else None

    def spoilt(self, response: Any, draw: _Draw) -> Any:
        """The reply as it arrives."""
        fault, text = draw.fault, response.message.text or ""
        if fault is None:
            return response
        match fault.kind:
            case FaultKind.TRUNCATED:
                return _saying(response, text[: int(len(text) * fault.keep)], finish="length")
            case FaultKind.EMPTY:
                return _saying(response, "")
            case FaultKind.MALFORMED:
                return _saying(response, fault.text)
            case FaultKind.DOUBLED:
                return _saying(response, f"{text}\n\n{text}")
            case FaultKind.DUPLICATED:
                with self.lock:
                    return self._first.setdefault(draw.prompt, response)
            case _:
                return response


class _Engine:
    """lm: the one behind. What an engine does is one attempt, so nothing here is retried, cached or kept as history."""

    def __init__(self, lm: Any, plan: _Plan) -> None:
        self.lm, self.plan = lm, plan

    def __deepcopy__(self, memo: Any) -> _Engine:
        return self

    def complete(self, request: Any) -> Any:
        draw = self.plan.draw(request)
        if draw.delay:
            time.sleep(draw.delay)
        if (fault := draw.fault) is not None:
            if fault.kind is FaultKind.HANG:
                self.plan.released.wait(fault.seconds)
            if (error := fault.error()) is not None:
                raise error
        with dspy.context(send_stream=None):  # a reply that may yet be spoilt is not shown as it comes
            result = execute(self.lm, prepare(self.lm, None, None, {"request": request}))
        return self.plan.spoilt(result.typed(request, self.lm.model_type), draw)

    def stream(self, request: Any) -> Iterator[Any]:
        yield from lm15.response_to_events(self.complete(request))


class _AsyncEngine:
    """The same for tasks."""

    def __init__(self, lm: Any, plan: _Plan) -> None:
        self.lm, self.plan = lm, plan

    def __deepcopy__(self, memo: Any) -> _AsyncEngine:
        return self

    async def complete(self, request: Any) -> Any:
        draw = self.plan.draw(request)
        if draw.delay:
            await asyncio.sleep(draw.delay)
        if (fault := draw.fault) is not None:
            if fault.kind is FaultKind.HANG:
                await self._hung(fault.seconds)
            if (error := fault.error()) is not None:
                raise error
        with dspy.context(send_stream=None):
            result = await aexecute(self.lm, prepare(self.lm, None, None, {"request": request}, asynchronous=True))
        return self.plan.spoilt(result.typed(request, self.lm.model_type), draw)

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        for event in lm15.response_to_events(await self.complete(request)):
            yield event

    async def _hung(self, seconds: float | None) -> None:
        until = None if seconds is None else time.monotonic() + seconds
        while not self.plan.released.is_set() and (until is None or time.monotonic() < until):
            await asyncio.sleep(POLL)


def _saying(response: Any, text: str, finish: str | None = None) -> Any:
    message = lm15.Message.assistant([lm15.TextPart(text)])
    return replace(response, message=message, finish_reason=finish or response.finish_reason)
