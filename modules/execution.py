"""A plan carried out in a real environment: step by step, compared with what was predicted, and planned again."""

from __future__ import annotations

import enum
import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..search import Budget, SearchStatus
from ..search.environment import EnvironmentFault, Observed
from ..search.protocol import Failed, Illegal, Usage
from ..tasks.environment_task import EnvironmentTask
from .calls.limit import Refusal, limit
from .prediction import SearchPrediction
from .program import Program

TRIES = 3  # of a step whose fault may pass


class ExecutionStatus(enum.StrEnum):
    REACHED = "reached"
    GAVE_UP = "gave up"


@dataclass(frozen=True, slots=True)
class ExecutedStep:
    """One step that was tried. predicted, observed: states; `observed` is None where the step was refused.

    matched: they are one state to the task. refused: the rule, as the environment gave it. plan: which one, from 0.
    """

    action: str
    predicted: Any
    observed: Any
    matched: bool
    refused: str | None = None
    observation: str = ""
    plan: int = 0


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
) -> Execution:
    """Plan with `program`, act in `environment`, and plan again from what was observed where it is not the prediction.

    program: one whose path is the plan, such as RAP(task=Blocksworld()). Its task gives `inputs_at(state, inputs)`: the
        inputs of what is left to do from an observed state.
    environment: pure, or live; a live one is not put back, and stands where `inputs` say.
        Observed states are in the form of the program's task.
    budget: calls, tokens, cost and seconds of all plans together. max_steps: steps tried, refused ones included.
    replans: plans after the first one. A step that was refused is not planned from that state again.

    A step whose environment does not work ends it, with the fault in `why`; one that may pass is tried three times.
    """
    for name, value, least in (("max_steps", max_steps, 1), ("replans", replans, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name}={value!r}: must be an integer of at least {least}")
    if not callable(getattr(program.task, "inputs_at", None)):
        raise TypeError(
            f"program: its task {type(program.task).__name__} cannot say what is left to do from a state; "
            "give it inputs_at(state, inputs) -> inputs"
        )
    purse = _purse(Budget.of(budget))
    run = _Run(program, environment, dict(inputs), max_steps, replans)
    start = time.monotonic()
    with purse:
        try:
            why = run.whole(purse)
        except Refusal as refusal:
            why = f"the budget is used up: {refusal.why}"
    status = ExecutionStatus.REACHED if why is None else ExecutionStatus.GAVE_UP
    seconds = time.monotonic() - start
    return Execution(status, why, tuple(run.steps), run.state, tuple(run.plans), purse.spent, seconds)


def _purse(budget: Budget) -> limit:
    if budget.nodes is not None:
        raise ValueError(f"budget={budget!r}: nodes are of one search; give them to the program")
    return limit(**budget.dump())


@dataclass(slots=True)
class _Run:
    program: Program
    environment: Any
    inputs: dict[str, Any]
    max_steps: int
    replans: int
    state: Any = None
    steps: list[ExecutedStep] = field(default_factory=list[ExecutedStep])
    plans: list[SearchPrediction] = field(default_factory=list[SearchPrediction])
    refused: dict[tuple[Hashable, str], str] = field(default_factory=dict[tuple[Hashable, str], str])

    def whole(self, purse: limit) -> str | None:
        """Until the goal is reached: None, else why it was given up. Raises Refusal when the budget is used up."""
        task = self.program.task
        world = _world(self.environment)
        self.state = task.initial(self.inputs) if world is None else world.initial(self.inputs)
        done = task.has("is_goal") and bool(task.is_goal(self.state))
        while not done:
            if len(self.plans) > self.replans:
                return f"{self.replans} replans were not enough"
            purse.check(1)
            found = self._plan()
            path = found.search.tree.path(found.search.best)[1:]
            if found.search.status is SearchStatus.FAILED or not path:
                purse.check(1)  # a search that ran out of budget found nothing because of it
                return f"no plan was found: {found.search.summary()}"
            for node in path:
                purse.check()
                if len(self.steps) == self.max_steps:
                    return f"{self.max_steps} steps were not enough"
                seen = self._step(world, task.show(node.action))
                if isinstance(seen, Failed):
                    return seen.error
                done = self._note(node, seen)
                if done or not self.steps[-1].matched:
                    break
        return None

    def _plan(self) -> SearchPrediction:
        """The next plan, from where things stand. Another seed, as the same one may lead into the same."""
        inputs, program = self.inputs, self.program
        if self.plans:
            inputs = program.task.inputs_at(self.state, self.inputs)  # type: ignore[attr-defined]
        config = {"seed": program.plan.seed + len(self.plans), "on_failure": "best", "refused": dict(self.refused)}
        call: Any = program  # whose `__call__` is declared to give any Prediction
        found: SearchPrediction = call(**inputs, config=config)
        self.plans.append(found)
        return found

    def _step(self, world: EnvironmentTask | None, text: str) -> Observed | Illegal | Failed:
        """What the environment says of one action."""
        for _ in range(TRIES):
            seen = _taken(world, self.environment, self.state, text)
            if not (isinstance(seen, Failed) and seen.transient):
                break
        return seen

    def _note(self, node: Any, seen: Observed | Illegal) -> bool:
        """Keep what a step led to; whether the goal is reached."""
        task, number = self.program.task, len(self.plans) - 1
        text = task.show(node.action)
        if isinstance(seen, Illegal):
            self.refused[task.key(self.state), text] = seen.rule
            self.steps.append(ExecutedStep(text, node.state, None, False, seen.rule, plan=number))
            return False
        if seen.state is None:
            raise TypeError(
                f"{type(self.environment).__name__}.step gave Observed(state=None); execution compares states, so it "
                "must give the state in the form of the program's task"
            )
        self.state = seen.state
        matched = _same(task, node.state, seen.state)
        step = ExecutedStep(text, node.state, seen.state, matched, observation=seen.observation, plan=number)
        self.steps.append(step)
        return seen.solved or (task.has("is_goal") and bool(task.is_goal(seen.state)))


def _world(environment: Any) -> EnvironmentTask | None:
    """A pure environment with what it says of itself; None for a live one. TypeError for anything else."""
    if isinstance(environment, type) or not callable(getattr(environment, "step", None)):
        raise TypeError(f"environment={environment!r}: needs step(); give an environment, not a class")
    return EnvironmentTask(environment) if callable(getattr(environment, "initial", None)) else None


def _taken(world: EnvironmentTask | None, live: Any, state: Any, text: str) -> Observed | Illegal | Failed:
    try:
        if world is None:
            seen: Any = live.step(text)
        else:
            action = world.parse(text, state)
            seen = action if isinstance(action, Illegal) else world.env.step(state, action)
    except Illegal as illegal:
        return illegal
    except EnvironmentFault as fault:
        return Failed(f"environment: {fault}", transient=fault.transient)
    if not isinstance(seen, Observed | Illegal):
        raise TypeError(f"{type(live).__name__}.step returned {seen!r}; it must return an Observed")
    return seen


def _same(task: Any, predicted: Any, observed: Any) -> bool:
    """Whether two states are one to the task; without keys, whether they are equal."""
    one, other = task.key(predicted), task.key(observed)
    return bool(one == other) if one is not None and other is not None else bool(predicted == observed)
