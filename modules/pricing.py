"""Whether a dollar ceiling can be held: only if every model's price is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dspy.clients.model_metadata import model_info

from ..search.protocol import Failed
from .plan import Plan
from .roles import lms_of


def prices_of(given: Any) -> dict[str, tuple[float, float]]:
    """`prices=` as a dict of its own. TypeError for what is none; what it holds is looked at with the plan."""
    if given is not None and not isinstance(given, Mapping):
        such_as = "{'my/model': (0.15, 0.60)}: dollars per million tokens, in and out"
        raise TypeError(f"prices={given!r}: must be a dict, as in {such_as}")
    return dict(given or {})


def refuse_unpriced(program: Any, plan: Plan) -> None:
    """ValueError if the budget has a cost ceiling and a role's model has no known price."""
    if plan.limits.cost is None:
        return
    for name, lm in lms_of(program).items():
        model = getattr(lm, "model", None)
        if model is not None and not priceable(lm, program.prices):
            raise ValueError(unheld(plan, f"{model} (role {name})", model))


def unpriced(plan: Plan, model: str) -> Failed:
    """What ends a search whose cost ceiling cannot be held: code of the user's own called this model."""
    return Failed(unheld(plan, model, model), fatal=True)


def unheld(plan: Plan, what: str, model: str) -> str:
    """Why a plan's cost ceiling cannot be held, and the mend. what: whose price is unknown; model: its name."""
    return (
        f"Budget(cost={plan.limits.cost}): the price of {what} is unknown, so the ceiling could not be held; "
        f"give prices={{{model!r}: (dollars per million tokens in, out)}}, or a ceiling in calls or tokens"
    )


def price_of(lm: Any, prices: Mapping[str, tuple[float, float]]) -> tuple[float, float] | None:
    """Dollars per million tokens, in and out: by `prices`, or by DSPy's list of models; None where neither knows."""
    if lm.model in prices:
        return prices[lm.model]
    if not isinstance(getattr(lm, "engine", None), str):
        return None
    provider, _, name = lm.model.partition("/")
    listed = model_info(provider, name)
    if "input_cost_per_token" not in listed:
        return None
    return 1e6 * listed["input_cost_per_token"], 1e6 * listed.get("output_cost_per_token", 0.0)


def priceable(lm: Any, prices: Any) -> bool:
    """Whether what this LM's calls cost is known: by `prices`, by itself, or by DSPy's list of models."""
    if lm.model in prices or getattr(lm, "knows_costs", False):  # such as one that replays what calls did cost
        return True
    if not isinstance(getattr(lm, "engine", None), str):
        return False  # a custom engine has no provider whose prices are known
    provider, _, name = lm.model.partition("/")
    return "input_cost_per_token" in model_info(provider, name)  # of a model that is not listed it knows nothing
