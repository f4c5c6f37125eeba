"""For tests of your own tasks and programs: no network, no key, no model.

`check_task(task, inputs)` finds hooks that disagree; `RuleLM(propose=..., rate=...)` is a model that answers by
functions; `FaultyLM(lm, [Fault.rate_limit(share=0.2), ...])` is any model whose calls go wrong as planned.
"""

from .checking import TaskError, check_task
from .faults import Fault, FaultKind
from .faulty import FaultyLM
from .rules import RuleLM

__all__ = ["Fault", "FaultKind", "FaultyLM", "RuleLM", "TaskError", "check_task"]
