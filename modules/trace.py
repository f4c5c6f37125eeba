"""The trace that DSPy's optimizers learn from: only calls that deserve to be learned from.

A search makes many calls whose branches died. Handed on as they are, a rater's demonstration could come from
a dead branch. So only the calls on the path that is given back are emitted, and for raters, who need both
classes, as many calls whose low rating code confirms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.dsp.utils.settings import main_thread_config

from ..search import SearchResult
from ..search.protocol import Answer, Propose, Proposed, Rate, Request, Step
from ..search.tree import Node
from ..tasks import stepping

Entry = tuple[Any, dict[str, Any], Any]  # predictor, inputs, prediction


@dataclass(frozen=True, slots=True, eq=False)
class Credit:
    """Which request of which search a traced prediction answers. Neither copied nor saved with it."""

    trace: Trace
    request: Request

    def __deepcopy__(self, memo: dict[int, Any]) -> Credit:
        return self

    def __reduce__(self) -> Any:
        return type(None), ()


def credit_of(prediction: Any) -> Credit | None:
    """The credit of a prediction that stands in a trace; None for one that no search asked for."""
    found = getattr(prediction, "_credit", None)
    return found if isinstance(found, Credit) else None


def trace_wanted() -> bool:
    """Whether somebody collects a trace here. The one that DSPy keeps of a whole process is nobody's."""
    found = dspy.settings.trace
    return found is not None and found is not main_thread_config["trace"]


class Trace:
    """The entries of one call of a program, kept by request until it is known which of them count.

    kept: all of them. result: the search, once it is over. `dspy.context(search_traces=[])` collects the traces of all
    searches inside it, for those who choose by themselves.
    """

    def __init__(self, program: Any, inputs: dict[str, Any]) -> None:
        self.program, self.inputs = program, inputs
        self.kept: dict[Request, list[Entry]] = {}
        self.result: SearchResult[Any, Any] | None = None
        # Those of a reward or of a user's function are none of an optimizer's business.
        self._known = {id(predictor) for predictor in program.predictors()}

    def __deepcopy__(self, memo: dict[int, Any]) -> Trace:
        return self

    def keep(self, request: Request, entries: list[Entry], originals: dict[int, Any]) -> None:
        """Under the predictors that the program has: a call may have been made on a copy."""
        found = [(originals.get(id(predictor), predictor), inputs, made) for predictor, inputs, made in entries]
        known = [(predictor, _shown(inputs), made) for predictor, inputs, made in found if id(predictor) in self._known]
        if known:
            self.kept[request] = known
            for *_, made in known:
                made._credit = Credit(self, request)

    def concluded(self, result: SearchResult[Any, Any]) -> list[Entry]:
        """The entries to learn from. The trace itself goes to who collects them."""
        self.result = result
        collected = dspy.settings.get("search_traces")
        if collected is not None:
            collected.append(self)
        return self.chosen(result)

    def chosen(self, result: SearchResult[Any, Any]) -> list[Entry]:
        """The entries to learn from, in the order of the path, its own calls last."""
        path = result.tree.path(result.best)
        on_path = {node.id for node in path}
        positive = [request for request in self.kept if self._leads(request, on_path, result)]
        raters = sum(isinstance(request, Rate) for request in positive)
        negative = list(self._refuted(result, on_path))[:raters]
        return [entry for request in (*negative, *positive) for entry in self.kept[request]]

    def _leads(self, request: Request, on_path: set[int], result: SearchResult[Any, Any]) -> bool:
        if isinstance(request, Rate):
            return any(id in on_path for id in request.nodes)
        if isinstance(request, Propose):
            return request.node in on_path and request.node != result.best.id and self._gave(request, on_path, result)
        return isinstance(request, Answer | Step) and request.node in on_path  # a step: what a world model foresaw

    def _gave(self, request: Propose, on_path: set[int], result: SearchResult[Any, Any]) -> bool:
        """Is the step that the path takes from there among those that this very sample proposed?"""
        task: Any = result.task
        if self.program.plan.propose != "samples" or task is None:
            return True
        node = result.tree[request.node]
        taken = next(child.action for child in result.tree.children(node) if child.id in on_path)
        for *_, made in self.kept[request]:
            said = self.program.propose.read(made, request.n)
            steps = said.actions if isinstance(said, Proposed) else ()
            if any(step == taken or stepping.parse(task, node.state, step) == taken for step in steps):
                return True
        return False

    def _refuted(self, result: SearchResult[Any, Any], on_path: set[int]) -> Iterator[Request]:
        """Ratings of single nodes that were low, and rightly so."""
        cut = result.rating.threshold
        if result.task is None or cut is None:
            return
        for request in self.kept:
            if isinstance(request, Rate) and len(request.nodes) == 1 and request.nodes[0] not in on_path:
                node: Node[Any, Any] = result.tree[request.nodes[0]]
                low = node.value is not None and node.value < cut and node.state is not None
                if low and result.task.solvable(node.state) is False:
                    yield request


def _shown(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in inputs.items() if name not in ("lm", "config", "demos", "signature")}
