"""The roles that a program's plan calls for, which LMs they call, and how its rater is asked."""

from __future__ import annotations

from typing import Any, Literal, cast

import dspy

from ..search import Rating
from ..tasks import FreeText
from .act import Act
from .answer import Answer
from .approve import Approve
from .choose import Choose
from .finish import closes
from .judge import Judge
from .likelihood import gives_probabilities
from .own import FUNCTIONS
from .plan import Plan
from .propose import Propose
from .rate import MODES, Mode, Rate
from .reflect import Reflect
from .sampling import chosen
from .world import World

ROLES = ("propose", "rate", "answer", "reflect", "world")  # attributes; the roles that a program may have
WORKERS = (*ROLES, *(f"{role}_lm" for role in ROLES), *FUNCTIONS)  # attributes: all that may answer a request
OURS = (Propose, Choose, Rate, Answer, Act, Judge, Reflect, World, Approve)


def made(program: Any, plan: Plan, propose: Any, rate: Any) -> dict[str, dspy.Module]:
    """The role modules by name, those of the user's own among them. One that is not needed is left out."""
    signature, task = program.signature, program.task
    notes = task.instructions()
    shows_state = task.has("render") and not isinstance(task, FreeText)
    found: dict[str, dspy.Module] = {}
    if isinstance(propose, dspy.Module):
        found["propose"] = propose
    elif plan.propose in ("lm", "samples"):
        found["propose"] = Propose(signature, notes=notes, shows_state=shows_state)
    elif plan.propose == "choose":
        found["propose"] = Choose(signature, notes=notes, shows_state=shows_state)
    if isinstance(rate, dspy.Module):
        found["rate"] = rate
    elif plan.rate in MODES:
        mode = cast("Mode", plan.rate)
        found["rate"] = Rate(signature, mode=mode, scale=plan.scale, notes=notes, shows_state=shows_state)
    if plan.first == "answer" or closes(plan.answer, signature, task):
        found["answer"] = Answer(signature, notes=notes)
    return found


def rating_of(program: Any, plan: Plan, lm: Any = None) -> Rating:
    """How a search asks this program's rater. lm: the LM that this rates with, where that is known."""
    if program.value_fn is not None or program.rate_fn is not None or plan.rate == "code":
        together: Literal["each", "level"] = "each" if program.rate_fn is None else "level"
        low, high, near = 0.0, 1.0, plan.near  # of values that may be anything: nobody declared their scale
        return Rating(
            together=together, join="mean", unread=None, cut=None, declared=False, low=low, high=high, near=near
        )
    if isinstance(program.rate, Judge):
        return program.rate.rating()
    if isinstance(program.rate, Approve):
        return program.rate.rating(plan.samples, lm is not None and gives_probabilities(lm))
    if isinstance(program.rate, Rate):
        found = program.rate.rating(plan.samples, plan.join, plan.near)
        return found if plan.worth is None else plan.worth.rating(found)
    scale = plan.scale
    return Rating(
        samples=plan.samples,
        join=plan.join,
        unread=scale.unread,
        cut=scale.cut,
        low=scale.low,
        high=scale.high,
        near=plan.near,
    )


def lms_of(program: Any) -> dict[str, Any]:
    """The LM that each role calls as things are configured now, None where there is none."""
    configured, found = dspy.settings.lm, {}
    for name in ROLES:
        role = getattr(program, name)
        if isinstance(role, OURS):
            found[name] = chosen(role.predict.lm, getattr(program, f"{name}_lm"), configured)
        elif role is not None:  # the user's own: it may set an LM as it runs
            bound = {f"{name}.{path}": p.lm or configured for path, p in role.named_predictors()}
            found |= {path: lm for path, lm in bound.items() if lm is not None}
    if isinstance(program.cheap_rate, dspy.BaseLM):
        found["cheap_rate"] = program.cheap_rate
    return found
