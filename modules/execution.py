"""A plan carried out in a real environment: step by step, compared with what was predicted, and planned again."""

from __future__ import annotations

import asyncio
import enum
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from ..search import Budget, Stop
from ..search.beside import Beside, aside
from ..search.hooks import Hooks
from ..search.patience import GRACE, Left, Patience
from ..search.protocol import Failed, Illegal, Usage
from ..tasks.watched import watched
from .background import in_thread
from .calls.limit import Refusal, active, limit
from .prediction import SearchPrediction
from .program import Program
from .replanning import Act, Asked, ExecutedStep, MakePlan, Replanning, Start, World

T = TypeVar("T")
CANCELS = 0.1  # seconds that a step has to end in which is cancelled


class ExecutionStatus(enum.StrEnum):
    REACHED = "reached"
    GAVE_UP = "gave up"


@dataclass(frozen=True, slots=True)
class Execution:
    """What came of a plan. why: the reason, where it was given up. state: the last one observed. seconds: wall time.

    plans: what the program returned, in order; all but the first were made on the way. hung: of the environment and the
    task, what had not come back as the time was up; whether a step that hung was made, nobody knows.
    """

    status: ExecutionStatus
    why: str | None
    steps: tuple[ExecutedStep, ...]
    state: Any
    plans: tuple[SearchPrediction, ...]
    spent: Usage
    seconds: float
    hung: tuple[str, ...] = ()

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
    With seconds, of the budget or of a `limit` around, the environment and the task's hooks run in threads: one that
    hangs is left there, and `hung` names it.
    """
    begun = _Begun(program, environment, inputs, budget, max_steps, replans, deterministic)
    with begun.account():
        while (asked := begun.waited(begun.next)) is not None:
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
        while (asked := await begun.awaited(begun.next)) is not None:
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
        self.run = Replanning(program, program.task, dict(inputs), max_steps, replans, deterministic)
        self.routine = self.run.routine()
        self.told: Any = None
        self.why: str | None = None
        self.hung: tuple[str, ...] = ()
        self.patience: Patience | None = None  # until the budget's seconds are over; None: there are none
        self.start = time.monotonic()

    @contextmanager
    def account(self) -> Iterator[None]:
        """All calls inside are of this budget; what it refuses ends the execution, and so does its end."""
        try:
            with self.purse:
                ends = [purse.deadline for purse in active() if purse.deadline is not None]
                if ends:
                    self.patience = Patience(Hooks(), Stop(), min(ends))
                    self.run.task = watched(self.program.task, self.patience.hooks)
                    self.world = self.world.watched(self.patience.hooks)
                yield
        except Refusal as refusal:
            self.why = f"the budget is used up: {refusal.why}"
        except Left:
            assert self.patience is not None
            self.hung = self.hung or self.patience.leave()
            self.why = f"the budget is used up: seconds; {', '.join(self.hung)}: still running, and left behind"
        finally:
            if self.patience is not None:
                self.patience.hooks.give_up()

    def waited(self, call: Callable[[], T]) -> T:
        """What code of the user's own gives. Left, where the time is up."""
        return call() if self.patience is None else Beside(call).wait(self.patience)

    async def awaited(self, call: Callable[[], T]) -> T:
        return call() if self.patience is None else await aside(call, self.patience)

    def next(self) -> Asked | None:
        """What is asked next; None at the end."""
        try:
            return self.routine.send(self.told)
        except StopIteration as ended:
            self.why = ended.value
            return None

    def answer(self, asked: Asked) -> Any:
        call: Any = self.program  # whose `__call__` is declared to give any Prediction
        if isinstance(asked, MakePlan):
            return call(**asked.inputs, config=asked.config)
        return self.waited(lambda: self._of_world(asked))

    async def aanswer(self, asked: Asked) -> Any:
        call: Any = self.program
        if isinstance(asked, MakePlan):
            return await call.acall(**asked.inputs, config=asked.config)
        if not isinstance(asked, Start) and self.world.awaits:
            return await self._step(asked)
        if self.patience is None:
            return await in_thread(lambda: self._of_world(asked))
        return await aside(lambda: self._of_world(asked), self.patience)

    def _of_world(self, asked: Start | Act) -> Any:
        return self.world.start(self.run.task, asked.inputs) if isinstance(asked, Start) else self.world.act(asked)

    async def _step(self, asked: Act) -> Any:
        """A step that is awaited. Where the time is up it is cancelled, and left if it does not end."""
        given = await self.awaited(lambda: self.world.given(asked))
        if isinstance(given, Illegal | Failed):
            return given
        if self.patience is None or self.patience.deadline is None:
            return await self.world.aact(given)
        step = asyncio.ensure_future(self.world.aact(given))
        try:
            await asyncio.wait({step}, timeout=self.patience.deadline + GRACE - time.monotonic())
            if step.done():
                return step.result()
            self.hung = ("astep",)
            raise Left
        finally:
            if not step.done():
                step.cancel()
                await asyncio.wait({step}, timeout=CANCELS)

    def ended(self) -> Execution:
        run, status = self.run, ExecutionStatus.REACHED if self.why is None else ExecutionStatus.GAVE_UP
        seconds = time.monotonic() - self.start
        steps, plans = tuple(run.steps), tuple(run.plans)
        return Execution(status, self.why, steps, run.state, plans, self.purse.spent, seconds, self.hung)


def _purse(budget: Budget) -> limit:
    if budget.nodes is not None:
        raise ValueError(f"budget={budget!r}: nodes are of one search; give them to the program")
    return limit(**budget.dump())
