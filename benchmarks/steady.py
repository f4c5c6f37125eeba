"""A language model that answers at once, or after a given time: every proposal new, every rating "maybe"."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from typing import Any

import dspy
from dspy import lm15

RATING = "[[ ## rating_reasoning ## ]]\nopen\n\n[[ ## thought_rating ## ]]\nmaybe\n\n[[ ## completed ## ]]"


class Steady:
    """An engine. latencies: seconds a call, in order of arrival; None: none takes any."""

    def __init__(self, branching: int, latencies: Sequence[float] | None = None) -> None:
        self.branching, self.latencies = branching, latencies
        self.arrived, self.proposed = itertools.count(), itertools.count()

    def latency(self) -> float:
        number = next(self.arrived)
        return 0.0 if self.latencies is None else self.latencies[number]

    def reply(self, request: Any) -> Any:
        text = RATING
        if "next_thoughts" in request.messages[-1].text:
            first = next(self.proposed) * self.branching
            steps = "\n".join(f"{i + 1}. step {first + i}" for i in range(self.branching))
            text = f"[[ ## next_thoughts ## ]]\n{steps}\n\n[[ ## completed ## ]]"
        return lm15.Response(
            id=None,
            model=request.model,
            message=lm15.Message.assistant([lm15.TextPart(text)]),
            finish_reason="stop",
            usage=lm15.Usage(input_tokens=1, output_tokens=1, total_tokens=2),
        )

    def complete(self, request: Any) -> Any:
        if latency := self.latency():
            time.sleep(latency)
        return self.reply(request)


class AsyncSteady:
    def __init__(self, steady: Steady) -> None:
        self.steady = steady

    async def complete(self, request: Any) -> Any:
        if latency := self.steady.latency():
            await asyncio.sleep(latency)
        return self.steady.reply(request)


def steady_lm(branching: int, latencies: Sequence[float] | None = None) -> Any:
    engine = Steady(branching, latencies)
    return dspy.LM("benchmark/steady", engine=engine, async_engine=AsyncSteady(engine), cache=False)
