"""A task's hooks that never come back: for each a program whose search calls it, with what was called until then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from thoughtree import LATS, MCTS, RAP, Beam, Task, TreeOfThoughts
from thoughtree.search.environment import Observed
from thoughtree.testing import FaultyLM, RuleLM

SIGNATURE = "question -> answer"
INPUTS = {"question": "q"}


class Calls:
    """The calls of hooks, of which one hangs: `hook`, from its call number `after` on."""

    def __init__(self, hook: str, after: int) -> None:
        self.hook, self.after = hook, after
        self.made: Counter[str] = Counter()
        self.reached, self.released, self.returned = Event(), Event(), Event()

    def enter(self, hook: str) -> None:
        self.made[hook] += 1
        if hook == self.hook and self.made[hook] > self.after:
            self.reached.set()
            self.released.wait()
            self.returned.set()


def hooked(kind: type[Any], hooks: tuple[str, ...], calls: Calls) -> type[Any]:
    """A class of this kind whose hooks tell of their calls."""

    def telling(hook: str) -> Callable[..., Any]:
        def called(self: Any, *args: Any) -> Any:
            calls.enter(hook)
            return getattr(kind, hook)(self, *args)

        return called

    return type(kind.__name__, (kind,), {hook: telling(hook) for hook in hooks})


class Thoughts(Task[Any, Any]):
    """Free text, with every hook that a tree of thoughts may ask."""

    signature = SIGNATURE
    hooks: tuple[str, ...] = ("config", "for_inputs", "initial", "parse", "apply", "rules", "key", "is_goal")
    hooks += ("is_terminal", "render", "show", "answer", "dump", "load", "solvable")

    def key(self, state: Any) -> Any:
        return state

    def answer(self, state: Any) -> dict[str, Any]:
        return {"answer": str(state)}

    def is_terminal(self, state: Any) -> bool:
        return False


class Valued(Thoughts):
    """One that values its states, and lists its moves: no model is asked."""

    hooks = (*Thoughts.hooks, "value", "moves")

    def value(self, state: Any) -> float:
        return 1.0

    def moves(self, state: Any) -> Iterator[str]:
        yield from ("left", "right")


class Checked(Task[Any, Any]):
    """One that checks an answer, which the closing call gives."""

    signature = SIGNATURE
    hooks = ("check",)

    def check(self, fields: Mapping[str, Any]) -> bool:
        return False


@dataclass(frozen=True)
class Facts:
    facts: frozenset[str]


class Walk(Task[Any, Any]):
    """A world that a model predicts: each line of its reply is a fact."""

    signature = SIGNATURE
    hooks = ("predicted", "goal_share", "rules", "key", "is_goal", "is_terminal", "dump", "apply")

    def initial(self, inputs: Mapping[str, Any]) -> Facts:
        return Facts(frozenset({"at home"}))

    def apply(self, state: Facts, action: Any) -> Facts:
        return Facts(frozenset({f"after {len(state.facts)} {action}", *state.facts}))

    def predicted(self, state: Facts, action: Any, facts: Any) -> Facts:
        return Facts(frozenset(facts))

    def goal_share(self, state: Facts) -> float:
        return 0.5

    def rules(self, state: Facts) -> list[str]:
        return []

    def key(self, state: Facts) -> Any:
        return state.facts

    def is_goal(self, state: Facts) -> bool:
        return False

    def is_terminal(self, state: Facts) -> bool:
        return False

    def answer(self, state: Facts) -> dict[str, Any]:
        return {"answer": "; ".join(sorted(state.facts))}

    def dump(self, state: Facts) -> list[str]:
        return sorted(state.facts)

    def load(self, value: Any) -> Facts:
        return Facts(frozenset(value))


class World:
    """An environment that says all of itself that one may say."""

    signature = SIGNATURE
    hooks = (
        "config",
        "for_inputs",
        "initial",
        "parse",
        "render",
        "key",
        "answer",
        "trajectory",
        "dump",
        "load",
        "step",
    )

    def config(self) -> dict[str, Any]:
        return {}

    def for_inputs(self, inputs: Mapping[str, Any]) -> World:
        return self

    def initial(self, inputs: Mapping[str, Any]) -> str:
        return ""

    def parse(self, text: str, state: str) -> str:
        return text

    def step(self, state: str, action: str) -> Observed:
        return Observed(f"{state}{action}", observation="seen", key=f"{state}{action}")

    def render(self, state: str) -> str:
        return state

    def key(self, state: str) -> str:
        return state

    def answer(self, state: str) -> dict[str, Any]:
        return {"answer": state} if state else {}

    def trajectory(self, state: str) -> dict[str, Any]:
        return {"state": state}

    def dump(self, state: str) -> str:
        return state

    def load(self, value: str) -> str:
        return value


def _beam(task: Any, **knobs: Any) -> Any:
    return TreeOfThoughts(task=task, controller=Beam(width=2, branching=2, max_depth=3), **knobs)


def _listed(task: Any) -> Any:
    return _beam(task, propose="moves")


def _closing(task: Any) -> Any:
    return TreeOfThoughts(task=task, controller=Beam(width=1, branching=2, max_depth=1))


def _rollouts(task: Any) -> Any:
    return RAP(task=task, controller=MCTS(rollouts=3, branching=2, max_depth=2))


def _true(task: Any) -> Any:
    return RAP(task=task, controller=MCTS(rollouts=3, branching=2, max_depth=2), transition="check")


def _acts(env: Any) -> Any:
    return LATS(env=env, controller=MCTS(rollouts=3, branching=2, max_depth=2))


@dataclass(frozen=True, slots=True)
class HangingHook:
    """kind: the class of the task or environment. hook: the one that hangs, after so many calls. program: of the task.

    late: it is called once the search is over. config: of the call; a journal is one where the hook is of a journal.
    """

    kind: type[Any]
    hook: str
    program: Callable[[Any], Any] = _beam
    after: int = 0
    late: bool = False
    journal: bool = False
    resumed: bool = False  # it hangs as a journal is told again
    traced: bool = False  # it is called for an optimizer's trace
    inputs: Mapping[str, Any] = field(default_factory=lambda: INPUTS)

    @contextmanager
    def opened(self) -> Iterator[tuple[Any, FaultyLM, Calls]]:
        """The program, its model, and the calls of the task's hooks; the end of the block releases what hangs."""
        calls = Calls(self.hook, self.after)
        try:
            yield self.program(hooked(self.kind, self.kind.hooks, calls)()), model(), calls
        finally:
            calls.released.set()


def model() -> FaultyLM:
    said = RuleLM(
        lambda inputs, n: [f"{inputs['search_path'][-8:]} left", f"{inputs['search_path'][-8:]} right"],
        lambda inputs: "impossible" if "right" in inputs["search_path"] else "maybe",
        answer=lambda inputs: "closing",
        act=lambda inputs: f"go {len(inputs['search_path'])}",
        judge=lambda inputs: "0.5",
        reflect=lambda inputs: "go another way next time, and not this one",
        predict=lambda inputs: f"{inputs['search_state']}\nwent {inputs['search_action']}",
        approve=lambda inputs: "yes",
    )
    return FaultyLM(said)


HOOKS = {
    "for_inputs": HangingHook(Thoughts, "for_inputs"),
    "initial": HangingHook(Thoughts, "initial"),
    "config, of a journal": HangingHook(Thoughts, "config", after=1, journal=True),
    "key, of the first state": HangingHook(Thoughts, "key"),
    "is_goal, of the first state": HangingHook(Thoughts, "is_goal"),
    "parse": HangingHook(Thoughts, "parse", after=2),
    "apply": HangingHook(Thoughts, "apply", after=2),
    "rules": HangingHook(Thoughts, "rules", after=2),
    "key": HangingHook(Thoughts, "key", after=3),
    "is_goal": HangingHook(Thoughts, "is_goal", after=3),
    "is_terminal": HangingHook(Thoughts, "is_terminal", after=2),
    "render": HangingHook(Thoughts, "render", after=1),
    "show": HangingHook(Thoughts, "show", after=1),
    "value": HangingHook(Valued, "value", after=2),
    "moves": HangingHook(Valued, "moves", _listed, after=1),
    "check": HangingHook(Checked, "check", _closing),
    "answer": HangingHook(Thoughts, "answer", late=True),
    "solvable, of a trace": HangingHook(Thoughts, "solvable", late=True, traced=True),
    "apply, as a run is resumed": HangingHook(Thoughts, "apply", after=2, resumed=True),
    "predicted": HangingHook(Walk, "predicted", _rollouts, after=2),
    "goal_share": HangingHook(Walk, "goal_share", _rollouts, after=2),
    "rules, of what was predicted": HangingHook(Walk, "rules", _rollouts, after=2),
    "apply, where a model predicts": HangingHook(Walk, "apply", _true, after=2),
    "dump, of a state predicted": HangingHook(Walk, "dump", _rollouts, after=1, journal=True),
    "environment's for_inputs": HangingHook(World, "for_inputs", _acts),
    "environment's initial": HangingHook(World, "initial", _acts),
    "environment's config, of a journal": HangingHook(World, "config", _acts, after=1, journal=True),
    "environment's parse": HangingHook(World, "parse", _acts, after=2),
    "environment's render, for a journal's readers": HangingHook(World, "render", _acts, after=1, journal=True),
    "environment's key, of the first state": HangingHook(World, "key", _acts),
    "environment's dump": HangingHook(World, "dump", _acts, after=1, journal=True),
    "environment's load, as a run is resumed": HangingHook(World, "load", _acts, after=1, resumed=True),
    "environment's answer": HangingHook(World, "answer", _acts, late=True),
    "environment's trajectory": HangingHook(World, "trajectory", _acts, late=True),
}
