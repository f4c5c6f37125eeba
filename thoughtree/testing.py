"""For tests of your own tasks and programs: no network, no key, no model.

`check_task(task, inputs)` finds hooks that disagree; `RuleLM(propose=..., rate=...)` is a model that answers by
functions.
"""

from .checking import TaskError, check_task
from .rules import RuleLM

__all__ = ["RuleLM", "TaskError", "check_task"]
