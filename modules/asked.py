"""Each request of a search as the call of a small module, so that whoever listens to DSPy's callbacks sees, between the
program and its LM calls, which node each call is about: mlflow draws a span of each. Nobody listens: nothing is made.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import dspy

from ..search import protocol
from ..search.tree import Tree
from .background import in_thread
from .job import Job

logger = logging.getLogger(__name__)


class Asked(dspy.Module):
    """One request. It holds no predictor: the role that it calls is the program's."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self._job = job

    def forward(self, **about: Any) -> Any:
        return self._job.call()

    async def aforward(self, **about: Any) -> Any:
        return await (self._job.acall() if self._job.acall is not None else in_thread(self._job.call))


# A span bears the name of its module's class.


class Propose(Asked):
    """Which steps could come next from a node?"""


class Step(Asked):
    """Where does a node's action lead?"""


class Rate(Asked):
    """How promising are these nodes?"""


class Reflect(Asked):
    """Why did this path fail?"""


class Answer(Asked):
    """What do the output fields hold, given the path to this node?"""


KINDS: dict[type[Any], type[Asked]] = {
    protocol.Propose: Propose,
    protocol.Step: Step,
    protocol.Rate: Rate,
    protocol.Reflect: Reflect,
    protocol.Answer: Answer,
}


def as_module(job: Job, ask: protocol.Ask, tree: Tree[Any, Any], task: Any) -> Job:
    """The same job, whose call is a module's. To be made while the tree stands still."""
    module: Any = KINDS[type(ask.request)](job)
    about = _about(ask, tree, task)
    return replace(job, call=lambda: module(**about), acall=lambda: module.acall(**about))


def _about(ask: protocol.Ask, tree: Tree[Any, Any], task: Any) -> dict[str, Any]:
    request = ask.request
    about: dict[str, Any]
    if isinstance(request, protocol.Rate):
        about = {"nodes": list(request.nodes), "paths": [_path(id, tree, task) for id in request.nodes]}
    else:
        about = {"node": request.node, "path": _path(request.node, tree, task)}
    about["sample"] = getattr(request, "sample", None)
    about["attempt"] = ask.attempt or None
    return {name: value for name, value in about.items() if value is not None}


def _path(id: int, tree: Tree[Any, Any], task: Any) -> list[str]:
    """The actions that lead to the node."""
    try:
        return [str(task.show(node.action)) for node in tree.path(tree[id])[1:]]
    except Exception as error:  # the search itself may do without its words
        logger.debug("%s.show raised: %s", type(task).__name__, error)
        return []
