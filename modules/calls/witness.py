"""Who sees the LM calls that pass the gate by: those of an LM that a user's own code names itself.

A function or a module may call `dspy.LM("judge")(...)`, or run under a `dspy.context(lm=...)` of its own. No gate
stands before such an LM. So its calls cannot be refused, but they are counted, by the request's meter and by every
limit.
"""

from __future__ import annotations

from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

from .gate import is_gated, passing
from .limit import active
from .meter import current


class Witness(BaseCallback):
    """A callback of DSPy. It keeps nothing: what it sees goes to the meter of the request that is being answered."""

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        meter = current()
        if meter is None or is_gated(instance) or passing():
            return
        meter.saw(str(instance.model))
        for purse in active():
            purse.saw()


WITNESS = Witness()


def with_witness() -> list[Any]:
    """DSPy's callbacks as they are configured here, and the witness, once."""
    callbacks = list(dspy.settings.get("callbacks") or [])
    return callbacks if WITNESS in callbacks else [*callbacks, WITNESS]
