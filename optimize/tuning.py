"""What a study found: the report, as text, as JSON, and behind it every setting that was tried."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..search.whole_file import write_whole
from .confirm import FEWEST, STUDENT, Figure, Verdict
from .front import Point, front
from .race import Results
from .trials import Setting

if TYPE_CHECKING:
    import optuna

FORMAT = "thoughtree.tuning/1"


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of `SearchTuner.compile`, as `program.detailed_results`.

    values: of the setting that was taken; those of the program as it was, where nothing beat it. verdict: tuned against
    default, on fresh examples. settings: all that were tried, by their numbers in the study, with their results; the
    race's examples are `raced`, the fresh ones `fresh`. front: the numbers of those that no other beat in both score
    and cost, cheapest first, by the race. calls: LM calls that the study made in this process; paid: those that were
    not had for nothing from an earlier setting. study_paid: by all processes and runs, as the study's ledger has it:
    what a killed process paid last is there as it was granted, or, without a budget, is missing. cost: the unit of
    costs. importances: of knobs, 0 to 1, for the score.
    ended: why the race ended: "trials", "nothing new", or the ceiling that was met. errors: of examples, by message.
    seconds: wall time of this process; running: of that, while examples ran.
    """

    values: dict[str, Any]
    verdict: Verdict | None
    settings: dict[int, Setting]
    raced: Sequence[int]
    fresh: Sequence[int]
    calls: int
    paid: int
    cost: str
    ended: str
    importances: dict[str, float] = field(default_factory=dict[str, float])
    errors: dict[str, int] = field(default_factory=dict[str, int])
    seconds: float = 0.0
    running: float = 0.0
    study_paid: int = 0
    study: optuna.Study | None = None

    def __deepcopy__(self, memo: Any) -> Tuning:  # evidence, of which a copied program has the same
        return self

    def __reduce__(self) -> Any:  # without the study, whose storage is open, and may hold a password
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "study"}
        return partial(Tuning, **kept), ()

    @property
    def improved(self) -> bool:
        """Whether the tuned program is better, or cheaper and not worse, than the one that was given."""
        return self.verdict is not None and self.verdict.improved

    @property
    def front(self) -> list[int]:
        points = {n: point for n, s in self.settings.items() if (point := self.point(s)) is not None}
        return front(points)

    def point(self, setting: Setting) -> Point | None:
        """Score and cost over the race's examples; None for one that did not run to their end."""
        if not setting.results.has(self.raced):
            return None
        score, cost = setting.results.score(self.raced), setting.results.cost(self.raced)
        return None if score is None or cost is None else Point(score, cost)

    def summary(self) -> str:
        """A few lines: whether anything beat the default, by how much, and at what cost."""
        lines = [self._headline()]
        if self.verdict is not None:
            for name, one in (("default", self.verdict.default), ("tuned", self.verdict.tuned)):
                lines.append(f"  {name:8} {_figure(one, self.cost)}")
            if self.verdict.difference is not None:
                lines.append(f"  score: {self.verdict.difference.summary()}")
            if self.verdict.saving is not None:
                lines.append(f"  cost: {_saving(self.verdict, self.cost)}")
        if self.improved:
            changed = ", ".join(f"{name}={value!r}" for name, value in self.values.items())
            lines.append(f"  setting: {changed}")
        best = self._luckiest()
        if best is not None:
            lines.append(best)
        if self.importances:
            top = list(self.importances.items())[:5]
            lines.append("  what mattered: " + ", ".join(f"{name} {share:.2f}" for name, share in top))
        tried, left = len(self.settings), sum(s.beaten_by is not None for s in self.settings.values())
        shared = f", {self.calls - self.paid} of them shared" if self.calls > self.paid else ""
        others = (
            f"; by the ledger {self.study_paid} paid by all processes and runs" if self.study_paid > self.paid else ""
        )
        lines.append(
            f"  {tried} settings tried, {left} of them left early; ended by {self.ended}; {self.calls} LM calls"
            f"{' here' if others else ''}{shared}{others}"
        )
        if self.errors:
            most = max(self.errors, key=lambda message: self.errors[message])
            lines.append(f"  {sum(self.errors.values())} examples failed, most often with: {most}")
        return "\n".join(lines)

    def _headline(self) -> str:
        if self.verdict is None:
            return "no setting was scored: the program is as it was"
        if self.verdict.difference is None:
            return "no fresh example was scored for the default and another setting: the program is as it was"
        if not self.verdict.improved:
            few = self.verdict.difference.n < FEWEST
            hint = f"; {FEWEST} of them or more could tell that one is as good for less" if few else ""
            return f"nothing beat the default, as far as the fresh examples can tell{hint}: the program is as it was"
        if self.verdict.better:
            return "the tuned program scores higher than the default" + (
                ", and costs less" if self.verdict.cheaper else ""
            )
        return (
            "the tuned program costs less than the default, and scores no worse as far as the fresh examples can tell"
        )

    def _luckiest(self) -> str | None:
        """How much of the best score was luck: the same setting, in the race and afterwards."""
        if self.verdict is None or self.verdict.winner not in self.settings:
            return None
        raced = self.settings[self.verdict.winner].results.score(self.raced)
        fresh = self.verdict.tuned.score
        if raced is None or fresh is None:
            return None
        return f"  the chosen setting scored {raced:.3f} in the race that chose it, and {fresh:.3f} on fresh examples"

    def dump(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "format": FORMAT,
            "improved": self.improved,
            "headline": self._headline(),
            "values": self.values,
            "verdict": None if self.verdict is None else asdict(self.verdict),
            "front": self.front,
            "settings": [
                {
                    "number": s.number,
                    "values": s.values,
                    "beaten_by": s.beaten_by,
                    "error": s.error,
                    "examples": len(s.results.by_example),
                    "score": s.results.score(self.raced),
                    "cost": s.results.cost(self.raced),
                }
                for s in self.settings.values()
            ],
            "cost": self.cost,
            "calls": self.calls,
            "paid": self.paid,
            "study_paid": self.study_paid,
            "ended": self.ended,
            "importances": self.importances,
            "errors": self.errors,
            "seconds": self.seconds,
        }

    def plots(self, folder: str | Path) -> list[Path]:
        """Write front, history and, where known, importances into this folder: a page each, which needs no network.

        Gives their paths. ImportError without plotly.
        """
        from .plots import save

        return save(self, folder)

    def save(self, path: str | Path) -> None:
        """Write `dump()` as JSON."""
        write_whole(Path(path), f"{json.dumps(self.dump(), indent=2, default=str)}\n".encode())


def errors_of(all_results: Sequence[Results]) -> dict[str, int]:
    """How often each error came."""
    found: dict[str, int] = {}
    for results in all_results:
        for one in results.by_example.values():
            if one.error is not None:
                found[one.error] = found.get(one.error, 0) + 1
    return found


def importances_of(study: Any) -> dict[str, float]:
    """Of each parameter for the score, by PED-ANOVA (Watanabe et al. 2023, arXiv 2304.10255); {} of too few trials."""
    from .extra import needs

    optuna = needs("optuna")
    done = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    if len({trial.values[0] for trial in done}) < 2:
        return {}
    try:
        # The evaluator looks at what makes a low target.
        found: Mapping[str, float] = optuna.importance.get_param_importances(study, target=lambda t: -t.values[0])
    except (ValueError, RuntimeError):  # too few trials that share a parameter
        return {}
    return {name: float(share) for name, share in found.items() if share == share}


def _figure(one: Figure, unit: str) -> str:
    if one.score is None:
        return "not scored"
    within = "" if one.interval is None else f" [{one.interval[0]:.3f}, {one.interval[1]:.3f}]"
    return f"{one.score:.3f}{within}, {one.cost:.4g} {unit} an example (n = {one.n})"


def _saving(verdict: Verdict, unit: str) -> str:
    assert verdict.saving is not None
    low_high = verdict.saving_interval
    within = "" if low_high is None else f" [{low_high[0]:+.4g}, {low_high[1]:+.4g}]"
    return f"{verdict.saving:+.4g}{within} {unit} saved an example"


def winner_of(verdict: Verdict | None) -> int:
    """The number of the setting to take; STUDENT where nothing beat the program as it was."""
    return verdict.winner if verdict is not None and verdict.improved else STUDENT
