"""Everything that may hang while a program answers: a program for each, whose search has found something by then."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from thoughtree import LATS, Beam, TreeOfThoughts, repeatable
from thoughtree.search import Ended
from thoughtree.search.environment import Observed
from thoughtree.tasks import Programming
from thoughtree.testing import Fault, FaultyLM, RuleLM

SIGNATURE = "question -> answer"
SLEEPER = "```python\nimport time\ndef f(x):\n    time.sleep(60)\n```"


@dataclass(frozen=True, slots=True)
class Hanging:
    """program(hang): the program, whose own code hangs by calling `hang`. faults: of its model. says: the model's reply
    where it acts in an environment. inputs: of the call. ended: why the search ends; the closing call comes after."""

    program: Callable[[Callable[..., Any]], Any]
    faults: tuple[Fault, ...] = ()
    says: str = "go"
    inputs: Mapping[str, Any] = field(default_factory=lambda: {"question": "q"})
    ended: Ended = Ended.SECONDS

    @contextmanager
    def opened(self) -> Iterator[tuple[Any, FaultyLM, Callable[[], None]]]:
        """The program, its model, and what ends all that hangs; the end of the block does so too."""
        released = threading.Event()

        def release() -> None:
            released.set()
            model.release()

        def hang(*args: Any, **kwargs: Any) -> Any:
            released.wait()
            raise RuntimeError("released")

        hang.released = released.is_set  # type: ignore[attr-defined]

        model = FaultyLM(RuleLM(_two, lambda inputs: "maybe", act=lambda inputs: self.says), self.faults)
        try:
            yield self.program(hang), model, release
        finally:
            release()


def _two(inputs: dict[str, str], n: int | None) -> list[str]:
    return [f"{inputs['search_path'][-8:]} left", f"{inputs['search_path'][-8:]} right"]


def thoughts(**knobs: Any) -> TreeOfThoughts:
    return TreeOfThoughts(SIGNATURE, controller=Beam(width=2, branching=2, max_depth=3), **knobs)


def _tool(hang: Callable[..., Any]) -> Any:
    @repeatable
    def go() -> str:
        return str(hang())

    return LATS(SIGNATURE, tools=[go])


def _async_tool(hang: Callable[..., Any]) -> Any:
    @repeatable
    async def go() -> str:
        await asyncio.sleep(60)
        return ""

    return LATS(SIGNATURE, tools=[go])


def _stubborn_tool(hang: Any) -> Any:
    @repeatable
    async def go() -> str:
        while not hang.released():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        return ""

    return LATS(SIGNATURE, tools=[go])


class Stuck:
    """An environment that never comes back from a step."""

    signature = SIGNATURE

    def __init__(self, hang: Callable[..., Any]) -> None:
        self.hang = hang

    def initial(self, inputs: dict[str, Any]) -> str:
        return ""

    def step(self, state: str, action: str) -> Observed:
        return Observed(self.hang())


class StuckAtOnce(Stuck):
    def initial(self, inputs: dict[str, Any]) -> str:
        return str(self.hang())


class StuckLive:
    """One that can be put back, if it ever comes back."""

    def __init__(self, hang: Callable[..., Any]) -> None:
        self.hang = hang

    def snapshot(self) -> None: ...

    def restore(self, token: Any) -> None: ...

    def step(self, action: str) -> Observed:
        return Observed(self.hang())


def _giving(items: list[str], hang: Callable[..., Any]) -> Iterator[str]:
    yield from items
    yield str(hang())


HANGING = {
    "LM call": Hanging(lambda hang: thoughts(), (Fault.hang(after=3),)),
    "retry-after of 60 s": Hanging(lambda hang: thoughts(), (Fault.rate_limit(after=3, retry_after=60.0, times=None),)),
    "closing call": Hanging(
        lambda hang: TreeOfThoughts(SIGNATURE, controller=Beam(width=2, branching=2, max_depth=1)),
        (Fault.hang(where="output fields, starting with the field `[[ ## answer ## ]]`"),),
        ended=Ended.SEARCHED_OUT,
    ),
    "proposing function": Hanging(
        lambda hang: thoughts(propose=lambda i, node, n: hang() if node.depth else ["a", "b"])
    ),
    "proposing generator": Hanging(lambda hang: thoughts(propose=lambda i, node, n: _giving(["a"], hang))),
    "rating generator": Hanging(lambda hang: thoughts(rate=lambda i, nodes: _giving([], hang))),
    "rating function": Hanging(lambda hang: thoughts(rate=hang)),
    "reward function": Hanging(lambda hang: LATS(SIGNATURE, reward_fn=hang)),
    "tool": Hanging(_tool, says="go()"),
    "awaited tool": Hanging(_async_tool, says="go()"),
    "awaited tool that ignores its cancellation": Hanging(_stubborn_tool, says="go()"),
    "environment's step": Hanging(lambda hang: LATS(env=Stuck(hang))),
    "environment's start": Hanging(lambda hang: LATS(env=StuckAtOnce(hang))),
    "live environment's step": Hanging(lambda hang: LATS(SIGNATURE, env=StuckLive(hang))),
    "sandboxed program": Hanging(
        lambda hang: LATS(env=Programming()), says=SLEEPER, inputs={"problem": "p", "tests": "assert f(1) == 1"}
    ),
}
