"""An environment of whole attempts: each action is an answer, and a reward function says what it is worth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

import dspy

from ..search.environment import Observed
from ..search.protocol import Illegal
from ..tasks import tagged
from . import reader as reading
from .answer import typed
from .own import is_coroutine
from .reward import Reward

State = tuple[dict[str, Any], ...]  # the attempts so far; the last one is what the state is worth


class Attempts:
    """Pure: the state is the list of attempts, and a failed one may be refined by the next.

    TypeError for a reward that is no ordinary function; ValueError for a threshold that is no number.
    """

    def __init__(self, user: type[dspy.Signature], reward: Reward, inputs: Mapping[str, Any] | None = None) -> None:
        if not callable(reward.fn) or is_coroutine(reward.fn):
            raise TypeError(f"reward_fn={reward.fn!r}: must be an ordinary function, reward_fn(inputs, prediction)")
        threshold = reward.threshold
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not isfinite(threshold):
            raise ValueError(f"threshold={threshold!r}: must be a finite number")
        self.user, self.reward, self.inputs = user, reward, dict(inputs or {})
        self.signature = user
        self.calls = reward.calls  # LM calls of a step

    @property
    def action_format(self) -> str:
        names = list(self.user.output_fields)
        if len(names) == 1:
            return f"the value of {names[0]} alone"
        return f"a JSON object with the keys {', '.join(names)}"

    def config(self) -> dict[str, Any]:
        return {"threshold": self.reward.threshold}

    def for_inputs(self, inputs: Mapping[str, Any]) -> Attempts:
        return Attempts(self.user, self.reward, inputs)

    def initial(self, inputs: dict[str, Any]) -> State:
        return ()

    def parse(self, text: str, state: State) -> str | Illegal:
        """The attempt as JSON text, the same for equal attempts."""
        try:
            return json.dumps(self._fields(text), sort_keys=True, default=str)
        except (ValueError, TypeError) as error:
            return Illegal(f"not an answer of the right type: {error}")

    def _fields(self, text: str) -> dict[str, Any]:
        names = list(self.user.output_fields)
        said = reading.code(text).strip()
        if len(names) == 1:
            return {names[0]: typed(self.user, names[0], said)}
        given = json.loads(said)
        if not isinstance(given, dict) or not set(names) <= set(given):
            raise ValueError(f"needs a JSON object with the keys {', '.join(names)}")
        return {name: typed(self.user, name, given[name]) for name in names}

    def step(self, state: State, action: str) -> Observed:
        fields = {name: typed(self.user, name, value) for name, value in json.loads(action).items()}
        score, feedback = self.reward.judge(self.inputs, fields)
        solved = score >= self.reward.threshold
        return Observed(
            (*state, json.loads(action)),
            observation=f"score {score:g}" + (f": {feedback}" if feedback else ""),
            reward=score,
            solved=solved,
            failed=not solved,
            feedback=feedback,
            value=min(1.0, max(0.0, score / self.reward.threshold)) if self.reward.threshold > 0 else None,
            key=action,
        )

    def answer(self, state: State) -> dict[str, Any]:
        if not state:
            return {}
        return {name: typed(self.user, name, value) for name, value in state[-1].items()}

    def load(self, value: Any) -> State:
        """A state from a file. ValueError for what is none."""
        state = tagged.load(value)
        if not isinstance(state, tuple) or not all(isinstance(attempt, dict) for attempt in state):
            raise ValueError(f"{value!r} is no list of attempts")
        return state

    def render(self, state: State) -> str:
        return "\n".join(json.dumps(attempt) for attempt in state)
