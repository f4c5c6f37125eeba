"""One call of a program: from its task to its prediction, with all that it holds meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import dspy

from ..search import Journal, Search, SearchResult, Stop
from ..search.growth import note_end
from ..search.hooks import Hooks
from ..search.patience import Patience
from ..tasks import Task
from ..tasks.environment_task import EnvironmentTask
from ..tasks.watched import watched
from . import header, roles
from .answering import Answering
from .calls import adapter
from .calls.adapter import search_adapter
from .calls.gate import current, gate
from .calls.limit import active
from .calls.redaction import secrets_of, telling
from .catalog import CATALOG, look_up
from .finish import Finisher
from .jobs import Jobs
from .machine import machine
from .own import runs_foreign_code
from .own_jobs import refuse_coroutines
from .phases import Phases
from .plan import Plan
from .prediction import SearchFailed, SearchPrediction
from .recall import recall
from .reporter import OnEvent, Reporter
from .reward import Reward
from .start import first_state
from .trace import Trace, trace_wanted
from .waiting import Loop, Threads, waited


class Session:
    """All that one call needs, in one place that is gone with it: nothing mutable lives on the module."""

    def __init__(
        self,
        program: Any,
        plan: Plan,
        inputs: dict[str, Any],
        *,
        journal: Any = None,
        fsync: bool = False,
        on_event: OnEvent | None = None,
        stop: Stop | None = None,
        refused: Mapping[tuple[Hashable, str], str] | None = None,
        observed: Mapping[tuple[Hashable, str], Any] | None = None,
    ) -> None:
        """By the key of a state and an action's text: what is known of it, so that no world model is asked.

        refused: rules that forbid it. observed: the states that it leads to.
        """
        self.program, self.plan, self.inputs, self.stop = program, plan, inputs, stop
        self.refused, self._observed = dict(refused or {}), dict(observed or {})
        self.deadline = _deadline(plan)
        self.patience: Patience | None = None  # with which its hooks are waited for; None: as long as they take
        if self.deadline is not None or stop is not None:
            self.patience = Patience(Hooks(), stop or Stop(), self.deadline)
        self.secrets = {secret for lm in self._lms() for secret in secrets_of(lm)}
        self.spellings = telling(self.secrets)
        self.unpriced: str | None = None  # under a cost ceiling: a model that was paid for at an unknown price
        self.unknown: Exception | None = None  # the first request that a ReplayLM did not know
        self._gates: dict[int, tuple[Any, Any]] = {}  # an LM by its id, which is its own while it is kept here
        self.adapter = search_adapter(dspy.settings.adapter)
        self.per_prediction = adapter.calls_of(self.adapter)
        self._check_lms()
        self._bind(program.task)
        self.search: Search[Any, Any]  # from `open` on
        self.trace = Trace(program, inputs) if trace_wanted() else None
        self.configured = self._gated(dspy.settings.lm) if dspy.settings.lm is not None else None
        self.report = Reporter(on_event, program, self.patience)
        self.answering = Answering(self)
        self.journal: Journal | None = None
        self._journal_of, self._fsync = journal, fsync
        self.inside: set[Any] = set()  # the LM calls that have their turn
        self.begun = False  # whether its task was found, which then is to rest however the call ends
        self.closed = False

    def _check_lms(self) -> None:
        """What would fail every call is refused before the first."""
        for role, lm in roles.lms_of(self.program).items():
            if lm is None:
                raise ValueError(
                    f"no LM for {role}: call dspy.configure(lm=dspy.LM('openai/gpt-4o-mini')) first, or give {role}_lm="
                )

    def _lms(self) -> list[Any]:
        """All that this call may ask, as far as is known before."""
        bound = [predictor.lm for predictor in self.program.predictors()]
        return [lm for lm in (*roles.lms_of(self.program).values(), *bound, dspy.settings.lm) if lm is not None]

    def _bind(self, task: Task[Any, Any]) -> None:
        """All that hangs on the task of these inputs. own_task: itself, where its hooks are watched."""
        program, plan = self.program, self.plan
        self.own_task = self.task = task
        if self.patience is not None:
            self.task = watched(task, self.patience.hooks)
        reward = None
        if program.reward_fn is not None and plan.threshold is not None:
            reward = Reward(program.reward_fn, plan.threshold)
        self.finisher = Finisher(program.signature, self.task, self.inputs, plan.answer, reward)
        self.foreign = runs_foreign_code(program, plan, task)
        self.jobs = Jobs(program, plan, self.task, self.inputs, self.finisher, self._gated, self.per_prediction)
        self.jobs.observed = self._observed

    def find_task(self) -> None:
        """The task of these inputs."""
        task = self.hook("for_inputs", self.program.task.for_inputs)(self.inputs)
        if not isinstance(task, Task):
            kind = type(self.program.task).__name__
            raise TypeError(f"{kind}.for_inputs returned {task!r}; return a task, which may be itself")
        if task is not self.own_task:
            self._bind(task)
        self.begun = True

    def hook(self, name: str, hook: Callable[..., Any]) -> Callable[..., Any]:
        """A hook of the program's task, of which it is known that it runs."""
        return hook if self.patience is None else self.patience.hooks.watched(name, hook)

    def begin(self) -> None:
        """All that comes before the first request."""
        self.hook(CATALOG, look_up)(self.program, self.plan)
        self.find_task()
        self.open(first_state(self.task, self.inputs))

    def open(self, root: Any) -> None:
        """The search from this state on, and its journal."""
        self.search = machine(self, root)
        if self._journal_of is not None:
            self.journal = self.hook("journal", header.journal)(self, self._journal_of, fsync=self._fsync)

    def watch(self, hooks: Hooks) -> None:
        """From now on the task's hooks are watched by these."""
        self.task = watched(self.own_task, hooks)
        self.finisher = replace(self.finisher, task=self.task)

    def run(self) -> SearchPrediction:
        """With the thread driver."""
        refuse_coroutines(self.program)
        return waited(Phases(self, Threads()).run())

    async def arun(self) -> SearchPrediction:
        """With the asyncio driver, on the running loop."""
        return await Phases(self, Loop()).run()

    def driven(self) -> dict[str, Any]:
        """What its driver is to know."""
        return {
            "concurrency": self.plan.concurrency,
            "steps": self.plan.step_concurrency if isinstance(self.task, EnvironmentTask) else None,
            "deadline": self.deadline,
            "journal": self.journal,
            "observe": self.report if self.report.wanted else None,
            "stop": self.stop,
            "recall": partial(recall, self),
            "patience": self.patience,
        }

    @contextmanager
    def journaled(self) -> Iterator[None]:
        """The journal is closed, however the call ends, and says what came of its search."""
        try:
            yield
        except SearchFailed as failed:
            self.note_end(failed.result)
            raise
        finally:
            if self.journal is not None:
                self.journal.close()

    def note_end(self, result: SearchResult[Any, Any]) -> None:
        if self.journal is not None:
            note_end(self.journal, result)

    def close(self) -> None:
        """Its search is over: nothing that is still in flight goes on with it."""
        self.closed = True
        if self.patience is not None:
            self.patience.hooks.give_up()
        for passage in tuple(self.inside):
            passage.forsake()
        if self.journal is not None:
            self.journal.seal()

    def _gated(self, lm: Any) -> Any:
        """`lm` behind the gate, once for each LM of this call."""
        if id(lm) not in self._gates:
            seconds = self.plan.limits.seconds
            found = gate(lm, history=self.plan.history, timeout=seconds, prices=self.program.prices)
            self._gates[id(lm)] = lm, found
            self._gates[id(found)] = found, found  # what is behind the gate stays there
        return self._gates[id(lm)][1]


def _deadline(plan: Plan) -> float | None:
    """The moment, of time.monotonic(), at which the budget, or that of a search or a limit around it, runs out."""
    ends = [purse.deadline for purse in active() if purse.deadline is not None]
    if (around := current()) is not None and around.until is not None:
        ends.append(around.until)
    if plan.limits.seconds is not None:
        ends.append(time.monotonic() + plan.limits.seconds)
    return min(ends, default=None)
