"""How a program searches: the knobs that are saved, loaded, copied and tuned with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from dspy.predict.parameter import Parameter

from ..search import ABMCTS, DFS, MCTS, Beam, BestFirst, Budget
from ..search.knobs import knob
from .about import SAME
from .lessons import Lessons
from .plan_rules import check
from .predictor import DAMAGED
from .rate import MODES
from .scale import SCALES, Anchored, Numbers, Scale, Verdicts, scale_of
from .worth import Worth

FORMAT = "thoughtree.program/1"
CONTROLLERS: dict[str, type[Any]] = {kind.__name__: kind for kind in (DFS, Beam, BestFirst, MCTS, ABMCTS)}
STRUCTURE = ("propose", "rate", "scale", "answer", "transition")  # what the roles' signatures hang on
DEFAULT_CALLS = 100  # of depth-first search, which has no bound that grows slowly; the others have their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One program's knobs.

    controller: DFS, Beam, BestFirst, MCTS or ABMCTS. budget: ceilings of one call (None: 100 calls for DFS, else none
    but the controller's own size). propose: "lm" (n steps in one call), "samples" (n calls of one step each), "choose"
    (n of the task's legal moves, chosen in one call), "moves" (the task's, no model), or "own" (the program was given a
    function or module). rate: "value", "siblings", "vote", "pairs", "code" (the task's value), or "own". scale,
    samples, join: of a rating. worth: what the scale's values are worth, by depth, where that was measured (None: the
    values themselves). near: a cheap rater asks first, and the dear one only about near ties, this close in value.
    temperature, rate_temperature: of the proposer's and the rater's calls, where the model takes one (None: the LM's
    own). blend, agreement: the weights of what an environment or a goal check knows, and of agreeing samples, in a
    judge's value. answer: "auto" (code where it can, else one closing call), "lm", or "path". first: "answer" makes one
    direct answer the first candidate. threshold: the reward that verifies an answer. transition: whether the task's own
    step checks or replaces a world model's. aggregate: finished paths that no code can judge vote for their answers.
    lessons: what an actor is told from the start. on_failure: "best" or "raise". concurrency: calls in flight.
    step_concurrency: steps of an environment in flight, beside the calls; with one call at a time there is one thing at
    a time. seed: for ties and sampling. retries: how often a call that may go through later is tried again. history:
    keep DSPy's history as well.
    """

    controller: Any = field(default_factory=Beam)
    budget: Budget | None = None
    propose: Literal["lm", "samples", "choose", "moves", "own"] = knob(
        "lm", choices=("lm", "samples", "choose", "moves")
    )
    rate: Literal["value", "siblings", "vote", "pairs", "code", "own"] = knob("value", choices=(*MODES, "code"))
    scale: Scale = field(default_factory=Verdicts, metadata={"choices": tuple(SCALES)})
    worth: Worth | None = None
    samples: int = knob(1, low=1, high=5)
    join: Literal["sum", "mean"] = "sum"
    near: float | None = knob(None, of="value")
    temperature: float | None = knob(None, low=0.0, high=1.5)
    rate_temperature: float | None = knob(None, low=0.0, high=1.5)
    blend: float = knob(0.5, low=0.0, high=1.0)
    agreement: float = knob(0.0, low=0.0, high=1.0)
    answer: Literal["auto", "lm", "path"] = "auto"
    first: Literal["answer"] | None = knob(None, choices=(None, "answer"))
    threshold: float | None = None
    transition: Literal["check", "replace"] | None = None
    aggregate: bool = knob(False, choices=(False, True))
    lessons: Lessons = field(default_factory=Lessons)
    on_failure: Literal["best", "raise"] = "best"
    concurrency: int = 8
    step_concurrency: int = 4
    seed: int = 0
    retries: int = 2
    history: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "lessons", Lessons(self.lessons))
        check(self)

    @property
    def limits(self) -> Budget:
        """The budget of one call, with the default that goes with the controller."""
        if self.budget is not None:
            return self.budget
        return Budget(calls=DEFAULT_CALLS) if isinstance(self.controller, DFS) else Budget()

    def dump(self) -> dict[str, Any]:
        """As JSON. TypeError for a controller of the user's own that cannot be named."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        dump = getattr(self.controller, "dump", None)
        if dump is None or type(self.controller).__name__ not in CONTROLLERS:
            raise TypeError(
                f"controller={self.controller!r} cannot be saved: only {', '.join(CONTROLLERS)} can; "
                "set another controller, or build the program in code"
            )
        if self.worth is None:
            del plain["worth"]  # as before there was one
        else:
            plain["worth"] = self.worth.dump()
        return plain | {
            "controller": dump(),
            "budget": None if self.budget is None else self.budget.dump(),
            "scale": dump_scale(self.scale),
            "lessons": list(self.lessons),
        }

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> Plan:
        """Back from JSON. ValueError, naming the knob, for what no plan of this release has."""
        known = {f.name for f in fields(cls)}
        if strange := sorted(set(state) - known):
            raise ValueError(f"unknown settings {strange}; saved by another release?")
        knobs = dict(state)
        if "controller" in knobs:
            knobs["controller"] = load_controller(knobs["controller"])
        if knobs.get("budget") is not None:
            knobs["budget"] = Budget(**knobs["budget"])
        if "scale" in knobs:
            knobs["scale"] = load_scale(knobs["scale"])
        if knobs.get("worth") is not None:
            knobs["worth"] = Worth.load(knobs["worth"])
        return cls(**knobs)

    def replace(self, **changes: Any) -> Plan:
        if "budget" in changes and changes["budget"] is not None:
            changes["budget"] = Budget.of(changes["budget"])
        if "scale" in changes:
            changes["scale"] = scale_of(changes["scale"])
        if "lessons" in changes:
            changes["lessons"] = Lessons.of(changes["lessons"])
        if any(changes.get(name, getattr(self, name)) != getattr(self, name) for name in ("rate", "scale")):
            changes.setdefault("worth", None)  # it was measured of another rater
        return replace(self, **changes)


def load_controller(state: Mapping[str, Any]) -> Any:
    knobs = dict(state)
    kind = knobs.pop("kind", None)
    if kind not in CONTROLLERS:
        raise ValueError(f"controller {kind!r} is not one of {', '.join(CONTROLLERS)}")
    try:
        return CONTROLLERS[kind](**knobs)
    except TypeError as error:
        raise ValueError(f"controller {kind}: {error}; saved by another release?") from error


def dump_scale(scale: Scale) -> dict[str, Any]:
    kinds = {Verdicts: "verdict", Numbers: "unit", Anchored: "anchored"}
    return {"kind": kinds[type(scale)]} | {f.name: getattr(scale, f.name) for f in fields(scale)}


def load_scale(state: Mapping[str, Any]) -> Scale:
    knobs = dict(state)
    kind = {"verdict": Verdicts, "unit": Numbers, "anchored": Anchored}.get(knobs.pop("kind", ""))
    if kind is None:
        raise ValueError(f"scale {dict(state)!r} is of no known kind")
    made: Scale = kind(**knobs)
    return made


class Settings(Parameter):
    """A program's plan as a DSPy parameter: saved, loaded and copied with it, alone or in a pipeline."""

    def __init__(self, plan: Plan, about: Mapping[str, Any]) -> None:
        self.plan = plan
        self.about = dict(about)

    def reset(self) -> None:
        """Nothing: `reset_copy` takes back what was learned, and a pipeline's width is none of that."""

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return {"format": FORMAT, **self.about, "plan": self.plan.dump()}

    def load_state(self, state: Any, **_: Any) -> Settings:
        self.plan = self.checked(state)
        return self

    def checked(self, state: Any) -> Plan:
        """The plan in a saved state. ValueError, naming it, for anything that makes it another program's."""
        if not isinstance(state, Mapping) or state.get("format") != FORMAT:
            found = state.get("format") if isinstance(state, Mapping) else type(state).__name__
            raise ValueError(f"not the settings of a thoughtree program (format {found!r}, expected {FORMAT!r})")
        for name in SAME:
            if state.get(name) != self.about[name]:
                raise ValueError(
                    f"saved from another program: its {name} is {state.get(name)!r}, this one's {self.about[name]!r}"
                )
        if not isinstance(state.get("plan"), Mapping):
            raise ValueError("damaged settings of a thoughtree program: they have no plan")
        try:
            plan = Plan.load(state["plan"])
        except DAMAGED as error:
            raise ValueError(f"damaged settings of a thoughtree program ({error})") from error
        for name in STRUCTURE:
            if getattr(plan, name) != getattr(self.plan, name):
                raise ValueError(
                    f"saved with {name}={getattr(plan, name)!r}, and this program was built with "
                    f"{getattr(self.plan, name)!r}; build it alike, or use thoughtree.load(path), or into= of that"
                )
        return plan
