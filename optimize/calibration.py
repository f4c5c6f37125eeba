"""A rater measured against what became of the nodes that it rated, and what its ratings are worth in a search."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dspy

from ..modules.parts import copy_of, parts_of
from ..modules.program import Program
from ..modules.rebuilding import rebuild
from ..modules.scale import Scale
from ..modules.worth import Worth
from ..search.whole_file import write_whole
from .calibration_readings import Reading
from .intervals import Interval, wilson

if TYPE_CHECKING:
    from rich.table import Table

WORDS = 12  # different verdicts that have a row each; of more, ranges of values have
BINS = 5


@dataclass(frozen=True, slots=True)
class Reliability:
    """Nodes with one verdict at one depth (None: at all).

    n: those that have a label; good: of them, those that can be solved. interval: Wilson's, of their share, as if nodes
    were independent. unlabelled: the others, of which nobody knows. worth: what the calibrated rating says; None:
    nothing was fitted.
    """

    depth: int | None
    verdict: str
    n: int
    good: int
    interval: Interval | None
    unlabelled: int
    worth: float | None

    @property
    def share(self) -> float | None:
        return self.good / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Calibration:
    """What `calibrate_rater` found.

    rows: the reliability table, over all depths and by depth. auc: how often a node that can be solved is rated above
    one that cannot, ties counting half, over all depths; auc_worth: the same by worth, which compares across depths;
    auc_by_depth. Each with an interval by bootstrap over searches. worth: what values are worth, and the prune
    threshold (`worth.cut`); None where the rater speaks on no scale of ours, or nodes of one kind alone were found:
    `why_none` says which. advice: in plain sentences. unread: ratings that could not be read. searches: that were made.
    errors: of runs that failed, a line each. rate, scale: of the rater that was measured.
    """

    rows: tuple[Reliability, ...]
    auc: float | None
    auc_interval: Interval | None
    auc_worth: float | None
    auc_worth_interval: Interval | None
    auc_by_depth: dict[int, tuple[float | None, Interval | None]]
    worth: Worth | None
    why_none: str | None
    advice: tuple[str, ...]
    unread: int
    searches: int
    errors: tuple[str, ...]
    rate: str
    scale: Scale

    def apply(self, program: Any, *, prune: bool = True) -> Any:
        """A copy of the program whose search orders and prunes by worth.

        program: of the same rater, or a module with one such search inside. prune: False: nothing is pruned by value.
        A controller's own thresholds, on the old values, give way to the fitted one; depth_bonus and normalise, which
        made up for values that do not compare across depths, are taken back. The worth is saved and loaded with the
        program. ValueError for a program of another rater, or where nothing was fitted.
        """
        if self.worth is None:
            raise ValueError(f"this calibration has nothing to apply: {self.why_none}")
        made = copy_of(program)
        inner = search_in(made)
        if inner.plan.rate != self.rate or inner.plan.scale != self.scale:
            raise ValueError(
                f"program: its rater is rate={inner.plan.rate!r}, scale={inner.plan.scale!r}; "
                f"measured was rate={self.rate!r}, scale={self.scale!r}"
            )
        worth = self.worth if prune else replace(self.worth, cut=None)
        times = inner.plan.samples if inner.plan.join == "sum" else 1
        controller = _in_worth(inner.plan.controller, worth, times, known=inner.plan.worth is not None)
        rebuild(inner, inner.plan.replace(worth=worth, controller=controller))
        return made

    def json(self) -> dict[str, Any]:
        """As JSON values."""
        made = {name: value for name, value in asdict(self).items() if name not in ("worth", "scale", "rows")}
        rows = [{**asdict(row), "share": row.share} for row in self.rows]
        worth = None if self.worth is None else self.worth.dump()
        plain: dict[str, Any] = json.loads(json.dumps({**made, "rows": rows, "worth": worth, "scale": self.scale.told}))
        return plain

    def save(self, path: str | Path) -> None:
        """Write `json()` to a file."""
        write_whole(Path(path), f"{json.dumps(self.json(), indent=2)}\n".encode())

    def summary(self) -> str:
        """A line on how well the rater tells nodes apart, one on the prune threshold, and the advice."""
        labelled = sum(row.n for row in self.rows if row.depth is None)
        unknown = sum(row.unlabelled for row in self.rows if row.depth is None)
        lines = [
            f"{labelled} labelled nodes of {self.searches} searches, {unknown} without a label, {self.unread} unread"
        ]
        lines.append(f"area under the curve: {_area(self.auc, self.auc_interval)} by rating")
        if self.worth is not None:
            cut = (
                "nothing is pruned"
                if self.worth.cut is None
                else f"nodes worth less than {self.worth.cut:.3f} are pruned"
            )
            lines[-1] += f", {_area(self.auc_worth, self.auc_worth_interval)} by worth; {cut}"
        else:
            lines.append(f"no worth was fitted: {self.why_none}")
        lines += [f"  depth {depth}: {_area(*area)}" for depth, area in self.auc_by_depth.items()]
        lines += [*self.advice, *(f"failed: {error}" for error in self.errors)]
        return "\n".join(lines)

    def table(self) -> Table:
        """The reliability table."""
        from rich.table import Table
        from rich.text import Text

        made = Table("depth", "verdict", "nodes", "can be solved", "interval", "worth", "no label")
        for row in self.rows:
            share = "" if row.share is None else f"{row.share:.3f}"
            within = "" if row.interval is None else f"{row.interval[0]:.3f} to {row.interval[1]:.3f}"
            worth = "" if row.worth is None else f"{row.worth:.3f}"
            depth = "all" if row.depth is None else str(row.depth)
            made.add_row(depth, Text(row.verdict), str(row.n), share, within, worth, str(row.unlabelled))
        return made


def search_in(module: Any) -> Program:
    """The one search program that a module is, or holds. ValueError for none, or several."""
    if isinstance(module, Program):
        return module
    inside = []
    if isinstance(module, dspy.Module):
        inside = [part for _, part in parts_of(module, Program)]
    if len(inside) != 1:
        raise ValueError(f"program={type(module).__name__}: holds {len(inside)} searches; give one that holds one")
    return inside[0]


def reliability(readings: Sequence[Reading], worth: Worth | None) -> Iterator[Reliability]:
    """The rows of all depths together, then those of each."""
    named = _named(readings)
    ordered = sorted({(value, name) for (value, name) in named.values()}, reverse=True)
    for depth in (None, *sorted({reading.depth for reading in readings})):
        for value, name in ordered:
            here = [
                r
                for r in readings
                if (depth is None or r.depth == depth) and named[r.value, r.verdict] == (value, name)
            ]
            if not here:
                continue
            truths = [r.truth for r in here if r.truth is not None]
            means = None
            if worth is not None and depth is not None:
                means = sum(worth.at(depth)(r.value) for r in here) / len(here)
            elif worth is not None:
                means = sum(worth.pooled(r.value) for r in here) / len(here)
            within = wilson(sum(truths), len(truths)) if truths else None
            yield Reliability(depth, name, len(truths), sum(truths), within, len(here) - len(truths), means)


def _named(readings: Sequence[Reading]) -> dict[tuple[float, str | None], tuple[float, str]]:
    """A row for each value: (its lowest value, its name). Of many values, as many in each range as can be."""
    values = sorted({(r.value, r.verdict) for r in readings}, key=lambda pair: pair[0])
    if len({value for value, _ in values}) <= WORDS:
        by_value = {value: verdict or f"{value:g}" for value, verdict in values}
        return {(value, verdict): (value, by_value[value]) for value, verdict in values}
    every = sorted(r.value for r in readings)
    edges = sorted({every[len(every) * i // BINS] for i in range(BINS)})
    found: dict[tuple[float, str | None], tuple[float, str]] = {}
    for value, verdict in values:
        place = max(i for i, edge in enumerate(edges) if edge <= value)
        last = place + 1 == len(edges)
        high = every[-1] if last else edges[place + 1]
        found[value, verdict] = edges[place], f"{edges[place]:g} to {'' if last else 'under '}{high:g}"
    return found


def _in_worth(controller: Any, worth: Worth, times: int, *, known: bool) -> Any:
    """The controller with its thresholds in worth. times: what one sample counts. known: they are in worth already."""
    changes: dict[str, Any] = {}
    for field in fields(controller):
        now = getattr(controller, field.name)
        if field.metadata.get("of") == "value" and now is not None:
            if field.name == "solved_threshold":
                changes[field.name] = now if known else worth.pooled(now / times) * times
            elif field.name == "min_score" and worth.cut is not None:  # a beam has no threshold but its own
                changes[field.name] = worth.cut * times
            else:
                changes[field.name] = None
    neutral = {"depth_bonus": 0.0, "normalise": False}
    changes |= {name: value for name, value in neutral.items() if hasattr(controller, name)}
    return replace(controller, **changes) if changes else controller


def _area(area: float | None, within: Interval | None) -> str:
    if area is None:
        return "unknown"
    return f"{area:.3f}" + ("" if within is None else f" [{within[0]:.3f}, {within[1]:.3f}]")
