"""The end of a study: the best few settings and the program as it was, run on the fresh examples, and judged."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dspy

from . import confirm, trials
from .confirm import STUDENT, Rule, Verdict
from .race import Result, Results
from .space import Space
from .trials import Setting
from .trying import Spent, Tried, Trier, with_shared_calls

if TYPE_CHECKING:
    import optuna

logger = logging.getLogger(__name__)

FEW = 4  # settings that are run again, beside the default


@dataclass(frozen=True, slots=True)
class Finale:
    """order: the examples that settings were raced on. fresh: the others."""

    study: optuna.Study
    trier: Trier
    student: dspy.Module
    space: Space
    order: Sequence[int]
    fresh: Sequence[int]
    rule: Rule

    def judged(self) -> tuple[Verdict | None, dict[int, Results]]:
        """The verdict, and all results, by the settings' numbers; (None, {}) where no setting was raced to its end."""
        study, trier = self.study, self.trier
        found = {s.number: s for s in trials.settings(study) if s.results.has(self.order)}
        if not found:
            return None, {}
        results = {number: deepcopy(setting.results) for number, setting in found.items()}
        few = self.rule.few(results, self.order, FEW)
        default = self._default(found)
        running = {
            number: with_shared_calls(self.space.settle(self.student, found[number].values), trier.recording)
            for number in few
        }
        running[default] = with_shared_calls(self.student, trier.recording)
        results.setdefault(default, Results())
        self._run_again(running, results)
        if default == STUDENT and not results[STUDENT].has(self.order):
            candidates = {n: results[n] for n in few}
        else:
            candidates = {n: results[n] for n in {*few, default}}
        candidates.setdefault(default, results[default])
        verdict = confirm.judge(candidates, self.order, self.fresh, self.rule, default)
        return verdict, results

    def _default(self, found: Mapping[int, Setting]) -> int:
        """The setting that is the program as it was; STUDENT where the space leaves it out, or it was not finished."""
        if not self.space.has_default():
            return STUDENT
        key = trials.key_of(self.space.defaults())
        return next((number for number, setting in found.items() if setting.key == key), STUDENT)

    def _run_again(self, running: Mapping[int, dspy.Module], results: Mapping[int, Results]) -> None:
        """Some examples for all of them, then some more, so that what a budget ends early can still be compared."""
        study, trier = self.study, self.trier
        kept: dict[str, Any] = dict(study.user_attrs.get("again", {}))
        for key, (score, cost, error) in kept.items():
            number, id = map(int, key.split(":"))
            if number in results:
                results[number].by_example[id] = Result(score, cost, error)
        purse = trier.purse() if _time_is_left(trier) else None
        size = max(trier.threads, 1)
        try:
            for begin in range(0, len(self.fresh), size):
                for number, program in running.items():
                    ids = self.fresh[begin : begin + size]
                    new = [id for id in ids if id not in results[number].by_example]
                    if not new or purse is None:
                        continue

                    def done(id: int, tried: Tried, number: int = number) -> None:
                        one = tried.result
                        results[number].by_example[id] = one
                        kept[f"{number}:{id}"] = [one.score, one.cost, one.error]

                    trier.try_all(program, new, trier.ledger.final, purse, 1.0, done)
                study.set_user_attr("again", kept)
        except Spent as spent:
            logger.warning("the budget (%s) ended before all fresh examples were run", spent.why)
        finally:
            study.set_user_attr("again", kept)


def _time_is_left(trier: Trier) -> bool:
    left = trier.deadline()
    return left is None or left > 0
