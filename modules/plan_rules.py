"""What the knobs of a plan may be. Each error names the knob, its value and the mend."""

from __future__ import annotations

from sys import float_info
from typing import TYPE_CHECKING, Any

from ..search.rating import MOST_SAMPLES
from .rate import MODES
from .worth import Worth

if TYPE_CHECKING:
    from .plan import Plan

HOTTEST = 2.0  # temperature that providers take
PROPOSERS = ("lm", "samples", "choose", "moves", "own")
WORDS: dict[str, tuple[str | None, ...]] = {
    "propose": PROPOSERS,
    "rate": (*MODES, "code", "own"),
    "join": ("sum", "mean"),
    "answer": ("auto", "lm", "path"),
    "first": ("answer", None),
    "transition": ("check", "replace", None),
    "on_failure": ("best", "raise"),
}
COUNTS = {"samples": 1, "concurrency": 1, "step_concurrency": 1, "retries": 0}  # and their least


def check(plan: Plan) -> None:
    """ValueError or TypeError for the first knob that is off its rule."""
    _check_controller(plan.controller)
    for name, allowed in WORDS.items():
        if getattr(plan, name) not in allowed:
            raise ValueError(f"{name}={getattr(plan, name)!r}: must be one of {', '.join(map(repr, allowed))}")
    for name in ("temperature", "rate_temperature"):
        _check_number(plan, name, f"a number from 0 to {HOTTEST:g}, or None for the LM's own", 0.0, HOTTEST, True)
    for name in ("blend", "agreement"):
        _check_number(plan, name, "a number from 0 to 1", 0.0, 1.0)
    for name, least in COUNTS.items():
        value = getattr(plan, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name}={value!r}: must be an integer of at least {least}")
    if plan.samples > MOST_SAMPLES:
        raise ValueError(f"samples={plan.samples!r}: must be at most {MOST_SAMPLES}")
    if not isinstance(plan.seed, int) or isinstance(plan.seed, bool):  # None would be another seed every time
        raise ValueError(f"seed={plan.seed!r}: must be an integer")
    for name in ("aggregate", "history"):
        if not isinstance(getattr(plan, name), bool):
            raise ValueError(f"{name}={getattr(plan, name)!r}: must be True or False")
    _check_worth(plan)
    _check_number(plan, "near", "a finite number of at least 0, or None", 0.0, float_info.max, True)
    _check_number(plan, "threshold", "a finite number, or None", -float_info.max, float_info.max, True)


def _check_controller(controller: Any) -> None:
    whole = all(hasattr(controller, name) for name in ("routines", "choose", "dedupe", "stop"))
    if not whole or isinstance(controller, type):
        raise TypeError(
            f"controller={controller!r}: must be a controller such as Beam(), DFS() or BestFirst(); "
            "a class is called first"
        )


def _check_number(plan: Plan, name: str, words: str, low: float, high: float, may_be_none: bool = False) -> None:
    value = getattr(plan, name)
    if value is None and may_be_none:
        return
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name}={value!r}: must be {words}")


def _check_worth(plan: Plan) -> None:
    if plan.worth is None:
        return
    if not isinstance(plan.worth, Worth):
        raise TypeError(f"worth={plan.worth!r}: must be a Worth, as calibrate_rater fits one, or None")
    if plan.rate not in ("value", "siblings"):
        raise ValueError(f"worth=..., rate={plan.rate!r}: only ratings on a scale have a worth; set worth=None")
    if plan.near:
        raise ValueError(f"worth=..., near={plan.near!r}: near would be measured in worth; set near=0 or worth=None")
