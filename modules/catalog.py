"""What a search asks of DSPy's catalog of models before its first request: prices, and what a model can do.

DSPy fetches the catalog once a process, and waits for some seconds where a network swallows that. So no loop waits for
it, and where there is a deadline nobody does.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .approve import Approve
from .background import in_thread
from .choose import Choose
from .constrained import constrains
from .likelihood import gives_probabilities
from .plan import Plan
from .pricing import refuse_unpriced
from .roles import lms_of

CATALOG = "DSPy's catalog of models"  # as `search.hung` names it


def look_up(program: Any, plan: Plan) -> None:
    """Have the catalog, where this call needs it. ValueError for a cost ceiling that could not be held."""
    refuse_unpriced(program, plan)
    lms = lms_of(program)
    if isinstance(program.propose, Choose):
        constrains(lms["propose"])
    if isinstance(program.rate, Approve):
        gives_probabilities(lms["rate"])


async def alook_up(program: Any, plan: Plan) -> None:
    """The same in a thread, where DSPy may fetch something."""
    if _asks(program, plan) and any(isinstance(getattr(lm, "engine", None), str) for lm in lms_of(program).values()):
        await in_thread(partial(look_up, program, plan))
    else:
        look_up(program, plan)


def _asks(program: Any, plan: Plan) -> bool:
    return plan.limits.cost is not None or isinstance(program.propose, Choose) or isinstance(program.rate, Approve)
