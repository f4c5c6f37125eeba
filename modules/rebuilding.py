"""The same program by another plan: what a tuner needs, since the roles' signatures hang on some of the knobs."""

from __future__ import annotations

from typing import Any

import dspy

from . import roles
from .combination import check
from .plan import Plan
from .program import Program
from .rate import Rate
from .tree_of_thoughts import TreeOfThoughts

# The knobs that each role's prompt hangs on. `scale` counts for the rater alone, and only by what the rater is told.
HANGS_ON = {"propose": ("propose",), "rate": ("rate", "scale"), "answer": ("answer", "first")}


def rebuild(program: Program, plan: Plan) -> None:
    """Make `program` search by `plan`.

    A role whose prompt stays the same keeps its instructions, demos and LM; one that is asked otherwise starts anew,
    with the LM of the one in whose place it is; in no one's place, with the LM that all predictors have.
    Only a TreeOfThoughts can change its `propose`, `rate`, `scale`, `answer` and `first`.
    Raises ValueError for a plan that the program cannot follow, which is then of no more use.
    """
    now = program.plan
    changed = [name for names in HANGS_ON.values() for name in names if getattr(now, name) != getattr(plan, name)]
    if changed and not isinstance(program, TreeOfThoughts):
        name = changed[0]
        raise ValueError(
            f"plan.{name}={getattr(plan, name)!r}: a {type(program).__name__} is built with "
            f"{name}={getattr(now, name)!r}, and cannot be rebuilt with another"
        )
    for name in ("propose", "rate"):
        if "own" in (getattr(now, name), getattr(plan, name)) and getattr(now, name) != getattr(plan, name):
            raise ValueError(f"plan.{name}={getattr(plan, name)!r}: this program's is {getattr(now, name)!r}")
    if changed:
        _rebuild(program, now, plan)
    check(program, plan)
    program.settings.plan = plan


def _rebuild(program: Program, now: Plan, plan: Plan) -> None:
    wanted = roles.made(program, plan, _own(program.propose), _own(program.rate))
    lms = [predictor.lm for predictor in program.predictors()]
    common = lms[0] if lms and all(lm is lms[0] for lm in lms) else None
    for name in HANGS_ON:
        old, new = getattr(program, name), wanted.get(name)
        if new is None:
            if old is not None:
                delattr(program, name)
        elif old is None or not _asked_alike(name, old, new, now, plan):
            new.set_lm(common if old is None else old.predict.lm)
            setattr(program, name, new)
        elif isinstance(old, Rate):
            old.scale = plan.scale  # other values for the same words


def _own(role: Any) -> Any:
    """A module of the user's own, which stays."""
    return role if isinstance(role, dspy.Module) and not isinstance(role, roles.OURS) else None


def _asked_alike(name: str, old: Any, new: Any, now: Plan, plan: Plan) -> bool:
    if old is new or name != "rate":
        return type(old) is type(new)
    return now.rate == plan.rate and type(now.scale) is type(plan.scale) and now.scale.told == plan.scale.told
