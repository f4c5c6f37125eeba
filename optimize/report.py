"""An evaluation for a reader: a summary, a table, a progress bar. No terminal obeys what a model said."""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..search.visible import one_line
from .fields import cell, fields_of
from .units import are_shares, figure, within

if TYPE_CHECKING:
    from rich.table import Table

    from .evaluation import EvaluationResult
    from .outcome import Outcome

SHOWN = 3  # kinds of errors that a summary shows
WIDE = 60  # characters of a cell


def summary(result: EvaluationResult) -> str:
    lines = [_score(result), _spent(result)]
    failed = result.errors
    if failed:
        treated = "left out of the score" if result.failure_score is None else f"counted as {result.failure_score:g}"
        lines.append(f"{len(failed)} of {len(result.outcomes)} failed, {treated}:")
        kinds = Counter((outcome.at, outcome.error) for outcome in failed)
        lines += [f"  {times} x {at}: {one_line(str(error))}" for (at, error), times in kinds.most_common(SHOWN)]
        if len(kinds) > SHOWN:
            lines.append(f"  and {count(len(kinds) - SHOWN, 'other error')}")
    if faults := sum(outcome.faults > 0 for outcome in result.outcomes if outcome.score is not None):
        lines.append(f"scored though some of their calls failed: {count(faults, 'search', 'es')}")
    if result.not_run:
        lines.append(f"not run: {count(result.not_run, 'example')}")
    return "\n".join(lines)


def count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{plural * (number != 1)}"


def _score(result: EvaluationResult) -> str:
    if result.score is None:
        return f"{result.metric}: no example was scored"
    scored = sum(score is not None for *_, score in result.results)
    return f"{result.metric}: {mean(result)}{spread(result)} on {count(scored, 'example')}"


def mean(result: EvaluationResult, share: bool | None = None) -> str:
    """`66.7 %`, or in the metric's own unit. share: whether it is one of shares; None: as the scores show."""
    return "no score" if result.mean is None else figure(result.mean, result.share if share is None else share)


def spread(result: EvaluationResult, share: bool | None = None) -> str:
    """Its interval in brackets, with a blank before it."""
    found = result.interval
    return within(found and (found[0] / 100, found[1] / 100), result.share if share is None else share)


def _spent(result: EvaluationResult) -> str:
    spent = result.spent
    cost = f"${spent.cost:.4f}" + (f" and {count(result.unpriced, 'call')} of unknown price" if result.unpriced else "")
    resumed = sum(outcome.resumed for outcome in result.outcomes)
    before = f", {count(resumed, 'example')} read from an earlier run" if resumed else ""
    return f"{count(spent.calls, 'call')}, {count(spent.tokens, 'token')}, {cost}, {result.seconds:.1f} s{before}"


def table(result: EvaluationResult, rows: int | None = None) -> Table:
    """The first `rows` outcomes; None: all."""
    from rich.table import Table
    from rich.text import Text

    shown = result.outcomes if rows is None else result.outcomes[:rows]
    names = list(dict.fromkeys(name for outcome in shown for name in fields_of(outcome.example)))
    given = list(dict.fromkeys(name for outcome in shown for name in fields_of(outcome.prediction)))
    made = Table(caption=None if len(shown) == len(result.outcomes) else f"{len(shown)} of {len(result.outcomes)} rows")
    for name in ["#", *names, *(f"-> {name}" for name in given), result.metric, "calls", "seconds"]:
        made.add_column(Text(_line(name)))
    for outcome, (*_, score) in zip(shown, result.results, strict=False):
        example, prediction = fields_of(outcome.example), fields_of(outcome.prediction)
        cells = [outcome.index, *(example.get(name) for name in names), *(prediction.get(name) for name in given)]
        told = _told(outcome, score)
        made.add_row(*(Text(_line(cell(c))) for c in cells), told, str(outcome.spent.calls), f"{outcome.seconds:.2f}")
    return made


def _told(outcome: Outcome, score: float | None) -> Any:
    from rich.text import Text

    if outcome.error is not None:
        return Text(_line(f"{outcome.at} failed: {outcome.error}"), style="red")
    return Text(f"{score:g}")


def _line(value: Any) -> str:
    """A value on one short line, with control characters as escapes."""
    text = " ".join(str(value).split())
    return one_line(text if len(text) <= WIDE else f"{text[:WIDE]} ...")


class Progress:
    """A bar on stderr while an evaluation runs: how many are done, the score so far, errors, calls."""

    def __init__(self, total: int, wanted: bool) -> None:
        self._bar: Any = None
        self._sum, self._scored, self._failed, self._calls, self._share = 0.0, 0, 0, 0, True
        if wanted:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
            self._bar = Bar(*columns, console=Console(stderr=True), transient=False)
            self._task = self._bar.add_task("", total=total)

    @property
    def shown(self) -> bool:
        return self._bar is not None

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def add(self, outcome: Outcome) -> None:
        self.count(outcome.score, outcome.spent.calls)

    def count(self, score: float | None, calls: int) -> None:
        """One more that is done. score: None where it failed."""
        self._calls += calls
        if score is None:
            self._failed += 1
        else:
            self._sum += score
            self._share = self._share and are_shares([score])
            self._scored += 1
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=self.line())

    def line(self) -> str:
        score = figure(self._sum / self._scored, self._share) if self._scored else "no score yet"
        failed = f", {self._failed} failed" if self._failed else ""
        return f"{score}{failed}, {self._calls} calls"
