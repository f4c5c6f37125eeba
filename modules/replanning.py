"""Planning, acting and planning again, as one routine that asks and is told: whoever drives it waits, or awaits."""

from __future__ import annotations

from collections.abc import Generator, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..search import Ended, SearchStatus
from ..search.environment import EnvironmentFault, Observed
from ..search.hooks import Hooks
from ..search.protocol import Failed, Illegal
from ..tasks.environment_task import EnvironmentTask
from ..tasks.watched import watched
from .calls.limit import active
from .prediction import SearchPrediction

TRIES = 3  # of a step whose fault may pass


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
class Start:
    """Asks for the state at the start."""

    inputs: dict[str, Any]


@dataclass(frozen=True, slots=True)
class MakePlan:
    """Asks the program for a plan: a SearchPrediction."""

    inputs: dict[str, Any]
    config: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Act:
    """Asks the environment for one step: Observed, Illegal or Failed."""

    state: Any
    action: str


Asked: TypeAlias = Start | MakePlan | Act
Move: TypeAlias = tuple[Hashable | None, str]  # the key of a state, and an action's text


@dataclass(slots=True)
class Replanning:
    """One execution.

    task: the program's. deterministic: whether the world does the same every time. state: the last one observed.
    refused: the rules that forbid a move. observed: where moves were seen to lead.
    """

    program: Any
    task: Any
    inputs: dict[str, Any]
    max_steps: int
    replans: int
    deterministic: bool = False
    state: Any = None
    steps: list[ExecutedStep] = field(default_factory=list[ExecutedStep])
    plans: list[SearchPrediction] = field(default_factory=list[SearchPrediction])
    refused: dict[Move, str] = field(default_factory=dict[Move, str])
    observed: dict[Move, Any] = field(default_factory=dict[Move, Any])

    def routine(self) -> Generator[Asked, Any, str | None]:
        """Until the goal is reached: None, else why it was given up. Raises Refusal when the budget is used up."""
        task = self.task
        self.state = yield Start(self.inputs)
        done = task.has("is_goal") and bool(task.is_goal(self.state))
        while not done:
            if len(self.plans) > self.replans:
                return f"{self.replans} replans were not enough"
            _check_budget(calls=1)
            found: SearchPrediction = yield self._planned()
            self.plans.append(found)
            path = found.search.tree.path(found.search.best)[1:]
            if found.search.status is SearchStatus.FAILED or not path:
                _check_budget(calls=1)  # a search that ran out of budget found nothing because of it
                failed = found.search.ended is Ended.ERROR
                return f"no plan was found: {found.search.first_error if failed else found.search.summary()}"
            for node in path:
                _check_budget()
                if len(self.steps) == self.max_steps:
                    return f"{self.max_steps} steps were not enough"
                seen = yield from self._acted(task.show(node.action))
                if isinstance(seen, Failed):
                    return seen.error
                done = self._note(node, seen)
                if done or not self.steps[-1].matched:
                    break
        return None

    def _planned(self) -> MakePlan:
        """The next plan, from where things stand. Another seed, as the same one may lead into the same."""
        inputs, program = self.inputs, self.program
        if self.plans:
            inputs = self.task.inputs_at(self.state, self.inputs)
        seed = program.plan.seed + len(self.plans)
        known = {"refused": dict(self.refused), "observed": dict(self.observed) if self.deterministic else {}}
        return MakePlan(inputs, {"seed": seed, "on_failure": "best", **known})

    def _acted(self, action: str) -> Generator[Asked, Any, Observed | Illegal | Failed]:
        """What the environment says of one action; a fault that may pass is no answer yet."""
        seen: Observed | Illegal | Failed = yield Act(self.state, action)
        for _ in range(TRIES - 1):
            if not (isinstance(seen, Failed) and seen.transient):
                break
            seen = yield Act(self.state, action)
        return seen

    def _note(self, node: Any, seen: Observed | Illegal) -> bool:
        """Keep what a step led to; whether the goal is reached."""
        task, number = self.task, len(self.plans) - 1
        text = task.show(node.action)
        if isinstance(seen, Illegal):
            self.refused[task.key(self.state), text] = seen.rule
            self.steps.append(ExecutedStep(text, node.state, None, False, seen.rule, plan=number))
            return False
        self.observed[task.key(self.state), text] = seen.state
        self.state = seen.state
        matched = _same(task, node.state, seen.state)
        step = ExecutedStep(text, node.state, seen.state, matched, observation=seen.observation, plan=number)
        self.steps.append(step)
        return seen.solved or (task.has("is_goal") and bool(task.is_goal(seen.state)))


def _check_budget(calls: int = 0) -> None:
    """Refusal if the execution's own budget, or one around it, allows no more."""
    for purse in active():
        purse.check(calls)


def _same(task: Any, predicted: Any, observed: Any) -> bool:
    """Whether two states are one to the task; without keys, whether they are equal."""
    one, other = task.key(predicted), task.key(observed)
    return bool(one == other) if one is not None and other is not None else bool(predicted == observed)


@dataclass(frozen=True, slots=True)
class World:
    """The environment that is acted in. task: what a pure one says of itself; None for a live one.

    hooks: what watches its code, none of which begins once it is given up; None: nothing does.
    """

    env: Any
    task: Any
    hooks: Hooks | None = None

    @classmethod
    def of(cls, env: Any) -> World:
        """TypeError for what is no environment."""
        if isinstance(env, type) or not callable(getattr(env, "step", None)):
            raise TypeError(f"environment={env!r}: needs step(); give an environment, not a class")
        return cls(env, EnvironmentTask(env) if callable(getattr(env, "initial", None)) else None)

    def watched(self, hooks: Hooks) -> World:
        return World(self.env, None if self.task is None else watched(self.task, hooks), hooks)

    @property
    def awaits(self) -> bool:
        """Whether it has steps that are awaited."""
        return callable(getattr(self.env, "astep", None))

    def start(self, task: Any, inputs: dict[str, Any]) -> Any:
        return task.initial(inputs) if self.task is None else self.task.initial(inputs)

    def act(self, asked: Act) -> Observed | Illegal | Failed:
        given = self.given(asked)
        if isinstance(given, Illegal | Failed):
            return given
        step = self.env.step if self.hooks is None else self.hooks.watched("step", self.env.step)
        try:
            return self._checked(step(*given))
        except (Illegal, EnvironmentFault) as error:
            return _refusal(error)

    async def aact(self, given: tuple[Any, ...]) -> Observed | Illegal | Failed:
        """The same with `astep`, of what `given` gave."""
        try:
            return self._checked(await self.env.astep(*given))
        except (Illegal, EnvironmentFault) as error:
            return _refusal(error)

    def given(self, asked: Act) -> tuple[Any, ...] | Illegal | Failed:
        """What a step is called with: a live environment knows its state."""
        if self.task is None:
            return (asked.action,)
        try:
            action = self.task.parse(asked.action, asked.state)
        except (Illegal, EnvironmentFault) as error:
            return _refusal(error)
        return action if isinstance(action, Illegal) else (asked.state, action)

    def _checked(self, seen: Any) -> Observed | Illegal:
        kind = type(self.env).__name__
        if not isinstance(seen, Observed | Illegal):
            raise TypeError(f"{kind}.step returned {seen!r}; it must return an Observed")
        if isinstance(seen, Observed) and seen.state is None:
            raise TypeError(
                f"{kind}.step gave Observed(state=None); execution compares states, so it must give the state in the "
                "form of the program's task"
            )
        return seen


def _refusal(error: Illegal | EnvironmentFault) -> Illegal | Failed:
    if isinstance(error, Illegal):
        return error
    return Failed(f"environment: {error}", transient=error.transient)
