"""`gepa_metric`: any metric as GEPA wants it, with feedback on the call that it looks at, and on its role's faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dspy

from ..modules.trace import Credit, credit_of
from ..search.protocol import Answer, Propose, Rate, Reflect, Request
from .gathering import accepts
from .metrics import solved
from .role_demos import helped
from .role_example import RoleExample
from .running import search_of
from .scoring import Score, Scorer
from .seen import ROLE_OF, Seen
from .step_evidence import Kind, Steps, quoted
from .verdict_evidence import Verdicts

MOST = 5  # faults that are listed, of a search and a role


class GEPAMetric:
    """See `gepa_metric`. metric: the one that it was made of."""

    def __init__(self, metric: Callable[..., Any], metric_threshold: float | None = None) -> None:
        self.metric, self.scorer, self.threshold = metric, Scorer(metric), metric_threshold
        self.__name__ = f"gepa_metric({self.scorer.name})"

    def __call__(
        self, gold: Any, pred: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> dspy.Prediction:
        if isinstance(gold, RoleExample):
            judged = gold.judge(pred)
            return dspy.Prediction(score=judged.score, feedback=judged.feedback)
        score = self.scorer.read(self.scorer.call(gold, pred))
        parts = [score.feedback or _outcome(pred, score)]
        credit = credit_of(pred_trace[0][2]) if pred_name is not None and pred_trace else None
        if credit is not None and credit.trace.result is not None:
            said = accepts(score.value, self.threshold) if search_of(pred) is credit.trace.result else None
            parts += feedback(credit, pred_trace[0][2], said)
        return dspy.Prediction(score=score.value, feedback="\n".join(part for part in parts if part))


def gepa_metric(metric: Callable[..., Any] | None = None, *, metric_threshold: float | None = None) -> GEPAMetric:
    """A metric of five arguments for dspy.GEPA, from any metric of DSPy's kinds (default: `solved`).

        dspy.GEPA(metric=gepa_metric(solved), auto="light", reflection_lm=lm)

    It gives dspy.Prediction(score, feedback): the metric's score and words, and where GEPA asks about one call of a
    search, what became of it. Of a proposer: which steps were illegal and by which rule, which were dead ends, which
    led to a solution. Of a rater: which verdicts were wrong, and how that is known. Of a world model: what it got
    wrong. Then the faults of the same role elsewhere in that search. What nobody knows is not judged.

    metric_threshold: the score from which the metric accepts an answer; None: above 0. On a role's own examples
    (`role_examples`) it judges the reply alone.
    """
    return GEPAMetric(solved if metric is None else metric, metric_threshold)


def feedback(credit: Credit, made: Any, accepted: bool | None = None) -> Iterator[str]:
    """On one call, then on the faults of its role in the same search, a paragraph each."""
    seen = Seen.of(credit.trace, accepted=accepted)
    if own := _own(seen, credit.request, made):
        yield f"About this call:\n{own}"
    faults = dict.fromkeys(_faults(seen, credit.request))
    if faults:
        listed = [*faults][:MOST]
        more = [f"... and {len(faults) - MOST} more."] if len(faults) > MOST else []
        yield "\n".join(["Faults of this kind in the same search:", *listed, *more])


def _outcome(pred: Any, score: Score) -> str:
    search = search_of(pred)
    told = "" if search is None else f" The search ended {search.status}: {search.ended}."
    return f"The score of the whole run is {score.value:g}.{told}"


def _own(seen: Seen, request: Request, made: Any) -> str:
    if isinstance(request, Reflect):
        good = helped(seen, request, made)
        return "A step that a solution follows was found with this lesson." if good else ""
    if isinstance(request, Answer) or seen.role(request) is None:
        return ""
    evidence = seen.evidence(request)
    return "" if evidence is None else evidence.judge(made).feedback


def _faults(seen: Seen, about: Request) -> Iterator[str]:
    """Of the calls of the same role but this one: illegal steps, wrong verdicts, wrong predictions."""
    for request, entries in seen.entries.items():
        role = seen.role(request)
        if request == about or ROLE_OF[type(request)] != ROLE_OF[type(about)] or role is None:
            continue
        evidence = seen.evidence(request)
        for predictor, _, made in entries:
            if evidence is None or predictor is not role.predict:
                continue
            if isinstance(evidence, Steps):
                assert isinstance(request, Propose)
                illegal = [(text, why) for text, kind, why in evidence.kinds(made) if kind is Kind.ILLEGAL]
                where = quoted(seen.name(request.node))
                yield from (f"From `{where}`, `{quoted(text)}` is illegal: {why}." for text, why in illegal)
            elif isinstance(evidence, Verdicts):
                assert isinstance(request, Rate)
                yield from evidence.wrong(made)
            elif not (judged := evidence.judge(made)).right:
                yield f"`{quoted(evidence.task.show(evidence.action))}`: {judged.feedback}"
