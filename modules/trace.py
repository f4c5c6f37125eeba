"""The trace that DSPy's optimizers learn from: only calls that deserve to be learned from.

A search makes many calls whose branches died. Handed on as they are, a rater's demonstration could come from
a dead branch. So only the calls on the path that is given back are emitted, and for raters, who need both
classes, as many calls whose low rating code confirms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dspy
from dspy.dsp.utils.settings import main_thread_config

from ..search import SearchResult
from ..search.protocol import Answer, Propose, Rate, Request, Step
from ..search.tree import Node

Entry = tuple[Any, dict[str, Any], Any]  # predictor, inputs, prediction


def trace_wanted() -> bool:
    """Whether somebody collects a trace here. The one that DSPy keeps of a whole process is nobody's."""
    found = dspy.settings.trace
    return found is not None and found is not main_thread_config["trace"]


class Trace:
    """The entries of one call of a program, kept by request until it is known which of them count."""

    def __init__(self, predictors: list[Any]) -> None:
        """predictors: the program's. Those of a reward or of a user's function are none of an optimizer's business."""
        self._kept: dict[Request, list[Entry]] = {}
        self._known = {id(predictor) for predictor in predictors}

    def keep(self, request: Request, entries: list[Entry], originals: dict[int, Any]) -> None:
        """Under the predictors that the program has: a call may have been made on a copy."""
        found = [(originals.get(id(predictor), predictor), inputs, made) for predictor, inputs, made in entries]
        known = [(predictor, _shown(inputs), made) for predictor, inputs, made in found if id(predictor) in self._known]
        if known:
            self._kept[request] = known

    def chosen(self, result: SearchResult[Any, Any]) -> list[Entry]:
        """The entries to learn from, in the order of the path, its own calls last."""
        path = result.tree.path(result.best)
        on_path = {node.id for node in path}
        positive = [request for request in self._kept if self._leads(request, on_path, result)]
        raters = sum(isinstance(request, Rate) for request in positive)
        negative = list(self._refuted(result, on_path))[:raters]
        return [entry for request in (*negative, *positive) for entry in self._kept[request]]

    def _leads(self, request: Request, on_path: set[int], result: SearchResult[Any, Any]) -> bool:
        if isinstance(request, Rate):
            return any(id in on_path for id in request.nodes)
        if isinstance(request, Propose):
            return request.node in on_path and request.node != result.best.id
        return isinstance(request, Answer | Step) and request.node in on_path  # a step: what a world model foresaw

    def _refuted(self, result: SearchResult[Any, Any], on_path: set[int]) -> Iterator[Request]:
        """Ratings of single nodes that were low, and rightly so."""
        cut = result.rating.threshold
        if result.task is None or cut is None:
            return
        for request in self._kept:
            if isinstance(request, Rate) and len(request.nodes) == 1 and request.nodes[0] not in on_path:
                node: Node[Any, Any] = result.tree[request.nodes[0]]
                low = node.value is not None and node.value < cut and node.state is not None
                if low and result.task.solvable(node.state) is False:
                    yield request


def _shown(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in inputs.items() if name not in ("lm", "config", "demos", "signature")}
