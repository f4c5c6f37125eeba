"""Which knobs go together in one program. What cannot be meant is refused where it is said, by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import dspy

from ..tasks.environment_task import EnvironmentTask
from .act import Act
from .own import is_coroutine
from .plan import Plan
from .rate import Rate
from .roles import ROLES, rating_of


def check(program: Any, plan: Plan) -> None:
    """ValueError for a plan that this program cannot follow."""
    kind, task = type(program.task).__name__, program.task
    if plan.propose in ("moves", "choose") and not task.has("moves"):
        if isinstance(task, EnvironmentTask):
            kind = type(task.env).__name__
        raise ValueError(f"propose={plan.propose!r}: {kind} does not list its moves; give it that hook")
    if plan.propose == "samples" and getattr(plan.controller, "branching", 1) is None:
        raise ValueError("propose='samples' needs a number of samples: give the controller a branching")
    if plan.rate == "code" and not task.has("value"):
        raise ValueError(f"rate='code': {kind} does not value states; give it that hook")
    if plan.first is not None and program.answer is None:
        raise ValueError("first='answer': this program was built without that role; build it with first='answer'")
    if plan.lessons and not (isinstance(program.propose, Act) or getattr(program.propose, "reads_lessons", False)):
        raise ValueError(f"lessons={plan.lessons!r}: a {type(program).__name__} reads none; they are a LATS's")
    if plan.worth is not None and not isinstance(program.rate, Rate):
        raise ValueError(f"worth=...: the rater of this {type(program).__name__} speaks on no scale; set worth=None")
    _check_lms(program)
    _check_prices(program.prices)
    _check_reward(program, plan)
    _check_cheap(program, plan)
    rating_of(program, plan)  # refuses numbers that make no rating


def _check_lms(program: Any) -> None:
    for name in (f"{role}_lm" for role in ROLES):
        lm = getattr(program, name)
        if lm is not None and not isinstance(lm, dspy.BaseLM):
            raise TypeError(f"{name}={lm!r}: must be a dspy.LM, as in {name}=dspy.LM('openai/gpt-4o-mini')")


def _check_prices(prices: Mapping[str, Any]) -> None:
    """A price that is none would fail every call after it is paid; NaN, or one below 0, would lift a cost ceiling."""
    for model, pair in prices.items():
        right = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
        if not right or not all(_is_price(price) for price in pair):
            raise ValueError(
                f"prices={{{model!r}: {pair!r}}}: must be two finite numbers of at least 0, the dollars per million "
                "tokens in and out"
            )


def _is_price(price: Any) -> bool:
    return isinstance(price, int | float) and not isinstance(price, bool) and 0 <= price < inf


def _check_reward(program: Any, plan: Plan) -> None:
    fn, threshold = program.reward_fn, plan.threshold
    for name in ("reward_fn", "value_fn"):
        given = getattr(program, name)
        if given is not None and not callable(given):
            raise TypeError(f"{name}={given!r}: must be a function")
    if fn is None and threshold is not None:
        why = "is the least reward of an answer that counts as verified; give reward_fn= too, which no file keeps"
        raise ValueError(f"threshold={threshold!r}: {why}")
    if fn is not None and threshold is None:
        raise ValueError(f"reward_fn={fn!r}: give threshold= too, the reward at which an answer counts as verified")
    if is_coroutine(fn):
        raise TypeError(f"reward_fn={fn!r}: must be an ordinary function, not a coroutine function")


def _check_cheap(program: Any, plan: Plan) -> None:
    cheap = program.cheap_rate
    if plan.near is not None and cheap is None:
        raise ValueError(f"near={plan.near!r}: there is no cheap rater whose near ties it could mean; give cheap_rate=")
    if isinstance(cheap, dspy.BaseLM) and not isinstance(program.rate, Rate):
        raise ValueError(
            f"cheap_rate={cheap!r}: an LM needs a prompt to rate by, and rate={plan.rate!r} has none; give a function"
        )
    if plan.worth is not None and cheap is not None and not isinstance(cheap, dspy.BaseLM):
        raise ValueError(f"worth=..., cheap_rate={cheap!r}: a function's values were not calibrated; set worth=None")
    if cheap is not None and not callable(cheap):
        raise TypeError(f"cheap_rate={cheap!r}: must be an LM, or a function cheap_rate(inputs, nodes)")
