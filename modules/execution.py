"""A plan carried out in a real environment: step by step, compared with what was predicted, and planned again."""

from __future__ import annotations

import enum
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..search import Budget
from ..search.protocol import Usage
from .background import in_thread
from .calls.limit import Refusal, limit
from .prediction import SearchPrediction
from .program import Program
from .replanning import Asked, ExecutedStep, MakePlan, Replanning, Start, World


class ExecutionStatus(enum.StrEnum):
    REACHED = "reached"
    GAVE_UP = "gave up"


@dataclass(frozen=True, slots=True)
class Execution:
    """What came of a plan. why: the reason, where it was given up. state: the last one observed. seconds: wall time.

    plans: what the program returned, in order; all but the first were made on the way.
    """

    status: ExecutionStatus
    why: str | None
    steps: tuple[ExecutedStep, ...]
    state: Any
    plans: tuple[SearchPrediction, ...]
    spent: Usage
    seconds: float

    @property
    def reached(self) -> bool:
        return self.status is ExecutionStatus.REACHED

    @property
    def replans(self) -> int:
        return max(0, len(self.plans) - 1)

    @property
    def accuracy(self) -> float | None:
        """The share of steps that led where they were predicted to, from 0 to 1; None without steps."""
        return sum(step.matched for step in self.steps) / len(self.steps) if self.steps else None


def execute(
    program: Program,
    environment: Any,
    *,
    inputs: Mapping[str, Any],
    budget: Budget | int | Mapping[str, Any] | None = None,
    max_steps: int = 50,
    replans: int = 10,
    deterministic: bool = False,
) -> Execution:
    """Plan with `program`, act in `environment`, and plan again from what was observed where it is not the prediction.

    program: one whose path is the plan, such as RAP(task=Blocksworld()). Its task gives `inputs_at(state, inputs)`: the
        inputs of what is left to do from an observed state.
    environment: pure, or live; a live one is not put back, and stands where `inputs` say.
        Observed states are in the form of the program's task.
    budget: calls, tokens, cost and seconds of all plans together. max_steps: steps tried, refused ones included.
    replans: plans after the first one. A step that was refused is not planned from that state again.
    deterministic: the world does the same every time, so what a step was seen to do is known from then on, whatever the
        world model says of it, and costs no call. Where things may slip, leave it False.

    A step whose environment does not work ends it, with the fault in `why`; one that may pass is tried three times.
    """
    begun = _Begun(program, environment, inputs, budget, max_steps, replans, deterministic)
    with begun.account():
        while (asked := begun.next()) is not None:
            begun.told = begun.answer(asked)
    return begun.ended()


async def aexecute(
    program: Program,
    environment: Any,
    *,
    inputs: Mapping[str, Any],
    budget: Budget | int | Mapping[str, Any] | None = None,
    max_steps: int = 50,
    replans: int = 10,
    deterministic: bool = False,
) -> Execution:
    """`execute` on the running loop: plans are awaited, and so are steps, of an environment that has `astep`.

    Any other's steps are made in a thread, one at a time. Cancelled, it stops; a step in a thread ends by itself.
    """
    begun = _Begun(program, environment, inputs, budget, max_steps, replans, deterministic)
    with begun.account():
        while (asked := begun.next()) is not None:
            begun.told = await begun.aanswer(asked)
    return begun.ended()


class _Begun:
    """What both drivers share: the routine, what it was last told, and its account."""

    def __init__(
        self,
        program: Program,
        environment: Any,
        inputs: Mapping[str, Any],
        budget: Any,
        max_steps: int,
        replans: int,
        deterministic: bool,
    ) -> None:
        for name, value, least in (("max_steps", max_steps, 1), ("replans", replans, 0)):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name}={value!r}: must be an integer of at least {least}")
        if not isinstance(deterministic, bool):
            raise ValueError(f"deterministic={deterministic!r}: must be True or False")
        if not callable(getattr(program.task, "inputs_at", None)):
            raise TypeError(
                f"program: its task {type(program.task).__name__} cannot say what is left to do from a state; "
                "give it inputs_at(state, inputs) -> inputs"
            )
        self.program, self.world = program, World.of(environment)
        self.purse = _purse(Budget.of(budget))
        self.run = Replanning(program, dict(inputs), max_steps, replans, deterministic)
        self.routine = self.run.routine()
        self.told: Any = None
        self.why: str | None = None
        self.start = time.monotonic()

    @contextmanager
    def account(self) -> Iterator[None]:
        """All calls inside are of this budget; what it refuses ends the execution."""
        try:
            with self.purse:
                yield
        except Refusal as refusal:
            self.why = f"the budget is used up: {refusal.why}"

    def next(self) -> Asked | None:
        """What is asked next; None at the end."""
        try:
            return self.routine.send(self.told)
        except StopIteration as ended:
            self.why = ended.value
            return None

    def answer(self, asked: Asked) -> Any:
        call: Any = self.program  # whose `__call__` is declared to give any Prediction
        if isinstance(asked, Start):
            return self.world.start(self.program.task, asked.inputs)
        if isinstance(asked, MakePlan):
            return call(**asked.inputs, config=asked.config)
        return self.world.act(asked)

    async def aanswer(self, asked: Asked) -> Any:
        call: Any = self.program
        if isinstance(asked, MakePlan):
            return await call.acall(**asked.inputs, config=asked.config)
        if not isinstance(asked, Start) and self.world.awaits:
            return await self.world.aact(asked)
        return await in_thread(lambda: self.answer(asked))

    def ended(self) -> Execution:
        run, status = self.run, ExecutionStatus.REACHED if self.why is None else ExecutionStatus.GAVE_UP
        seconds = time.monotonic() - self.start
        return Execution(status, self.why, tuple(run.steps), run.state, tuple(run.plans), self.purse.spent, seconds)


def _purse(budget: Budget) -> limit:
    if budget.nodes is not None:
        raise ValueError(f"budget={budget!r}: nodes are of one search; give them to the program")
    return limit(**budget.dump())
