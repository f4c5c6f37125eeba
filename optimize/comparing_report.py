"""What `compare` found: programs and baselines on the same examples, what each spent, and whether a tree pays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..search.whole_file import write_whole
from .evaluation import EvaluationResult
from .intervals import mcnemar
from .paired import Difference
from .report import mean, spread

if TYPE_CHECKING:
    from rich.table import Table

Match: TypeAlias = Literal["calls", "tokens", "dollars"]
MEASURED = {"calls": "calls", "tokens": "tokens", "dollars": "cost"}  # as an evaluation names them
NEAR = 0.1  # of the spending that is to be matched


@dataclass(frozen=True, slots=True)
class Entry:
    """One program on the dev set.

    kind: "search" (a pipeline with one inside, too), "baseline", or "other" (a program of the user's without). samples:
    how many a baseline takes; None: it has no such number. spent: the mean on an example, scored or failed, in what was
    matched. against: the reference program minus this one, example by example; None for the reference itself, and where
    no example was scored for both.
    """

    name: str
    kind: str
    result: EvaluationResult
    spent: float
    samples: int | None = None
    against: Difference | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """entries: the user's programs first, in their order, then the baselines. reference: the name of the search whose
    spending the baselines match. match: in what. left_out: baselines that could not be made, and why. trials: LM calls
    of baselines that were run with another number of samples, to find the one that matches.
    """

    entries: tuple[Entry, ...]
    reference: str
    match: Match
    left_out: dict[str, str]
    trials: int

    def __getitem__(self, name: str) -> Entry:
        return next(entry for entry in self.entries if entry.name == name)

    @property
    def share(self) -> bool:
        """Whether the metric's scores are shares, from 0 to 1, as far as all these programs show."""
        return all(entry.result.share for entry in self.entries)

    @property
    def _span(self) -> float:
        """The most that one example can make out: what a program that failed on it may have missed by."""
        scores = [score for entry in self.entries for *_, score in entry.result.results if score is not None]
        return 1.0 if self.share or not scores else max(scores) - min(scores)

    @property
    def verdict(self) -> str:
        """Whether a tree pays here, in plain words, for each search."""
        return "\n".join(self._verdict(entry) for entry in self.entries if entry.kind == "search")

    @property
    def pays(self) -> bool | None:
        """Of the reference: True: it beats every baseline beyond doubt. False: one of them is as good. Else None.

        Neither hangs on examples that failed: it holds even had they all come out against it.
        """
        return self._pays(self[self.reference])[0]

    def _pays(self, search: Entry) -> tuple[bool | None, Entry | None, Difference | None]:
        """With the baseline that it hangs on. One that spent more is no evidence against a tree."""
        rivals = [
            (entry, difference)
            for entry in self.entries
            if entry.kind == "baseline" and entry.spent <= (1 + NEAR) * search.spent
            for difference in [difference_of(search, entry, self.share)]
            if difference is not None
        ]
        if not rivals:
            return None, None, None
        as_good = [pair for pair in rivals if no_better(pair[1], self._span)]
        doubted = [pair for pair in rivals if not beyond_doubt(pair[1], self._span)]
        pays = False if as_good else None if doubted else True
        return pays, *min(as_good or doubted or rivals, key=lambda pair: (pair[1].difference, pair[0].spent))

    def _verdict(self, search: Entry) -> str:
        pays, rival, difference = self._pays(search)
        if rival is None or difference is None:
            return f"{search.name}: there is no baseline at its spending, so nothing says whether a tree pays here."
        figures = f"{self._told(search)} against {self._told(rival)}: {difference.summary()}"
        if pays:
            return f"A tree pays here: {search.name} beats every baseline, the nearest being {rival.name}. {figures}."
        if pays is False:
            return f"A tree does not pay here: {rival.name} does as well as {search.name} or better. {figures}."
        return f"{difference.n} examples cannot tell whether {search.name} beats {rival.name}. {figures}."

    def summary(self) -> str:
        """A line on each program, the verdict, and what was left out."""
        lines = [f"{self._told(entry)}{_sure(entry)}" for entry in self.entries]
        lines += [f"left out: {name}: {why}" for name, why in self.left_out.items()]
        return "\n".join([*lines, self.verdict])

    def _told(self, entry: Entry) -> str:
        spent = f"${entry.spent:.4f}" if self.match == "dollars" else f"{entry.spent:.1f} {self.match}"
        times = "" if entry.samples is None else f" x {entry.samples}"
        return f"{entry.name}{times} {mean(entry.result, self.share)} at {spent}"

    def rows(self) -> Iterator[dict[str, Any]]:
        """A dict an entry, as JSON values."""
        for entry in self.entries:
            result, difference = entry.result, entry.against
            yield {
                "name": entry.name,
                "kind": entry.kind,
                "samples": entry.samples,
                "score": result.score,
                "interval": None if result.interval is None else list(result.interval),
                "mean": result.mean,
                **{what: result.per_example(name, failed=True) for what, name in MEASURED.items()},
                "errors": len(result.errors),
                "reference_minus_this": None if difference is None else difference.difference,
                "difference_interval": None
                if difference is None or not difference.interval
                else [*difference.interval],
                "p_value": None if difference is None else difference.p_value,
            }

    def json(self) -> dict[str, Any]:
        """All of it as JSON values; the outcomes of single examples are each `entry.result`'s."""
        made = {"reference": self.reference, "match": self.match, "pays": self.pays, "verdict": self.verdict}
        return {**made, "rows": list(self.rows()), "left_out": self.left_out, "trials": self.trials}

    def save(self, path: str | Path) -> None:
        """Write `json()` to a file."""
        write_whole(Path(path), f"{json.dumps(self.json(), indent=2)}\n".encode())

    def table(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        made = Table("program", "samples", "score", "95 %", "calls", "tokens", "dollars", f"{self.reference} minus it")
        for row in self.rows():
            result = self[row["name"]].result
            within = spread(result, self.share).strip(" []").replace(", ", " to ")
            form = "+.1f" if self.share else "+.4g"
            gain = "" if row["reference_minus_this"] is None else f"{row['reference_minus_this']:{form}}"
            if row["difference_interval"] is not None:
                low, high = row["difference_interval"]
                gain += f" [{low:{form}}, {high:{form}}]"
            dollars = "" if row["dollars"] is None else f"{row['dollars']:.4f}"
            score = "" if row["mean"] is None else mean(result, self.share).removesuffix(" %")
            calls, tokens = (f"{row[name] or 0:.1f}" for name in ("calls", "tokens"))
            samples = "" if row["samples"] is None else str(row["samples"])
            made.add_row(Text(row["name"]), samples, score, within, calls, tokens, dollars, gain)
        return made


def against(reference: Entry, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The same entries, each with the reference's difference to it."""
    found = list(entries)
    share = all(entry.result.share for entry in found)
    return tuple(
        entry if entry is reference else replace(entry, against=difference_of(reference, entry, share))
        for entry in found
    )


def difference_of(first: Entry, second: Entry, share: bool) -> Difference | None:
    """The first minus the second; None where no example was scored for both."""
    try:
        return first.result.against(second.result, share=share)
    except ValueError:
        return None


def no_better(difference: Difference, span: float = 1.0) -> bool:
    """The first does not score higher on the whole, even had it won by `span` every example that is left out."""
    return difference.difference * difference.n + difference.scale * span * difference.left_out <= 0


def beyond_doubt(difference: Difference, span: float = 1.0) -> bool:
    """The first is better, even had it lost every example that is left out: those that fail are not any examples.

    span: by how much it may have lost one. Scores of 0 and 1: by the exact test, which a few examples never pass;
    others: by the interval.
    """
    lost = difference.scale * span * difference.left_out
    if difference.difference * difference.n <= lost:
        return False
    if difference.p_value is not None:
        return mcnemar(difference.wins, difference.losses + difference.left_out) < 1 - difference.confidence
    return difference.interval is not None and difference.interval[0] * difference.n > lost


def _sure(entry: Entry) -> str:
    difference = entry.against
    return "" if difference is None else f" (the reference {difference.summary()})"
