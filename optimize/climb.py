"""One setting on its way up the rungs: run on more and more examples, until it is left or has been through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import dspy

from . import trials
from .intervals import binary
from .race import Race, Results, dearer_than, rungs
from .trials import Setting
from .trying import Tried, Trier

if TYPE_CHECKING:
    from optuna.trial import Trial

BEATEN = "beaten_by"  # attribute of a trial


@dataclass(slots=True)
class Climb:
    """seen: the settings of the study. order: the race's examples, shuffled, the same everywhere. share: of the budget,
    that the race may take. limit: the cost above which a setting is no good; None: cost is an objective, or nothing.
    first: examples before the first comparison.
    """

    seen: trials.Seen
    trier: Trier
    order: Sequence[int]
    race: Race
    share: float
    limit: float | None = None
    first: int = 8

    def up(self, trial: Trial, setting: Setting, program: dspy.Module, *, to_its_end: bool) -> None:
        """to_its_end: whatever others did, as for the default, which all others are measured against.

        Raises Spent where the budget ends first, Hopeless, and ValueError for a metric that cannot score anything.
        """
        purse = self.trier.purse()
        if not self.race.two:
            for id in setting.results.scored():
                trial.report(setting.results.by_example[id].score or 0.0, step=id)

        by_metric = set[int]()  # examples that the program ran on, and the metric failed

        def done(id: int, tried: Tried) -> None:
            setting.results.by_example[id] = tried.result
            if tried.outcome.at == "metric":
                by_metric.add(id)
            if not self.race.two and tried.result.score is not None:
                trial.report(tried.result.score, step=id)

        for size in rungs(len(self.order), self.first):
            ids = self.order[:size]
            new = [id for id in ids if id not in setting.results.by_example]
            self.trier.try_all(program, new, trial.number, purse, self.share, done)
            trials.write(trial, setting)
            if by_metric.issuperset(ids):
                self._check_metric(setting, ids)
            if to_its_end or size == len(self.order):
                continue
            if not setting.results.scored(ids):
                setting.error = next(r.error for r in setting.results.by_example.values())
                trial.set_user_attr("error", setting.error)
                return
            if self.limit is not None and dearer_than(self.limit, setting.results, ids):
                setting.error = f"costs {setting.results.cost(ids):.4g} an example, over the limit of {self.limit:g}"
                trial.set_user_attr("error", setting.error)
                return
            setting.beaten_by = self._beaten_by(trial, setting, ids)
            if setting.beaten_by is not None:
                trial.set_user_attr(BEATEN, setting.beaten_by)
                return

    def _check_metric(self, setting: Setting, ids: Sequence[int]) -> None:
        """It failed on all of these. ValueError, unless it has ever scored something."""
        if all(found.results.score() is None for found in self.seen.settings()):
            error, metric = setting.results.by_example[ids[0]].error, self.trier.scorer.name
            raise ValueError(f"metric={metric}: has no score for any of the first {len(ids)} examples: {error}")

    def _beaten_by(self, trial: Trial, setting: Setting, ids: Sequence[int]) -> int | None:
        """By the race's rule; where one score alone counts, and it is a matter of degree, by Wilcoxon's test.

        That test compares with the best setting so far, and has nothing to say of ties, which scores of 0 and 1 are.
        """
        others, left = self._others(trial.number)
        scores = [r.score for r in setting.results.by_example.values() if r.score is not None]
        if self.race.two or binary(scores):
            return self.race.beaten_by(setting.results, others, ids, left)
        return self.seen.study.best_trial.number if others and trial.should_prune() else None

    def _others(self, number: int) -> tuple[dict[int, Results], set[int]]:
        """The other settings, those within the cost limit, and which of them were left."""
        tried = [s for s in self.seen.settings() if s.number != number]
        if self.limit is not None:
            tried = [s for s in tried if (s.results.cost() or 0.0) <= self.limit]
        return {s.number: s.results for s in tried}, {s.number for s in tried if s.beaten_by is not None}

    def outcome(self, trial: Trial, setting: Setting) -> float | list[float] | None:
        """What to tell the study: the means over the examples that it was tried on; of one that was left early over the
        fewer. None: no example was scored. What constrains the sampler is written to the trial.
        """
        score, cost = setting.results.score(), setting.results.cost()
        if score is None or cost is None:
            return None
        trial.set_user_attr("examples", len(setting.results.by_example))
        trial.set_user_attr("cost", cost)
        if self.limit is not None:
            trial.set_constraint("cost", cost - self.limit)
        elif self.race.two and self.race.pick != "knee":
            trial.set_constraint("score", self._shortfall(setting, score))
        return [score, cost] if self.race.two else score

    def _shortfall(self, setting: Setting, score: float) -> float:
        """How far below the highest score that was raced to its end, on the same examples; none within the tolerance.

        A sampler of two objectives takes what costs nothing and solves nothing for as good as the best.
        """
        ids = list(setting.results.by_example)
        whole = [s.results for s in self.seen.settings() if s.results.has(self.order)]
        highest = max((s for other in whole if (s := other.score(ids)) is not None), default=score)
        return highest - self.race.tolerance - score
