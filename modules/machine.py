"""The state machine of one call: which code reads its steps and follows them, and what its requests may cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dspy

from ..search import Search
from ..search.protocol import Answer, Illegal, Propose, Rate, Reflect, Step
from ..tasks import stepping
from ..tasks.environment_task import EnvironmentTask
from . import roles
from .calls.failures import describe
from .judge import Judge
from .listing import listed_move
from .own import calls_of

if TYPE_CHECKING:
    from .session import Session


def machine(session: Session, root: Any, *, begun: bool = True) -> Search[Any, Any]:
    """The search from this state on. begun: whether there is a root to tell anything about; else nothing is asked of
    anybody, not even what a model can do."""
    task, plan, program = session.task, session.plan, session.program
    finisher, each = session.finisher, session.per_prediction
    rewarded = finisher.reward.calls if finisher.reward is not None else 0
    dreams = program.world is not None
    asked = bool(  # where steps lead is a request
        rewarded or dreams or plan.transition == "replace" or isinstance(task, EnvironmentTask)
    )

    read = listed_move if plan.propose == "choose" else stepping.parse

    def parse(state: Any, text: Any) -> Any:
        action = read(task, state, text)
        if session.refused and not isinstance(action, Illegal):
            rule = session.refused.get((task.key(state), task.show(action)))
            return action if rule is None else Illegal(rule)
        return action

    def step(state: Any, action: Any) -> Any:
        return finisher.step(stepping.step(task, state, action), action)

    return Search(
        plan.controller,
        root,
        parse=parse,
        step=None if asked else step,
        rating=roles.rating_of(program, plan, roles.lms_of(program).get("rate") if begun else None),
        budget=plan.limits,
        calls={
            Propose: 0 if plan.propose == "moves" else calls_of(program.propose_fn or program.propose, each),
            Rate: 0 if plan.rate == "code" else calls_of(program.value_fn or program.rate_fn or program.rate, each),
            "cheap": each if isinstance(program.cheap_rate, dspy.BaseLM) else calls_of(program.cheap_rate),
            Step: task.calls if isinstance(task, EnvironmentTask) else each if dreams else rewarded,
            Reflect: each,
            Answer: each + rewarded,
        },
        retries={Propose: 1, Answer: 1, Step: 1, Rate: int(isinstance(program.rate, Judge))},
        reflect=program.reflect is not None,
        transient=max(1, plan.retries),  # what is asked without a refused setting is always asked again
        root_key=stepping.hashable(task, task.key(root)) if begun else None,
        seed=plan.seed,
        sampled=plan.propose == "samples",
        first=plan.first == "answer",
        closing=finisher.needs_call if finisher.may_call else None,
        solved=begun and stepping.checks_goal(task) and stepping.solves(task, root),
        describe=lambda error: describe(error, session.secrets),
    )
