"""The world model: what holds after an action, as a language model predicts it and the task's rules allow it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dspy

from .. import signatures
from ..search.protocol import Illegal, Outcome, Stepped, Unread
from ..tasks import stepping
from . import reader as reading
from .compose import compose
from .predictor import Predict


def landed(task: Any, new: Any) -> Stepped | Illegal:
    """What a state is worth that an action is said to lead to: the rule that it breaks, else its share of the goal."""
    for rule in task.rules(new):
        return Illegal(rule)
    share = task.goal_share(new) if hasattr(task, "goal_share") else None
    solved = bool(task.is_goal(new))
    over = not solved and bool(task.is_terminal(new))
    return Stepped(
        new,
        task.key(new),
        solved=solved,
        terminal=over,
        unjudged=over and not stepping.checks_goal(task),
        reward=share or 0.0,
        observation={"observation": "", "feedback": None, "value": share},
    )


def true_step(task: Any, state: Any, action: Any) -> Stepped | Illegal:
    """Where the task's own `apply` says that `action` leads."""
    step = stepping.step(task, state, action)
    return step if isinstance(step, Illegal) else landed(task, step.state)


def agrees(predicted: Stepped | Illegal, true: Stepped | Illegal) -> bool:
    """Whether a prediction is right: the same state, or forbidden where the task forbids it, for whatever reason."""
    if isinstance(predicted, Illegal) or isinstance(true, Illegal):
        return isinstance(predicted, Illegal) and isinstance(true, Illegal)
    return bool(predicted.key == true.key) if true.key is not None else bool(predicted.state == true.state)


def checked(predicted: Stepped | Illegal, true: Stepped | Illegal) -> Stepped | Illegal:
    """The truth, and whether it was predicted."""
    right = agrees(predicted, true)
    return Illegal(true.rule, right) if isinstance(true, Illegal) else replace(true, foreseen=right)


class World(dspy.Module):
    """One LM call that predicts the next state of a task whose states are sets of facts.

    The task gives `predicted(state, action, facts)`, and may give `vocabulary` and `goal_share(state)`; its own
    `rules`, `key` and `is_goal` then say what the prediction is worth.
    """

    def __init__(self, user: type[dspy.Signature], *, notes: str | None = None) -> None:
        super().__init__()
        self.predict = Predict(compose(user, signatures.Predict, notes=notes))

    def render(self, task: Any, state: Any, action: Any) -> dict[str, Any]:
        return {"search_state": task.render(state), "search_action": task.show(action)}

    def read(self, prediction: dspy.Prediction, task: Any, state: Any, action: Any, cut: bool = False) -> Outcome:
        """Where the model says that `action` leads. Unread for a reply that contradicts itself or was cut off."""
        vocabulary = getattr(task, "vocabulary", None)
        said = reading.facts(prediction.next_state, state.facts, task.show(action), vocabulary=vocabulary, cut=cut)
        if said.error is not None:
            return Unread(prediction.next_state or "", why=said.reason)
        if not said.valid or said.state is None:
            return Illegal(said.reason or "the world model says so")
        return landed(task, task.predicted(state, action, said.state))

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return self.predict(**inputs)

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        return await self.predict.acall(**inputs)
