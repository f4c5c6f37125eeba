"""`SearchTuner`: the search's knobs, tuned on a data set, with the evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, get_args

import dspy
from dspy.teleprompt import Teleprompter

from ..modules.parts import without_evidence
from ..search import Budget
from . import studies
from .confirm import Rule
from .estimating import dearest, dollars_of, least, most_of, refuse_unpriced
from .finale import FEW
from .front import Point, picked
from .job import Job
from .prompt_sets import Prompts
from .race import Pick
from .scoring import Scorer
from .space import space_of
from .split import FRESH, split
from .trying import Cost, Hopeless, Trier
from .tuning import Tuning

AUTO = {"light": 12, "medium": 30, "heavy": 80}  # settings that are tried
MOST_SEED = 2**32 - 1  # that Optuna takes
DEFAULTS: dict[str, Any] = {"valset": None, "space": None, "pick": "best", "tolerance": 0.02}  # of `compile`


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
    share it. share: whether LM calls are shared between settings; where seconds are the cost they are not, as a reply
    that is there takes no time. sampler: any of Optuna's, which then proposes all settings but the first (None: TPE,
    and neighbours of the best).
    prompts: programs made from the student with other prompts, or one with `candidate_programs`, as MIPROv2, COPRO and
    BetterTogether leave them: which prompts are used is then one more knob. They are tried with the student's own knobs
    first, as many as half of the trials.
    """

    trier: type[Trier] = Trier  # what runs examples
    began: float | None = None  # by the clock, for who counts the start of its processes too; None: as it is called

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
        prompts: Any = None,
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
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= MOST_SEED:
            raise ValueError(f"seed={seed!r}: must be an integer from 0 to {MOST_SEED:,}")
        if cost is None and cost_limit is not None:
            raise ValueError(f"cost=None, cost_limit={cost_limit!r}: a limit is of some cost; say which")
        if cost_limit is not None and not (_is_number(cost_limit) and cost_limit > 0):
            raise ValueError(f"cost_limit={cost_limit!r}: must be a number above 0")
        if cost is not None and cost not in get_args(Cost):
            raise ValueError(f"cost={cost!r}: must be one of {', '.join(map(repr, get_args(Cost)))}, or None")
        self.seed, self.cost_limit = seed, cost_limit
        self.cost: Cost | None = cost
        self.log_dir = None if log_dir is None else Path(log_dir)
        self.storage, self.study, self.share, self.sampler = storage, study, share, sampler
        self.prompts = prompts

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
        for that, and what is in both is for the end alone. teacher: not used. space: narrows, fixes or extends the
        program's own (`space_of`). pick: "best" the highest score, "cheapest" the cheapest that is not worse by more
        than `tolerance` and one standard error, "knee" where more cost begins to bring little. tolerance: a difference
        in score that is none. The copy has `detailed_results` (a Tuning) and `candidate_programs`, best first. Raises
        ValueError for arguments that cannot be right, StudyError for a study of something else, and the first error of
        a model that cannot be called.
        """
        job = self._job(student, trainset, valset, space, pick, tolerance)
        with studies.quiet():
            return job.run()

    def race(self, student: dspy.Module, **given: Any) -> str:
        """Work at the study until its trials are up, and say why it ended: what further processes of a study do.

        given: as of `compile`.
        """
        with studies.quiet():
            return self._job(student, **DEFAULTS | given).race()

    def check(self, student: dspy.Module, **given: Any) -> None:
        """Raise what `compile` would of its arguments, before a study is opened or a process started.

        given: as of `compile`.
        """
        self._job(student, **DEFAULTS | given)

    def estimate(
        self,
        student: dspy.Module,
        valset: Sequence[dspy.Example],
        *,
        trainset: Sequence[dspy.Example] | None = None,
        space: Mapping[str, Any] | None = None,
        **assumptions: Any,
    ) -> dict[str, float | None]:
        """The most LM calls and dollars that `compile` can take with these examples, before anything is paid.

        "calls" and "dollars": every trial is taken to run to its end with the space's dearest setting, within the
        program's own budget and the study's, which are what makes this a figure to plan with. What settings share, and
        what is left early, makes it far less. "usual_calls" and "usual_dollars": the same number of examples, each at
        the most that the program can take as it is. trainset: where `compile` gets both sets; else it gets these
        examples alone, and keeps some for the end. assumptions: `price` and the others of a program's own `estimate`;
        without a price that of the LMs, if it is known. None: nothing bounds it. Retries, a judge's calls and those of
        a program's other parts are not in it.
        """
        fresh = len(valset) if trainset else round(FRESH * len(valset))
        raced = len(trainset) if trainset else len(valset) - fresh
        runs = self.trials * raced + (FEW + 1) * fresh
        program, most = dearest(student, space_of(student, space))
        own = most_of(student)
        calls = None if most is None or own is None else runs * most + fresh * max(0.0, own - most)
        dear, cheap = dollars_of(program, assumptions), dollars_of(student, assumptions)
        dollars = None if dear is None or cheap is None else runs * dear + fresh * max(0.0, cheap - dear)
        usual = None if own is None else runs * own
        usual_dollars = None if cheap is None else runs * cheap
        return {
            "calls": least(calls, self.budget.calls),
            "dollars": least(dollars, self.budget.cost),
            "usual_calls": least(usual, self.budget.calls),
            "usual_dollars": least(usual_dollars, self.budget.cost),
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
        student = without_evidence(student)
        if self.cost == "dollars":
            refuse_unpriced(student, "cost")
        prompts = None if self.prompts is None else Prompts.of(student, self.prompts)
        return Job(self, student, space_of(student, space, prompts), examples, order, fresh, rule)


def _count(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}={value!r}: must be a whole number of at least 1")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


__all__ = ["Hopeless", "SearchTuner", "Tuning"]
