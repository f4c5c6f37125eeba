"""Whether a dollar ceiling can be held: only if every model's price is known."""

from __future__ import annotations

from typing import Any

from dspy.clients.model_metadata import model_info

from .plan import Plan
from .roles import lms_of


def refuse_unpriced(program: Any, plan: Plan) -> None:
    """ValueError if the budget has a cost ceiling and a role's model has no known price."""
    if plan.limits.cost is None:
        return
    for name, lm in lms_of(program).items():
        model = getattr(lm, "model", None)
        if model is not None and not priceable(lm, program.prices):
            raise ValueError(
                f"Budget(cost={plan.limits.cost}): the price of {model} (role {name}) is unknown, so the "
                f"ceiling could not be held; give prices={{{model!r}: (dollars per million tokens in, out)}}, or a "
                "ceiling in calls or tokens"
            )


def priceable(lm: Any, prices: Any) -> bool:
    if lm.model in prices:
        return True
    if not isinstance(getattr(lm, "engine", None), str):
        return False  # a custom engine has no provider whose prices are known
    provider, _, name = lm.model.partition("/")
    try:
        info = model_info(provider, name)
    except Exception:
        return False
    return bool(info) and "input_cost_per_token" in info
