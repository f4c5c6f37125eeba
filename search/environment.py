"""Where actions have consequences: the contract between a search and an environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Observed:
    """What one action led to in an environment.

    state: what the next step starts from. observation: what an actor is shown. reward: of this step, in any scale.
    solved: the environment confirms that the task is done. claimed: the actor says that this is the final answer, and
    the environment cannot tell. terminal: nothing can follow. failed: judged wrong, worth a reflection; unless
    `terminal`, it may still be built upon. feedback: why it was judged so. value: how good the state
    is from 0 to 1 where the environment can tell (a share of tests passed), else None. key: the same key is the same
    state (None: equal to no other). error: what was raised in it, where that is news to the actor, as of a tool; the
    result counts them. warning: what a reader of the result should know of this run; the result says it once.
    """

    state: Any
    observation: str = ""
    reward: float = 0.0
    solved: bool = False
    terminal: bool = False
    failed: bool = False
    feedback: str | None = None
    value: float | None = None
    key: Any = None
    claimed: bool = False
    error: str | None = None
    warning: str | None = None


class EnvironmentFault(Exception):
    """Not an outcome: the environment itself did not work. `transient`: the same step may work later."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


@runtime_checkable
class Environment(Protocol):
    """A pure environment: a step never changes the state that it starts from, and may run beside others.

    It may raise `Illegal(rule)` for an action that it refuses before anything happens.
    """

    def initial(self, inputs: dict[str, Any]) -> Any:
        """The state at the root."""
        ...

    def step(self, state: Any, action: Any) -> Observed:
        """Where `action` leads from `state`."""
        ...


@runtime_checkable
class LiveEnvironment(Protocol):
    """One that is in a single state at a time, and can be put back: stepped one at a time, never shared.

    With `reset(inputs)`, which may return what is seen there, each search begins where that leads; without it, where it
    stands. A journal writes tokens: plain data, or give it dump(token) and load(value).
    """

    def step(self, action: Any) -> Observed: ...

    def snapshot(self) -> Any:
        """A token for the state that it is in now."""
        ...

    def restore(self, token: Any) -> None:
        """Back to the state of that token."""
        ...
