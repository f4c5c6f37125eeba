"""LM calls of a study that nobody shares: those of an LM that a metric or a module names itself, such as a judge's."""

from __future__ import annotations

from typing import Any

from dspy.utils.callback import BaseCallback

from ..modules.calls.gate import is_gated, passing
from ..modules.calls.limit import limit
from ..modules.recording.kept import Kept


class Unshared(BaseCallback):
    """A callback of DSPy, which counts them on the purse that shared calls are paid from.

    No recording stands before such an LM, so that its calls are paid each time. They cannot be refused, but what comes
    after them is.
    """

    def __init__(self, purse: limit) -> None:
        self.purse = purse

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if isinstance(instance, Kept) or (passing() and not is_gated(instance)):  # the second is inside another LM
            return
        self.purse.saw()
