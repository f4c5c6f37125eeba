"""A live environment as a pure one: put back before each step, and left as it was found."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..search.environment import Environment, EnvironmentFault, LiveEnvironment, Observed
from . import tagged

logger = logging.getLogger(__name__)

SAID = ("signature", "action_format", "thinks", "leaves_open", "instructions")
OF_STATE = ("parse", "moves", "answer", "trajectory")
REST = 5.0  # seconds that a step may still take when its search is over


@dataclass(frozen=True, slots=True)
class Mark:
    """A state of a live environment: the token that restores it, and what was seen on the way in."""

    token: Any
    text: str = ""


class Rewound:
    """Steps a live environment for a search: one at a time, each from the state of its own node.

    Siblings never share a state, and after every step, also one that raises, it is back where it was before. So it is
    when a search is over, whatever ended it: a step that still runs then is waited for, for `REST` seconds.
    """

    def __init__(self, live: LiveEnvironment) -> None:
        self.live = live
        self._lock = _lock_of(live)
        self._over = False

    def __reduce__(self) -> Any:
        return Rewound, (self.live,)

    def for_inputs(self, inputs: Mapping[str, Any]) -> Rewound:
        """Its own for each search, as each comes to its own end."""
        return Rewound(self.live)

    def config(self) -> dict[str, Any]:
        own: Any = getattr(self.live, "config", None)
        return {"live": type(self.live).__name__, **({} if own is None else own())}

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
            if self._over:
                raise EnvironmentFault("the search is over, and the environment is left as it was")
            before = self.live.snapshot()
            try:
                self.live.restore(state.token)
                seen = self.live.step(action)
                return replace(seen, state=Mark(self.live.snapshot(), seen.observation))
            finally:
                self.live.restore(before)

    def rest(self) -> None:
        self._over = True
        if self._lock.acquire(timeout=REST):
            self._lock.release()
        else:
            logger.warning("%r: a step still runs %g s after its search; it is restored when it ends", self.live, REST)

    def render(self, state: Mark) -> str:
        return state.text

    # What a live environment may say of itself, as a pure one does. Where a state is asked for it is given the token.

    def __getattr__(self, name: str) -> Any:
        if name not in SAID and name not in OF_STATE:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found: Any = getattr(self.live, name)
        if name not in OF_STATE:
            return found
        return lambda *given: found(*(one.token if isinstance(one, Mark) else one for one in given))

    def dump(self, state: Mark) -> dict[str, Any]:
        own = getattr(self.live, "dump", tagged.dump)
        return {"token": own(state.token), "text": state.text}

    def load(self, value: Any) -> Mark:
        own = getattr(self.live, "load", tagged.load)
        return Mark(own(value["token"]), str(value["text"]))


def _lock_of(live: Any) -> threading.Lock:
    """One for each environment, however many programs and copies of them step it."""
    with _making:
        lock = _locks.get(id(live))
        if lock is None:
            lock = _locks[id(live)] = threading.Lock()  # gone with the last one that steps it, and before its id is
        return lock


_making = threading.Lock()
_locks: weakref.WeakValueDictionary[int, threading.Lock] = weakref.WeakValueDictionary()


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
