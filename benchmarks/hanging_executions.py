"""Everything that may hang while a plan is carried out: for each a program and an environment, and how far they get."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from thoughtree import RAP, Blocksworld
from thoughtree.offline import offline_lm as model
from thoughtree.search.environment import Observed
from thoughtree.tasks import BlocksworldEnvironment

from .hanging_hooks import Calls, hooked
from .hanging_listeners import Ears, Heard

__all__ = ["AWAITED", "EXECUTIONS", "HangingExecution", "model"]

INPUTS = {"initial": "on(red,blue), ontable(blue), ontable(green)", "goal": "on(blue,green)"}
STEPS = ("initial", "parse", "step")


class Real(BlocksworldEnvironment):
    """Drops the first block that is stacked, so a plan of four steps is made again; tells of what it did."""

    dropped = False

    def initial(self, inputs: Mapping[str, Any]) -> Any:
        return super().initial(inputs)

    def step(self, state: Any, action: Any) -> Observed:
        return super().step(state, action)

    def _chance(self, state: Any, move: Any) -> float:
        if move.verb == "stack" and not self.dropped:
            object.__setattr__(self, "dropped", True)
            return 0.0
        return 1.0


@dataclass(frozen=True, slots=True)
class HangingExecution:
    """of: whose hook it is, "environment" or "task", or "listener". hook: which. after: calls of it before; -1: it is
    the first after a step was made. steps: those that were made by then. awaited: steps are awaited."""

    of: str
    hook: str
    after: int = 0
    steps: int = 0
    awaited: bool = False
    inputs: Mapping[str, str] = field(default_factory=lambda: INPUTS)

    @contextmanager
    def opened(self) -> Iterator[tuple[Any, Any, Calls, dict[str, Any]]]:
        """The program, the environment, the calls of what hangs, and what goes into DSPy's context."""
        calls = Calls(self.hook, self.after if self.after >= 0 else 1_000_000)
        heard = Heard(0, "ended" if self.of == "listener" else "nothing")
        task = hooked(Blocksworld, (self.hook,), calls)() if self.of == "task" else Blocksworld()
        real = hooked(Real, STEPS if self.of == "environment" else (), calls)
        environment = _armed(real, calls) if self.after < 0 else real
        environment = _awaits(environment, calls) if self.awaited else environment
        try:
            if self.of == "listener":
                calls.reached, calls.returned = heard.reached, heard.returned
            yield RAP(task=task, concurrency=1), environment(drop=0.5), calls, {"callbacks": [Ears(heard)]}
        finally:
            calls.released.set()
            heard.released.set()


def _armed(kind: type[Any], calls: Calls) -> type[Any]:
    """From the end of its first step on the hook hangs."""

    def step(self: Any, state: Any, action: Any) -> Observed:
        seen: Observed = kind.step(self, state, action)
        calls.after = 0
        return seen

    return type(kind.__name__, (kind,), {"step": step})


def _awaits(kind: type[Any], calls: Calls) -> type[Any]:
    async def astep(self: Any, state: Any, action: Any) -> Observed:
        calls.made["astep"] += 1
        if calls.hook == "astep" and calls.made["astep"] > calls.after:
            calls.reached.set()
            try:
                await asyncio.sleep(60)
            finally:
                calls.returned.set()
        seen: Observed = kind.step(self, state, action)
        return seen

    return type(kind.__name__, (kind,), {"astep": astep})


EXECUTIONS = {
    "environment's start": HangingExecution("environment", "initial"),
    "environment's parse": HangingExecution("environment", "parse", after=1, steps=1),
    "environment's step": HangingExecution("environment", "step", after=2, steps=2),
    "is_goal, of the first state": HangingExecution("task", "is_goal"),
    "key, of what was observed": HangingExecution("task", "key", after=-1),
    "inputs_at": HangingExecution("task", "inputs_at", steps=4),
    "listener of the plan's search": HangingExecution("listener", "Ears.on_search_event"),
}
AWAITED = {
    "parse, of a step that is awaited": HangingExecution("environment", "parse", after=1, steps=1, awaited=True),
    "awaited step": HangingExecution("environment", "astep", after=2, steps=2, awaited=True),
}
