"""The dimensions of one search program, from the ranges that its knobs declare, and its plan by values of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, fields, replace
from typing import Any, get_args, get_type_hints

from ..modules.lats import LATS
from ..modules.plan import CONTROLLERS, Plan
from ..modules.program import Program
from ..modules.rap import RAP
from ..modules.roles import rating_of
from ..modules.scale import SCALES, Scale, Verdicts, scale_of
from ..search import Budget
from ..search.rating import Rating
from .dimensions import Dimension

SHARED = ("branching", "max_depth", "dedupe")  # of a controller, that another kind takes over
ONE_BY_ONE = ("value", "siblings")  # the ways of rating that use a scale
LISTED = ("moves", "choose")  # the ways of proposing for which the task lists its moves
MIDDLE = "scale.maybe"  # what the word in the middle of a scale of three is worth


def dimensions_of(program: Program, path: str = "") -> Iterator[tuple[Dimension, bool]]:
    """Each dimension, and whether it is tuned if nobody says anything; a dimension after those that it hangs on.

    path: of the program in a pipeline, which the names begin with.
    """
    prefix = f"{path}." if path else ""
    found = [*_of_roles(program), *_of_controller(program), *_of_budget(program.plan)]
    for dimension, by_default in found:
        when = tuple((prefix + name, values) for name, values in dimension.when)
        yield replace(dimension, name=prefix + dimension.name, when=when), by_default


def replanned(plan: Plan, values: Mapping[str, Any]) -> Plan:
    """`plan` with these values, by their names without a path. ValueError for values that no plan has."""
    own = {name: value for name, value in values.items() if "." not in name}
    kind = own.pop("controller", type(plan.controller).__name__)
    knobs = {name.partition(".")[2]: v for name, v in values.items() if name.startswith("controller.")}
    ceilings = {name.partition(".")[2]: v for name, v in values.items() if name.startswith("budget.")}
    changes: dict[str, Any] = dict(own)
    if "scale" in own or MIDDLE in values:
        changes["scale"] = _scale(own.get("scale", plan.scale), plan.scale, values.get(MIDDLE))
    if ceilings:
        changes["budget"] = replace(plan.budget or Budget(), **ceilings)
    return plan.replace(controller=_controller(plan.controller, kind, knobs), **changes)


# ---- the roles


def _of_roles(program: Program) -> Iterator[tuple[Dimension, bool]]:
    declared = {f.name: f for f in fields(Plan)}
    for name, by_default in _tunable(program):
        choices = _choices(program, name, declared[name])
        found = _dimension(name, getattr(program.plan, name), declared[name], Plan, rating_of(program, program.plan))
        if name == "scale":
            found = Dimension(
                name="scale", default=_name_of(program.plan.scale), when=(("rate", ("value", "siblings")),)
            )
        if choices is not None:
            found = replace(found, choices=choices)
        yield found, by_default and not found.fixed
    scale = program.plan.scale
    calibrated = program.plan.worth is not None  # then the words' values count for nothing
    if isinstance(scale, Verdicts) and len(scale.values) == 3 and program.plan.rate != "own" and not calibrated:
        low, middle, high = sorted(scale.values.values())
        least = max(low, high / 1000)
        when = (("scale", (_name_of(scale),)), ("rate", ONE_BY_ONE))
        yield Dimension(name=MIDDLE, default=middle, low=least, high=high, log=least > 0, when=when), True


def _tunable(program: Program) -> Iterator[tuple[str, bool]]:
    """The knobs of the plan that mean something to this program, and whether they are tuned unasked."""
    plan = program.plan
    if isinstance(program, LATS):
        yield from (("temperature", True), ("blend", True), ("agreement", True), ("rate_temperature", False))
        return
    if isinstance(program, RAP):
        yield from (("temperature", plan.propose != "moves"), ("blend", True), ("samples", True), ("aggregate", True))
        yield "rate_temperature", False
        return
    if plan.propose != "own":
        yield "propose", True
        yield "temperature", plan.propose != "moves"
    if plan.rate != "own":
        yield "rate", True
        yield "scale", True
        yield "samples", True
        yield "rate_temperature", False
    if plan.near is not None:
        yield "near", True
    yield "first", False


def _choices(program: Program, name: str, declared: Field[Any]) -> tuple[Any, ...] | None:
    """What this program can do of what its plan declares."""
    choices: tuple[Any, ...] = declared.metadata["choices"]
    if name == "propose":
        return tuple(choice for choice in choices if choice not in LISTED or program.task.has("moves"))
    if name == "rate":
        return tuple(choice for choice in choices if choice != "code" or program.task.has("value"))
    if name == "scale":
        own = _name_of(program.plan.scale)
        return choices if own in choices else (own, *choices)
    return None


def _scale(wanted: Any, own: Scale, middle: float | None) -> Scale:
    made = own if wanted == _name_of(own) else scale_of(wanted)
    if middle is None or not isinstance(made, Verdicts) or len(made.values) != 3:
        return made
    low, _, high = sorted(made.values, key=lambda word: made.values[word])
    return replace(made, values={word: middle if word not in (low, high) else v for word, v in made.values.items()})


def _name_of(scale: Scale) -> str:
    """A scale's name; of one of the user's own, what a rater is told of it."""
    return next((name for name, known in SCALES.items() if known == scale), scale.told)


# ---- the controller


def _of_controller(program: Program) -> Iterator[tuple[Dimension, bool]]:
    plan = program.plan
    now, kinds = plan.controller, tuple(CONTROLLERS)
    own = type(now).__name__
    if own not in CONTROLLERS:
        return  # of the user's own: its knobs are its own
    yield Dimension(name="controller", default=own, choices=(own, *(kind for kind in kinds if kind != own))), False
    rating, declared = rating_of(program, plan), dict[str, list[tuple[str, Dimension, bool]]]()
    for kind in kinds:
        made = _controller(now, kind, {})
        for field in fields(made):
            if not field.metadata:
                continue
            found = _dimension(f"controller.{field.name}", getattr(made, field.name), field, type(made), rating)
            words = isinstance(plan.scale, Verdicts) and plan.rate in ONE_BY_ONE and plan.worth is None
            if field.metadata["of"] == "value" and words:
                assert isinstance(plan.scale, Verdicts)
                found = _between_verdicts(found, plan.scale, rating)
            usual = found.ranged and field.metadata["of"] != "speed"
            declared.setdefault(field.name, []).append((kind, found, usual))
    for alike in declared.values():
        having = tuple(kind for kind, _, _ in alike)
        _, found, usual = next((entry for entry in alike if entry[0] == own), alike[0])
        yield replace(found, when=(("controller", having),)), usual


def _controller(now: Any, kind: str, knobs: Mapping[str, Any]) -> Any:
    """A controller of this kind: the one that there is, or one that takes over what both have."""
    if kind == type(now).__name__:
        return replace(now, **knobs) if knobs else now  # one of the user's own need not be a dataclass
    made = CONTROLLERS.get(kind)
    if made is None:
        raise ValueError(f"controller={kind!r}: must be one of {', '.join(CONTROLLERS)}")
    taken = {name: getattr(now, name) for name in SHARED if hasattr(now, name)}
    return made(**{name: value for name, value in {**taken, **knobs}.items() if _takes(made, name, value)})


def _takes(kind: Any, name: str, value: Any) -> bool:
    """Whether this kind has such a knob. What only another kind can be without, it has its own default for."""
    hints = get_type_hints(kind)
    return name in hints and (value is not None or type(None) in get_args(hints[name]))


def _between_verdicts(dimension: Dimension, scale: Verdicts, rating: Rating) -> Dimension:
    """A threshold on a scale of words: it matters only which of them reach it, and None is its own choice."""
    values = (None, *sorted({value * rating.scale for value in scale.values.values()}))
    own = () if dimension.default in values else (dimension.default,)
    return replace(dimension, choices=(*own, *values), low=None, high=None, optional=False)


# ---- the budget


def _of_budget(plan: Plan) -> Iterator[tuple[Dimension, bool]]:
    """Calls, from a tenth of what there are now; the rest is for who asks."""
    calls = plan.limits.calls
    for field in fields(Budget):
        value = getattr(plan.limits, field.name)
        whole = field.name in ("calls", "tokens", "nodes")
        low, high = (max(1, calls // 10), calls) if field.name == "calls" and calls is not None else (None, None)
        yield Dimension(name=f"budget.{field.name}", default=value, low=low, high=high, whole=whole, log=True), False


# ---- one knob


def _dimension(name: str, default: Any, field: Field[Any], owner: Any, rating: Rating) -> Dimension:
    """From a field's own range."""
    told = field.metadata
    if told["choices"]:
        return Dimension(name=name, default=default, choices=told["choices"])
    kinds = get_args(get_type_hints(owner)[field.name]) or (get_type_hints(owner)[field.name],)
    optional, whole = type(None) in kinds, float not in kinds
    low, high = told["low"], told["high"]
    if told["of"] == "value":
        low, high = rating.low * rating.scale, rating.high * rating.scale
    if low is not None and isinstance(default, int | float):
        low, high = min(low, default), max(high, default)
    return Dimension(name=name, default=default, low=low, high=high, whole=whole, optional=optional and default is None)
