"""An environment where a task is wanted: its states and actions, with the steps left to the world."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from ..search.environment import Environment, EnvironmentFault, Observed
from ..search.protocol import Failed, Illegal, Stepped
from . import tagged
from .task import Task
from .turns import first_action

ANY_FORMAT = "one action, in the words that the task uses"


class EnvironmentTask(Task[Any, Any]):
    """What an environment may say of itself, by attributes that it need not have: signature, action_format, parse(text,
    state), moves(state), render(state), answer(state), key(state), instructions(), dump(state), load(value),
    for_inputs(inputs).

    rest() is called when a search is over, whatever ended it.

    And of how it is used: calls (LM calls of one step at most), astep (as step, awaited), thinks (the actor's reasoning
    comes with its action), leaves_open (a path may hold no answer yet), trajectory(state).
    """

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.signature = getattr(env, "signature", None)
        self.action_format: str = getattr(env, "action_format", ANY_FORMAT)
        self.calls: int = getattr(env, "calls", 0)  # LM calls that one step makes at most
        self.thinks: bool = getattr(env, "thinks", False)
        self.leaves_open: bool = getattr(env, "leaves_open", False)

    def has(self, hook: str) -> bool:
        return callable(getattr(self.env, hook, None))

    def config(self) -> dict[str, Any]:
        own: Any = getattr(self.env, "config", None)
        told: dict[str, Any] = {} if own is None else own()
        return {**told, "env": f"{type(self.env).__module__}:{type(self.env).__qualname__}"}

    def for_inputs(self, inputs: Mapping[str, Any]) -> EnvironmentTask:
        own = getattr(self.env, "for_inputs", None)
        return self if own is None else EnvironmentTask(own(inputs))

    def instructions(self) -> str | None:
        own = getattr(self.env, "instructions", None)
        return None if own is None else own()

    def initial(self, inputs: Mapping[str, Any]) -> Any:
        return self.env.initial(dict(inputs))

    def parse(self, text: str, state: Any) -> Any:
        own = getattr(self.env, "parse", None)
        if own is not None:
            return own(text, state)
        return first_action(text) or Illegal("empty action")

    def moves(self, state: Any) -> Iterable[Any]:
        own = getattr(self.env, "moves", None)
        if own is None:
            raise NotImplementedError(f"{type(self.env).__name__} does not list its moves")
        found: Iterable[Any] = own(state)
        return found

    def render(self, state: Any) -> str:
        own = getattr(self.env, "render", None)
        return "" if own is None else str(own(state))

    def key(self, state: Any) -> Hashable | None:
        own = getattr(self.env, "key", None)
        return None if own is None else own(state)

    def answer(self, state: Any) -> dict[str, Any]:
        own = getattr(self.env, "answer", None)
        return {} if own is None else dict(own(state))

    def trajectory(self, state: Any) -> dict[str, Any] | None:
        """The path as an agent's trajectory; None where the environment has no word for it."""
        own = getattr(self.env, "trajectory", None)
        return None if own is None or state is None else dict(own(state))

    def dump(self, state: Any) -> Any:
        own = getattr(self.env, "dump", None)
        if own is not None:
            return own(state)
        try:
            return tagged.dump(state)
        except TypeError as error:
            raise TypeError(
                f"{type(self.env).__name__}: a state of type {type(state).__name__} cannot be written to JSON "
                f"({error}); give the environment dump(state) and load(value)"
            ) from error

    def load(self, value: Any) -> Any:
        own = getattr(self.env, "load", None)
        return tagged.load(value) if own is None else own(value)

    def dump_key(self, key: Any) -> Any:
        """A key that the environment gave with a step, as a JSON value."""
        try:
            return tagged.dump(key)
        except TypeError as error:
            raise TypeError(
                f"{type(self.env).__name__}: a key of type {type(key).__name__} cannot be written to JSON ({error}); "
                "give the environment key(state), or keys of plain data"
            ) from error

    def load_key(self, value: Any) -> Any:
        return tagged.load(value)

    def observe(self, state: Any, action: Any) -> Stepped | Illegal | Failed:
        """Take one step in the environment. A fault of it is a failure, never a low score."""
        try:
            return self._stepped(self.env.step(state, action))
        except (Illegal, EnvironmentFault) as error:
            return _refused(error)

    async def aobserve(self, state: Any, action: Any) -> Stepped | Illegal | Failed:
        """The same, awaited, for an environment that has `astep`."""
        try:
            return self._stepped(await getattr(self.env, "astep")(state, action))  # noqa: B009
        except (Illegal, EnvironmentFault) as error:
            return _refused(error)

    def rest(self) -> None:
        """The search is over: a step that still runs is waited for, and none begins any more."""
        own = getattr(self.env, "rest", None)
        if own is not None:
            own()

    def _stepped(self, seen: Any) -> Stepped:
        if not isinstance(seen, Observed):
            raise TypeError(f"{type(self.env).__name__}.step returned {seen!r}; it must return an Observed")
        record: dict[str, Any] = {"observation": seen.observation, "feedback": seen.feedback, "value": seen.value}
        record |= {name: told for name in ("error", "warning") if (told := getattr(seen, name)) is not None}
        return Stepped(
            seen.state,
            seen.key,
            solved=seen.solved,
            claimed=seen.claimed and not seen.solved,
            terminal=seen.terminal or seen.solved,
            missed=seen.failed and not seen.solved,
            reward=seen.reward,
            observation=record,
        )


def _refused(error: Illegal | EnvironmentFault) -> Illegal | Failed:
    if isinstance(error, Illegal):
        return error
    return Failed(f"environment: {error}", transient=error.transient)
