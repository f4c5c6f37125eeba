"""Language Agent Tree Search (Zhou et al. 2024, arXiv 2310.04406): act, observe, judge, reflect, with lessons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import dspy

from ..search import MCTS, Budget
from ..tasks.environment_task import EnvironmentTask
from ..tasks.live import environment_of
from .about import about
from .act import Act
from .answer import Answer
from .attempts import Attempts
from .choose import Choose
from .combination import check
from .compose import user_signature
from .finish import closes
from .judge import Judge
from .lessons import Lessons
from .plan import Plan, Settings
from .pricing import prices_of
from .program import Program
from .reflect import Reflect
from .reward import Reward
from .scale import scale_of
from .tools_environment import ToolsEnvironment


class LATS(Program):
    """A tree search through an environment that can be undone, with lessons from its failures.

    signature: any DSPy signature; left out, the environment's own.
    env: what actions have consequences in: pure (`initial(inputs)`, `step(state, action) -> Observed`), or live
        (`step(action)`, `snapshot()`, `restore(token)`); one that can be neither is refused.
    tools: instead of an environment: functions and dspy.Tools, sync or async, each marked as `repeatable`; an action is
        a call, `submit(...)` with the output fields ends it, and `prediction.trajectory` is as dspy.ReAct's.
        One whose function calls LMs says how often at most, in an attribute `calls` of it.
    reward_fn, threshold: instead of an environment: each action is a whole attempt at the answer, and
        `reward_fn(inputs, prediction) -> float | Prediction(score, feedback)` says what it is worth; one that reaches
        the threshold (default 1.0) is a solution, and any other's value is its share of the threshold, from 0 to 1; a
        threshold of 0 or less has no shares, and the model alone judges. One that calls LMs says how often at most, in
        an attribute `calls`.
    controller: MCTS(rollouts=8, branching=2, exploration=1.0), or any other. budget: a Budget, or a number of calls.
    propose: "samples" (each child an action that a call of its own writes) or "choose" (all children by one call, among
        the actions that the environment's `moves(state)` lists).
    blend: the weight of the environment's own value (a share of tests passed) in a node's value; the rest is the
        model's score. agreement: the weight of self-consistency, the share of samples that say the same.
    reflect: one lesson for each failed child, shown in every later expansion.
    lessons: lessons to begin with, say those of an earlier problem: texts, a prediction, or a file; see `Lessons`.
        `config={"lessons": ...}` gives one call others.
    step_concurrency: steps of the environment in flight, beside the LM calls; a live one is stepped one at a time.
    propose_lm, rate_lm, reflect_lm, answer_lm: LMs per role. The others are as in TreeOfThoughts.

    The status says whether the environment confirmed the solution. `search.tree.rollouts` logs what each rollout asked.
    """

    def __init__(
        self,
        signature: str | type[dspy.Signature] | None = None,
        *,
        env: Any = None,
        tools: Iterable[Any] | None = None,
        reward_fn: Callable[..., Any] | None = None,
        threshold: float = 1.0,
        controller: Any = None,
        budget: Budget | int | Mapping[str, Any] | None = None,
        propose: Any = "samples",
        blend: float = 0.5,
        agreement: float = 0.0,
        reflect: bool = True,
        lessons: Any = None,
        answer: Any = None,
        propose_lm: Any = None,
        rate_lm: Any = None,
        reflect_lm: Any = None,
        answer_lm: Any = None,
        concurrency: int = 8,
        step_concurrency: int = 4,
        seed: int = 0,
        retries: int = 2,
        on_failure: Any = "best",
        prices: Mapping[str, tuple[float, float]] | None = None,
        history: bool = False,
    ) -> None:
        super().__init__()
        if sum(given is not None for given in (env, tools, reward_fn)) != 1:
            raise ValueError(
                f"env={env!r}, tools={tools!r}, reward_fn={reward_fn!r}: exactly one of them says what actions lead to"
            )
        if propose not in ("samples", "choose"):
            raise ValueError(f"propose={propose!r}: must be 'samples' or 'choose'")
        if tools is not None:
            env = ToolsEnvironment(user_signature(signature, None), tools)
        elif reward_fn is not None:
            env = Attempts(user_signature(signature, None), Reward(reward_fn, threshold))
        self.task = EnvironmentTask(environment_of(env))
        self.signature = user_signature(signature, self.task)
        plan = Plan(
            controller=MCTS(rollouts=8, branching=2, exploration=1.0) if controller is None else controller,
            budget=None if budget is None else Budget.of(budget),
            propose=propose,
            scale=scale_of("unit"),
            blend=blend,
            agreement=agreement,
            lessons=Lessons.of(lessons),
            answer="auto" if answer is None else answer,
            on_failure=on_failure,
            concurrency=concurrency,
            step_concurrency=step_concurrency,
            seed=seed,
            retries=retries,
            history=history,
        )
        self.propose_lm, self.rate_lm, self.reflect_lm, self.answer_lm = propose_lm, rate_lm, reflect_lm, answer_lm
        self.prices = prices_of(prices)
        self.settings = Settings(plan, about(type(self).__name__, self.signature, self.task))
        notes = self.task.instructions()
        how, thinks = self.task.action_format, self.task.thinks
        if propose == "choose":
            self.propose = Choose(self.signature, notes=notes, shows_state=self.task.has("render"), reads_lessons=True)
        else:
            self.propose = Act(self.signature, notes=notes, action_format=how, thinks=thinks)
        self.rate = Judge(self.signature, notes=notes)
        if reflect:
            self.reflect = Reflect(self.signature, notes=notes)
        if closes(plan.answer, self.signature, self.task):
            self.answer = Answer(self.signature, notes=notes)
        check(self, plan)
