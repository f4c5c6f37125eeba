"""What a problem can check in code: the contract between a task and everything that searches it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar, cast

from ..search.protocol import Illegal
from . import codec
from .layout import numbered

S = TypeVar("S")
A = TypeVar("A")

HOOKS = frozenset(
    {"config", "for_inputs", "instructions", "initial", "parse", "apply", "rules", "key", "moves"}
    | {"is_goal", "check", "is_terminal", "value", "solvable"}
    | {"render", "show", "write", "answer", "dump", "load"}
)


class Task(Generic[S, A]):
    """Everything about a problem that needs no model. `S` is a state, `A` an action.

    Every hook is optional, and `has(hook)` says which ones a subclass gives. Left alone, a state is the
    tuple of the thoughts so far, any text that is not blank is a thought, and nothing is checked.

    Hooks are pure: the same arguments give the same result, and no argument is changed. A search repeats
    them when it is resumed, and calls them from several threads. One that does not come back is left where
    it hangs when the search's time is up, or it is stopped; `search.hung` names it.

    A hook that says no returns or raises `Illegal(rule)`. Keep rules few and short: they are counted.
    """

    signature: Any = None
    """The dspy signature (string or class) of a program that is given this task and no signature."""

    def has(self, hook: str) -> bool:
        """Does this task give `hook` itself? ValueError for a name that is no hook."""
        if hook not in HOOKS:
            raise ValueError(f"hook={hook!r} is not one of {', '.join(sorted(HOOKS))}")
        return getattr(type(self), hook) is not getattr(Task, hook) or hook in getattr(self, "__dict__", ())

    # The problem

    def config(self) -> dict[str, Any]:
        """The keyword arguments, as JSON values, with which the class makes this task again."""
        return {}

    def for_inputs(self, inputs: Mapping[str, Any]) -> Task[S, A]:
        """The task for one problem, where code has to know its inputs. Returns another task or this one."""
        return self

    def instructions(self) -> str | None:
        """What the prompts should say about this task beside the signature, in the task's own words."""
        return None

    def initial(self, inputs: Mapping[str, Any]) -> S:
        """The state at the root. ValueError, naming field and value, for inputs that are no problem."""
        return cast(S, ())

    # One step

    def parse(self, text: str, state: S) -> A | Illegal:
        """The action that `text`, one proposal of a model, means in `state`."""
        thought = text.strip()
        return cast(A, thought) if thought else Illegal("empty thought")

    def apply(self, state: S, action: A) -> S | Illegal:
        """The state that `action` leads to. `state` itself stays as it is."""
        if not isinstance(state, tuple):
            raise NotImplementedError(
                f"{type(self).__name__} has no apply(state, action): only a tuple of thoughts grows by itself"
                f", and this state is of type {type(state).__name__}"
            )
        return cast(S, (*state, action))

    def rules(self, state: S) -> Iterable[str]:
        """The rules that a state breaks. Any makes the step that led there illegal."""
        return ()

    def key(self, state: S) -> Hashable | None:
        """States with equal keys are one state, and only the first is searched. None: equal to no other."""
        return None

    def moves(self, state: S) -> Iterable[A]:
        """All the legal actions, in a fixed order."""
        raise NotImplementedError(f"{type(self).__name__} does not list its moves")

    # Verdicts

    def is_goal(self, state: S) -> bool:
        """Does this state solve the problem? True is a proof: a search ends on it."""
        return False

    def check(self, fields: Mapping[str, Any]) -> bool | Illegal:
        """Do these output fields solve the problem? Asked of the task that `for_inputs` returned."""
        raise NotImplementedError(f"{type(self).__name__} does not check answers")

    def is_terminal(self, state: S) -> bool:
        """Can nothing follow? By default: `moves` is given, and there are none."""
        return self.has("moves") and next(iter(self.moves(state)), None) is None

    def value(self, state: S) -> float:
        """How promising is this state? Higher is better."""
        raise NotImplementedError(f"{type(self).__name__} does not value states")

    def solvable(self, state: S) -> bool | None:
        """Can this state still be solved? The truth where code knows it, else None.

        It explains a search that is over, and is never asked by one.
        """
        return None

    # To the reader

    def render(self, state: S) -> str:
        """The state as prompts show it."""
        if isinstance(state, tuple):
            return numbered(map(str, state)) or "(nothing yet)"
        return str(state)

    def show(self, action: A) -> str:
        """An action as a person reads it, and as `parse` would read it again."""
        return str(action)

    def write(self, action: A, state: S) -> str:
        """An action as `instructions` asks for it in `state`, where that is more than `show` says: for examples in
        prompts. `parse` reads it too.
        """
        return self.show(action)

    def answer(self, state: S) -> dict[str, Any]:
        """The output fields that this state determines; the others are left out."""
        return {}

    # To the disk

    def dump(self, state: S) -> Any:
        """A state as a JSON value. TypeError, naming the mend, for one that cannot be written."""
        return codec.dump(self, state)

    def load(self, value: Any) -> S:
        """The state that `dump` wrote."""
        return cast(S, codec.load(self, value))
