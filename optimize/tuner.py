"""`SearchTuner`: the search's knobs, tuned on a data set, with the evidence."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, get_args

import dspy
from dspy.teleprompt import Teleprompter

from ..modules.recording import Recording
from ..search import Budget
from . import confirm, identity, studies, trials, tuning
from .confirm import STUDENT, Rule, Verdict
from .fields import keys_of
from .front import Point, picked
from .ledger import FINAL, Ledger
from .race import Pick, Race, Result, Results
from .scoring import Scorer
from .space import Space, Values, programs_in, settled, space_of
from .trials import Setting
from .trying import Cost, Hopeless, Spent, Tried, Trier, with_shared_calls
from .tuning import Tuning
from .worker import Worker

if TYPE_CHECKING:
    import optuna

logger = logging.getLogger(__name__)

AUTO = {"light": 12, "medium": 30, "heavy": 80}  # settings that are tried
FRESH = 0.4  # of the examples, for the end, where there is no valset
LEAST = 8  # examples, in all
FEW = 3  # settings that are run again on fresh examples, beside the default
RACE = 0.7  # of the budget, at most, for the race
STUDY, REPLIES, REPORT = "study.log", "replies.jsonl", "tuning.json"  # in log_dir


class SearchTuner(Teleprompter):
    """Finds settings of a program's searches that score higher or cost less, and says how sure that is.

        tuner = SearchTuner(metric=thoughtree.solved, budget=20_000, auto="light")
        tuned = tuner.compile(program, trainset=examples)
        print(tuned.detailed_results.summary())
        tuned.save("tuned.json")

    metric: any of DSPy's kinds, higher is better. budget: of the whole study, over all its processes and runs: a
    Budget, or a number of LM calls; what is had for nothing from an earlier setting takes nothing from it. auto, or
    trials: how many settings are tried ("light" 12, "medium" 30, "heavy" 80). num_threads: examples at once (None:
    DSPy's setting, 8). seed: of everything; with one worker the same seed tries the same settings.
    cost: what a setting costs an example: "calls", "tokens", "dollars" or "seconds"; None: nothing but the score
    counts. cost_limit: the most that it may; the score is then the only objective, under that constraint.
    log_dir: a folder for the study, the replies, and the report; a study that was killed goes on there. storage, study:
    where else the study is kept (a path, a database, grpc://host:port), and its name: processes that give the same
    share it. share: whether LM calls are shared between settings. sampler: any of Optuna's (None: TPE).
    """

    def __init__(
        self,
        metric: Callable[..., Any],
        *,
        budget: Budget | int | Mapping[str, Any] | None = None,
        auto: str | None = None,
        trials: int | None = None,
        num_threads: int | None = None,
        seed: int = 0,
        cost: Cost | None = "calls",
        cost_limit: float | None = None,
        log_dir: str | Path | None = None,
        storage: Any = None,
        study: str | None = None,
        share: bool = True,
        sampler: Any = None,
    ) -> None:
        super().__init__()
        self.scorer = Scorer(metric)
        self.metric = metric
        self.budget = Budget.of(budget)
        if self.budget.nodes is not None:
            raise ValueError(f"budget={budget!r}: a study counts no nodes; give calls, tokens, cost or seconds")
        if auto is not None and trials is not None:
            raise ValueError(f"auto={auto!r}, trials={trials!r}: both say how many settings are tried; give one")
        if auto is not None and auto not in AUTO:
            raise ValueError(f"auto={auto!r}: must be one of {', '.join(map(repr, AUTO))}")
        self.trials = _count("trials", AUTO[auto or "light"] if trials is None else trials)
        self.num_threads = None if num_threads is None else _count("num_threads", num_threads)
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise ValueError(f"seed={seed!r}: must be an integer")
        if cost is None and cost_limit is not None:
            raise ValueError(f"cost=None, cost_limit={cost_limit!r}: a limit is of some cost; say which")
        if cost_limit is not None and not (_is_number(cost_limit) and cost_limit > 0):
            raise ValueError(f"cost_limit={cost_limit!r}: must be a number above 0")
        if cost is not None and cost not in get_args(Cost):
            raise ValueError(f"cost={cost!r}: must be one of {', '.join(map(repr, get_args(Cost)))}, or None")
        self.seed, self.cost, self.cost_limit = seed, cost, cost_limit
        self.log_dir = None if log_dir is None else Path(log_dir)
        self.storage, self.study, self.share, self.sampler = storage, study, share, sampler

    def compile(
        self,
        student: dspy.Module,
        *,
        trainset: Sequence[dspy.Example],
        teacher: dspy.Module | None = None,
        valset: Sequence[dspy.Example] | None = None,
        space: Mapping[str, Any] | None = None,
        pick: Pick = "best",
        tolerance: float = 0.02,
    ) -> dspy.Module:
        """A copy of `student` with the best setting; one as it was, where nothing beat it on fresh examples.

        trainset: examples to race settings on. valset: fresh ones for the end; without it 40 % of trainset is kept
        for that. teacher: not used. space: narrows, fixes or extends the program's own (`space_of`). pick: "best" the
        highest score, "cheapest" the cheapest that is not worse by more than `tolerance` and one standard error,
        "knee" where more cost begins to bring little. tolerance: a difference in score that is none. The copy has
        `detailed_results` (a Tuning) and `candidate_programs`, best first. Raises ValueError for arguments that cannot
        be right, StudyError for a study of something else, and the first error of a model that cannot be called.
        """
        job = self._job(student, trainset, valset, space, pick, tolerance)
        with studies.quiet():
            return job.run()

    def race(self, student: dspy.Module, **given: Any) -> str:
        """Work at the study until its trials are up, and say why it ended: what further processes of a study do.

        given: as of `compile`.
        """
        settings = {"valset": None, "space": None, "pick": "best", "tolerance": 0.02, **given}
        with studies.quiet():
            return self._job(student, **settings).race()

    def estimate(self, student: dspy.Module, valset: Sequence[dspy.Example]) -> dict[str, float | None]:
        """The most LM calls and dollars that `compile` can take with these examples, before anything is paid.

        None: nothing bounds it. What settings share makes it far less.
        """
        fresh = round(FRESH * len(valset))
        runs = self.trials * (len(valset) - fresh) + (FEW + 1) * fresh
        found = [inner.estimate() for _, inner in programs_in(student)]
        most: float | None = None
        dollars: float | None = None
        if found and all(one.bounded for one in found):
            most = float(runs * sum(one.total_calls for one in found))
            costs = [sum(one.cost.values()) for one in found if one.cost is not None]
            dollars = runs * sum(costs) if len(costs) == len(found) else None
        ceilings = (self.budget.calls, self.budget.cost)
        return {
            "calls": most if ceilings[0] is None else min(float(ceilings[0]), most or float(ceilings[0])),
            "dollars": dollars if ceilings[1] is None else min(ceilings[1], dollars or ceilings[1]),
        }

    def _job(
        self,
        student: dspy.Module,
        trainset: Sequence[dspy.Example],
        valset: Sequence[dspy.Example] | None,
        space: Mapping[str, Any] | None,
        pick: Pick,
        tolerance: float,
    ) -> Job:
        if not _is_number(tolerance) or tolerance < 0:
            raise ValueError(f"tolerance={tolerance!r}: must be a number of at least 0")
        rule = Rule(pick, tolerance, self.cost_limit)
        picked({0: Point(0.0, 0.0)}, pick, tolerance)  # refuses a wrong pick before anything is paid
        examples, order, fresh = split(trainset, valset, self.seed)
        return Job(self, student, space_of(student, space), examples, order, fresh, rule)


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
    before: tuple[int, int] = (0, 0)  # hits and paid calls of the recording, as this began

    def run(self) -> dspy.Module:
        self.began = time.monotonic()
        study, trier = self._open()
        worker = self._worker(study, trier)
        ended = worker.work()
        self.share = 1.0
        verdict, results = self._confirm(study, trier)
        return self._made(study, trier, ended, verdict, results)

    def race(self) -> str:
        self.began = time.monotonic()
        return self._worker(*self._open()).work()

    # ---- what it works with

    def _open(self) -> tuple[optuna.Study, Trier]:
        tuner, folder = self.tuner, self.tuner.log_dir
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        storage, name = tuner.storage, tuner.study
        if storage is None and folder is not None:
            storage, name = folder / STUDY, name or "tuning"
        study = studies.opened(name, storage, two=self._two, seed=tuner.seed, sampler=tuner.sampler, told=self._told())
        recording = None
        if tuner.share:
            recording = Recording.at(None if folder is None else folder / REPLIES)
            self.before = recording.hits.calls, recording.paid.calls
        threads = tuner.num_threads or dspy.settings.num_threads or 8
        ledger = Ledger(study, tuner.budget)
        cost: Cost = tuner.cost or "calls"
        return study, Trier(self.examples, tuner.scorer, cost, threads, recording, ledger, self._seconds_left)

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
            trier=trier,
            order=self.order,
            race=race,
            rule=self.rule,
            cap=self.tuner.trials,
            share=RACE,
            limit=self.tuner.cost_limit,
            seed=self.tuner.seed,
        )

    @staticmethod
    def _unit(study: optuna.Study) -> float:
        """How far apart scores are, as far as the study has seen; 1 for shares."""
        scores = [r.score for s in trials.settings(study) for r in s.results.by_example.values() if r.score is not None]
        return max(scores) - min(scores) if scores and (max(scores) > 1 or min(scores) < 0) else 1.0

    def _seconds_left(self) -> float | None:
        most = self.tuner.budget.seconds
        return None if most is None else self.share * most - (time.monotonic() - self.began)

    # ---- the end

    def _confirm(self, study: optuna.Study, trier: Trier) -> tuple[Verdict | None, dict[int, Results]]:
        """The best few and the student itself on the fresh examples."""
        found = {s.number: s for s in trials.settings(study) if s.results.has(self.order)}
        if not found:
            return None, {}
        results = {number: deepcopy(setting.results) for number, setting in found.items()}
        few = self.rule.few(results, self.order, FEW)
        default = self._default(found)
        running = {number: self._program(found[number].values, trier) for number in few}
        running[default] = with_shared_calls(self.student, trier.recording)
        results.setdefault(default, Results())
        self._run_again(study, trier, running, results)
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

    def _program(self, values: Values, trier: Trier) -> dspy.Module:
        return with_shared_calls(settled(self.student, values), trier.recording)

    def _run_again(
        self, study: optuna.Study, trier: Trier, running: Mapping[int, dspy.Module], results: Mapping[int, Results]
    ) -> None:
        """Example by example for all of them, so that what a budget ends early can still be compared."""
        kept: dict[str, Any] = dict(study.user_attrs.get("again", {}))
        for key, (score, cost, error) in kept.items():
            number, id = map(int, key.split(":"))
            if number in results:
                results[number].by_example[id] = Result(score, cost, error)
        purse = trier.purse() if self._time_is_left() else None
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

                    trier.on_example = lambda: None
                    trier.try_all(program, new, FINAL, purse, 1.0, done)
                study.set_user_attr("again", kept)
        except Spent as spent:
            logger.warning("the budget (%s) ended before all fresh examples were run", spent.why)
        finally:
            study.set_user_attr("again", kept)

    def _time_is_left(self) -> bool:
        left = self._seconds_left()
        return left is None or left > 0

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
        made = settled(self.student, values) if winner in found else deepcopy(self.student)
        recording = trier.recording
        hits, paid = 0, trier.paid_calls
        if recording is not None:
            hits, paid = recording.hits.calls - self.before[0], recording.paid.calls - self.before[1]
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
                    "program": settled(self.student, setting.values),
                }
            )
        return found


def split(
    trainset: Sequence[dspy.Example], valset: Sequence[dspy.Example] | None, seed: int
) -> tuple[list[dspy.Example], list[int], list[int]]:
    """All examples, the places of those to race on, shuffled, and of the fresh ones. ValueError for too few."""
    for name, given in (("trainset", trainset), ("valset", valset or [])):
        for number, example in enumerate(given):
            if not isinstance(example, dspy.Example):
                raise TypeError(f"{name}[{number}]={example!r}: must be a dspy.Example, with its inputs set")
    examples = [*trainset, *(valset or [])]
    if len(examples) < LEAST:
        raise ValueError(f"{len(examples)} examples in trainset and valset: too few to tune on; give at least {LEAST}")
    places = list(range(len(trainset)))
    Random(seed).shuffle(places)
    if valset:
        if not trainset:
            raise ValueError("trainset=[]: there is nothing to try settings on")
        return examples, places, list(range(len(trainset), len(examples)))
    cut = len(places) - max(2, round(FRESH * len(places)))
    return examples, places[:cut], places[cut:]


def _count(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}={value!r}: must be a whole number of at least 1")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


__all__ = ["Hopeless", "SearchTuner", "Tuning"]
