"""Reasoning via planning (RAP, Hao et al. 2023, arXiv 2305.14992): a tree search over a world that a model predicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dspy

from ..search import MCTS, Budget
from ..tasks import Task
from .about import about
from .answer import Answer
from .approve import Approve
from .choose import Choose
from .combination import check
from .compose import user_signature
from .finish import closes
from .plan import Plan, Settings
from .pricing import prices_of
from .program import Program
from .propose import Propose
from .scale import scale_of
from .world import World


class RAP(Program):
    """Plan without touching the real world: propose actions, predict where they lead, reward progress.

    signature: any DSPy signature; left out, the task's own.
    task: one whose states are sets of facts, such as Blocksworld(): it gives `predicted(state, action, facts)`, and its
        `rules` drop predictions that cannot be, its `is_goal` says when a predicted state is the goal. It may give
        `goal_share(state)`, 0 to 1, and a `vocabulary` by which replies about its world are read (see
        `thoughtree.modules.reading.facts_words`); without one each line is a fact.
    controller: MCTS(rollouts=10, branching=3, max_depth=6, exploration=1.0), or any other.
    blend: the weight of the share of goal conditions met in a step's reward; the rest is P(yes), how likely the model
        calls the step good. That is read from the probabilities of its reply's tokens, in one call, where the LM gives
        them: DSPy knows it of most models, and `dspy.LM(..., logprobs=True)` or `=False` says so of any.
    samples: how many verdicts of yes and no, whose mean is P(yes), where it does not give them. More tell more.
    transition: "check" has the model predict and the task's own `apply` compare: where they differ the task is right,
        and `prediction.search.world_accuracy` is the share that was predicted well. "replace" asks no model. None
        (default) trusts it.
    aggregate: where code cannot tell a right answer, the one with the most reward behind it over all finished paths is
        given, and not that of the single best path.
    propose: "lm", "choose" (among the task's legal moves) or "moves" (those moves, no model). propose_lm, world_lm,
    rate_lm, answer_lm: LMs per role. The others are as in TreeOfThoughts. A solved status means that code saw the goal
    in a predicted state.
    """

    def __init__(
        self,
        signature: str | type[dspy.Signature] | None = None,
        *,
        task: Task[Any, Any],
        controller: Any = None,
        budget: Budget | int | Mapping[str, Any] | None = None,
        propose: Any = "lm",
        blend: float = 0.5,
        samples: int = 1,
        transition: Any = None,
        aggregate: bool = False,
        answer: Any = None,
        propose_lm: Any = None,
        world_lm: Any = None,
        rate_lm: Any = None,
        answer_lm: Any = None,
        concurrency: int = 8,
        seed: int = 0,
        retries: int = 2,
        on_failure: Any = "best",
        prices: Mapping[str, tuple[float, float]] | None = None,
        history: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(task, Task):
            raise TypeError(f"task={task!r}: must be a Task, as in task=Blocksworld(); a class is called first")
        if not callable(getattr(task, "predicted", None)):
            raise TypeError(
                f"task={type(task).__name__}: a world model predicts facts, and this task cannot make a state of them; "
                "give it predicted(state, action, facts)"
            )
        if propose not in ("lm", "choose", "moves"):
            raise ValueError(f"propose={propose!r}: must be 'lm', 'choose' or 'moves'")
        if transition is not None and not task.has("apply"):
            raise ValueError(f"transition={transition!r}: {type(task).__name__} has no apply(state, action) of its own")
        self.task = task
        self.signature = user_signature(signature, task)
        default = MCTS(rollouts=10, branching=3, max_depth=6, exploration=1.0)
        plan = Plan(
            controller=default if controller is None else controller,
            budget=None if budget is None else Budget.of(budget),
            propose=propose,
            scale=scale_of("unit"),
            samples=samples,
            blend=blend,
            transition=transition,
            aggregate=aggregate,
            answer="auto" if answer is None else answer,
            on_failure=on_failure,
            concurrency=concurrency,
            seed=seed,
            retries=retries,
            history=history,
        )
        self.propose_lm, self.world_lm, self.rate_lm, self.answer_lm = propose_lm, world_lm, rate_lm, answer_lm
        self.prices = prices_of(prices)
        self.settings = Settings(plan, about(type(self).__name__, self.signature, task))
        notes = task.instructions()
        if propose == "lm":
            self.propose = Propose(self.signature, notes=notes, shows_state=True)
        elif propose == "choose":
            self.propose = Choose(self.signature, notes=notes)
        if transition != "replace":
            self.world = World(self.signature, notes=notes)
        self.rate = Approve(self.signature, notes=notes)
        if closes(plan.answer, self.signature, task):
            self.answer = Answer(self.signature, notes=notes)
        check(self, plan)
