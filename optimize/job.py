"""One compile of a tuner: the study that it works at, and what it makes of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import dspy

from ..modules.parts import copy_of
from ..modules.recording import Recording
from . import identity, studies, trials, tuning
from .climb import Climb
from .confirm import Rule, Verdict
from .fields import keys_of
from .finale import Finale
from .ledger import Ledger
from .race import Race, Results
from .space import Space
from .trying import Cost, Trier
from .tuning import Tuning
from .worker import Worker

if TYPE_CHECKING:
    import optuna

    from .tuner import SearchTuner

logger = logging.getLogger(__name__)

RACE = 0.7  # of the budget, at most, for the race
STUDY, REPLIES, REPORT = "study.log", "replies.jsonl", "tuning.json"  # in log_dir


@dataclass(slots=True)
class Job:
    """One compile: the study that it works at, and what it makes of it."""

    tuner: SearchTuner
    student: dspy.Module
    space: Space
    examples: list[dspy.Example]
    order: list[int]
    fresh: list[int]
    rule: Rule
    began: float = 0.0
    share: float = RACE
    before: int = 0  # hits of the recording, as this began

    def run(self) -> dspy.Module:
        self.began = time.monotonic()
        study, trier = self._open()
        worker = self._worker(study, trier)
        ended = worker.work()
        self.share = 1.0
        finale = Finale(study, trier, self.student, self.space, self.order, self.fresh, self.rule)
        verdict, results = finale.judged()
        return self._made(study, trier, ended, verdict, results)

    def race(self) -> str:
        self.began = time.monotonic()
        return self._worker(*self._open()).work()

    # ---- what it works with

    def _open(self) -> tuple[optuna.Study, Trier]:
        tuner, folder = self.tuner, self.tuner.log_dir
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ValueError(f"log_dir={str(folder)!r}: is no folder that can be written to: {error}") from error
        storage, name = tuner.storage, tuner.study
        if storage is None and folder is not None:
            storage, name = folder / STUDY, name or "tuning"
        study = studies.opened(name, storage, two=self._two, seed=tuner.seed, sampler=tuner.sampler, told=self._told())
        studies.name_objectives(study, ["score", str(tuner.cost)] if self._two else ["score"])
        recording = None
        if tuner.share and tuner.cost != "seconds":
            recording = Recording.at(None if folder is None else folder / REPLIES)
            self.before = recording.hits.calls
        threads = tuner.num_threads or dspy.settings.num_threads or 8
        ledger = Ledger(study, tuner.budget, tuner.began)
        left = partial(self._seconds_left, ledger)
        cost: Cost = tuner.cost if tuner.cost is not None else "calls"
        return study, tuner.trier(self.examples, tuner.scorer, cost, threads, recording, ledger, left)

    @property
    def _two(self) -> bool:
        return self.tuner.cost is not None and self.tuner.cost_limit is None

    def _told(self) -> dict[str, Any]:
        """What a study is of, as far as another process must agree."""
        tuner = self.tuner
        described = identity.describe(self.student, tuner.scorer, self.examples, keys_of(self.examples))
        ranges = {name: str(range) for name, range in self.space.distributions().items()}
        return {
            **{name: studies.digest(part) for name, part in described.items() if name != "format"},
            "space": studies.digest(ranges),
            "objective": [tuner.cost, tuner.cost_limit],
            "order": studies.digest([self.order, self.fresh]),
        }

    def _worker(self, study: optuna.Study, trier: Trier) -> Worker:
        race = Race(self._two, self.rule.pick, self.rule.tolerance, self._unit(study))
        return Worker(
            study=study,
            space=self.space,
            student=self.student,
            climb=Climb(trials.Seen(study), trier, self.order, race, RACE, self.tuner.cost_limit),
            rule=self.rule,
            cap=self.tuner.trials,
            seed=self.tuner.seed,
            alone=self.tuner.sampler is not None,
        )

    @staticmethod
    def _unit(study: optuna.Study) -> float:
        """How far apart scores are, as far as the study has seen; 1 for shares."""
        scores = [r.score for s in trials.settings(study) for r in s.results.by_example.values() if r.score is not None]
        return max(scores) - min(scores) if scores and (max(scores) > 1 or min(scores) < 0) else 1.0

    def _seconds_left(self, ledger: Ledger) -> float | None:
        most = self.tuner.budget.seconds
        return None if most is None else self.share * most - ledger.seconds()

    # ---- what it makes of it

    def _made(
        self,
        study: optuna.Study,
        trier: Trier,
        ended: str,
        verdict: Verdict | None,
        again: Mapping[int, Results],
    ) -> dspy.Module:
        found = {s.number: s for s in trials.settings(study)}
        for number, results in again.items():
            if number in found:
                found[number].results = results
        winner = tuning.winner_of(verdict)
        values = found[winner].values if winner in found else self.space.defaults()
        made = self.space.settle(self.student, values) if winner in found else copy_of(self.student)
        recording = trier.recording
        hits, paid = 0 if recording is None else recording.hits.calls - self.before, trier.paid_calls
        tuned = Tuning(
            values=dict(values),
            verdict=verdict,
            settings=found,
            raced=self.order,
            fresh=self.fresh,
            calls=hits + paid,
            paid=paid,
            cost=self.tuner.cost or "calls",
            ended=ended,
            importances=tuning.importances_of(study),
            errors=tuning.errors_of([setting.results for setting in found.values()]),
            seconds=time.monotonic() - self.began,
            running=trier.seconds,
            study_paid=int(trier.ledger.held()["calls"]),
            study=study,
        )
        if self.tuner.log_dir is not None:
            tuned.save(self.tuner.log_dir / REPORT)
        logger.info("%s", tuned.summary())
        extra: Any = made
        extra.detailed_results = tuned
        extra.candidate_programs = self._candidates(tuned)
        return made

    def _candidates(self, tuned: Tuning) -> list[dict[str, Any]]:
        """The front, best score first, as DSPy's optimizers list theirs: scores in percent."""
        found: list[dict[str, Any]] = []
        for number in reversed(tuned.front):
            setting = tuned.settings[number]
            point = tuned.point(setting)
            assert point is not None
            found.append(
                {
                    "score": round(100 * point.score, 2),
                    "cost": point.cost,
                    "values": setting.values,
                    "program": self.space.settle(self.student, setting.values),
                }
            )
        return found
