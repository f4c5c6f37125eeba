"""A live environment as a pure one: put back before each step, and left as it was found."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..search.environment import Environment, LiveEnvironment, Observed


@dataclass(frozen=True, slots=True)
class Mark:
    """A state of a live environment: the token that restores it, and what was seen on the way in."""

    token: Any
    text: str = ""


class Rewound:
    """Steps a live environment for a search: one at a time, each from the state of its own node.

    Siblings never share a state, and after every step, also one that raises, it is back where it was before.
    """

    def __init__(self, live: LiveEnvironment) -> None:
        self.live = live
        self._lock = threading.Lock()

    def initial(self, inputs: Mapping[str, Any]) -> Mark:
        with self._lock:
            reset = getattr(self.live, "reset", None)
            if reset is None:
                return Mark(self.live.snapshot())
            before = self.live.snapshot()
            try:
                text = reset(dict(inputs))
                return Mark(self.live.snapshot(), "" if text is None else str(text))
            finally:
                self.live.restore(before)

    def step(self, state: Mark, action: Any) -> Observed:
        with self._lock:
            before = self.live.snapshot()
            try:
                self.live.restore(state.token)
                seen = self.live.step(action)
                return replace(seen, state=Mark(self.live.snapshot(), seen.observation))
            finally:
                self.live.restore(before)

    def render(self, state: Mark) -> str:
        return state.text


def environment_of(env: Any) -> Environment:
    """`env` as a pure environment. TypeError for one that can be neither undone nor stepped purely."""
    if isinstance(env, type):
        raise TypeError(f"env={env!r}: must be an environment, not a class; call it first")
    if callable(getattr(env, "snapshot", None)) and callable(getattr(env, "restore", None)):
        if not callable(getattr(env, "step", None)):
            raise TypeError(f"env={env!r}: has no step(action)")
        return Rewound(env)
    if callable(getattr(env, "initial", None)) and callable(getattr(env, "step", None)):
        found: Environment = env
        return found
    raise TypeError(
        f"env={env!r}: a search takes steps back, so an environment either steps a state purely (initial(inputs), "
        "step(state, action) -> Observed) or can be put back (step(action), snapshot(), restore(token)); this one does "
        "neither, and its actions could not be undone"
    )
