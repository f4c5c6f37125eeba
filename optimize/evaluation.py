"""What an evaluation found: the score and how sure it is, what failed and why, what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from dspy.evaluate.evaluate import EvaluationResult as DSPyResult

from ..search.protocol import FREE, Usage
from .intervals import CONFIDENCE, Interval, interval
from .outcome import Outcome
from .paired import Difference
from .units import are_shares

if TYPE_CHECKING:
    from rich.table import Table


class EvaluationResult(DSPyResult):
    """A dspy.Prediction with `score` and `results`, as dspy.Evaluate gives them, and the rest beside it.

    score: the mean times 100, as dspy.Evaluate gives it, over the examples that were scored; None where none was. That
    is a percentage for scores from 0 to 1 (`share`); for others, `mean` is the figure to read. results: a triple
    (example, prediction, score) for each example in the dev set's order; score None where there is none. outcomes: each
    example's Outcome. errors: those that failed. not_run: examples that an evaluation which was stopped did not come
    to; they are in neither. failure_score: what each failure counts as, where that was asked for; None: failures are
    left out of the score.
    """

    def __init__(
        self,
        outcomes: Sequence[Outcome],
        *,
        metric: str,
        seconds: float,
        failure_score: float | None = None,
        not_run: int = 0,
        unfinished: Usage = FREE,
        unpriced: int = 0,
    ) -> None:
        self._outcomes = sorted(outcomes, key=lambda outcome: outcome.index)
        self._failure_score, self._metric = failure_score, metric
        self._seconds, self._not_run = seconds, not_run
        self._unfinished, self._unpriced = unfinished, unpriced  # of examples that were begun, and are not run
        triples = [(o.example, o.prediction, failure_score if o.score is None else o.score) for o in self._outcomes]
        self._scores = [score for *_, score in triples if score is not None]
        mean: Any = round(100 * fmean(self._scores), 2) if self._scores else None
        super().__init__(score=mean, results=triples)

    @property
    def outcomes(self) -> list[Outcome]:
        return self._outcomes

    @property
    def errors(self) -> list[Outcome]:
        """The examples that failed, in order: run again to try them again."""
        return [outcome for outcome in self._outcomes if outcome.score is None]

    @property
    def mean(self) -> float | None:
        """Of the scores, in the metric's own unit; None where there are none."""
        return fmean(self._scores) if self._scores else None

    @property
    def share(self) -> bool:
        """Whether every score lies from 0 to 1, so that `score` is a percentage."""
        return are_shares(self._scores)

    @property
    def metric(self) -> str:
        """The metric's name."""
        return self._metric

    @property
    def failure_score(self) -> float | None:
        return self._failure_score

    @property
    def not_run(self) -> int:
        return self._not_run

    @property
    def seconds(self) -> float:
        """Wall time of this run."""
        return self._seconds

    @cached_property
    def _interval(self) -> Interval | None:
        return self.interval_at(CONFIDENCE)

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of `score`, times 100 too: Wilson's for scores of 0 and 1, else a bootstrap's; or None."""
        return self._interval

    def interval_at(self, confidence: float) -> Interval | None:
        """The same at another confidence, such as 0.9."""
        found = interval(self._scores, confidence=confidence)
        return None if found is None else (100 * found[0], 100 * found[1])

    @property
    def spent(self) -> Usage:
        """By the program on all examples: calls, tokens, dollars, seconds of call time. Resumed ones included,
        and what this run paid for those that it left half done.
        """
        return sum((outcome.spent for outcome in self._outcomes), self._unfinished)

    @property
    def judged(self) -> Usage:
        """By the metric's own calls."""
        return sum((outcome.judged for outcome in self._outcomes), FREE)

    @property
    def unpriced(self) -> int:
        """Calls whose dollars nobody knows: `spent.cost` lacks them."""
        return sum((outcome.unpriced for outcome in self._outcomes), self._unpriced)

    def per_example(self, what: str = "calls", *, failed: bool = False) -> float | None:
        """The mean spending on a scored example: "calls", "tokens", "cost" (dollars), "seconds" (wall time).

        failed: on any that was run, as those that failed have spent too. None where there is none, and for dollars that
        nobody knows.
        """
        if what not in ("calls", "tokens", "cost", "seconds"):
            raise ValueError(f"per_example({what!r}): one of 'calls', 'tokens', 'cost', 'seconds'")
        counted = [outcome for outcome in self._outcomes if failed or outcome.score is not None]
        if not counted or (what == "cost" and any(outcome.unpriced for outcome in counted)):
            return None
        return fmean(o.seconds if what == "seconds" else getattr(o.spent, what) for o in counted)

    def against(
        self, other: EvaluationResult, *, confidence: float = CONFIDENCE, share: bool | None = None
    ) -> Difference:
        """This program against another, on the examples that both were scored on.

        share: whether the metric's scores are shares, to be told in points; None: as far as these two show.
        ValueError for results of other examples, or where no example was scored for both.
        """
        mine, theirs = self._by_index(), other._by_index()
        differ = [i for i in mine.keys() & theirs.keys() if mine[i].example != theirs[i].example]
        if differ:
            raise ValueError(f"example {min(differ)} is not the same in both: compare results on one dev set")
        first, second = self._by_example(), other._by_example()
        both = sorted(first.keys() & second.keys())
        left_out = len(mine.keys() | theirs.keys()) - len(both)
        share = self.share and other.share if share is None else share
        pairs = [(first[i], second[i]) for i in both]
        return Difference.of(pairs, left_out=left_out, confidence=confidence, share=share)

    def _by_index(self) -> dict[int, Outcome]:
        return {outcome.index: outcome for outcome in self._outcomes}

    def _by_example(self) -> dict[int, float]:
        scores = zip(self._outcomes, self.results, strict=True)
        return {outcome.index: score for outcome, (*_, score) in scores if score is not None}

    def summary(self) -> str:
        """A few lines: the score with its interval, the spending, the errors."""
        from .report import summary

        return summary(self)

    def table(self, rows: int | None = None) -> Table:
        """The outcomes as a rich table, the first `rows` of them."""
        from .report import table

        return table(self, rows)

    def save(self, path: str | Path) -> None:
        """As JSON, or as CSV where the name ends in .csv: a row an example. Whole or not at all."""
        from .files import save

        save(self, Path(path))

    def __repr__(self) -> str:
        return f"EvaluationResult(score={self.score}, results=<list of {len(self.results)} results>)"


class EvaluationStopped(Exception):
    """The evaluation was ended early. `result` holds what was scored until then; resume= goes on from there."""

    def __init__(self, why: str, result: EvaluationResult) -> None:
        super().__init__(f"{why}; {_done(result)}")
        self.why, self.result = why, result

    def __reduce__(self) -> Any:
        return EvaluationStopped, (self.why, self.result)


class EvaluationInterrupted(KeyboardInterrupt):
    """Ctrl-C. `result` holds what was scored until then; resume= goes on from there."""

    def __init__(self, result: EvaluationResult) -> None:
        super().__init__(f"interrupted; {_done(result)}")
        self.result = result

    def __reduce__(self) -> Any:
        return EvaluationInterrupted, (self.result,)


def _done(result: EvaluationResult) -> str:
    scored = sum(outcome.score is not None for outcome in result.outcomes)
    return f"{scored} of {len(result.outcomes) + result.not_run} examples were scored"
