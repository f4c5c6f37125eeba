"""What a study knows of its settings: read from trials, written to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .race import Result, Results
from .studies import digest

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial, Trial


@dataclass(slots=True)
class Setting:
    """One setting: the trial's number, its values by name, what it came to, and why it was left, if it was.

    beaten_by: the number of the setting for which it was left. error: why it could not be tried.
    """

    number: int
    values: dict[str, Any]
    results: Results = field(default_factory=Results)
    beaten_by: int | None = None
    error: str | None = None

    @property
    def key(self) -> str:
        return key_of(self.values)


def key_of(values: Mapping[str, Any]) -> str:
    """The same for the same values."""
    return digest({name: [type(value).__name__, value] for name, value in values.items()})


def write(trial: Trial, setting: Setting) -> None:
    """Keep what is known of a setting with its trial."""
    found = [[id, one.score, one.cost, one.error] for id, one in setting.results.by_example.items()]
    trial.set_user_attr("results", found)


def results_of(attributes: Mapping[str, Any]) -> Results:
    """Those that `write` kept."""
    return Results({int(id): Result(s, c, e) for id, s, c, e in attributes.get("results", [])})


def read(trial: FrozenTrial) -> Setting:
    """The setting that a trial tried. Values that are no JSON (a scale) come as JSON made them."""
    attributes = trial.user_attrs
    return Setting(
        trial.number,
        dict(attributes.get("values", {})),
        results_of(attributes),
        attributes.get("beaten_by"),
        attributes.get("error"),
    )


def settings(study: optuna.Study) -> Iterator[Setting]:
    """All settings that were tried, or are being tried, oldest first."""
    from optuna.trial import TrialState

    for trial in study.get_trials(deepcopy=False):
        if trial.state is not TrialState.FAIL and "values" in trial.user_attrs:
            yield read(trial)
