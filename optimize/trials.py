"""What a study knows of its settings: read from trials, written to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .race import Result, Results
from .studies import digest

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial, Trial


CHANGE = "change"  # attribute of a trial


class Change(NamedTuple):
    """knob: the one that was changed. of: the number of the setting that the others are taken from."""

    knob: str
    of: int


@dataclass(slots=True)
class Setting:
    """One setting: the trial's number, its values by name, what it came to, and why it was left, if it was.

    beaten_by: the number of the setting for which it was left. error: why it could not be tried. made_by: the change
    that made it from another one, if one did.
    """

    number: int
    values: dict[str, Any]
    results: Results = field(default_factory=Results)
    beaten_by: int | None = None
    error: str | None = None
    made_by: Change | None = None

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
        Change(*attributes[CHANGE]) if CHANGE in attributes else None,
    )


def settings(study: optuna.Study) -> Iterator[Setting]:
    """All settings that were tried, or are being tried, oldest first."""
    return iter(Seen(study).settings())


@dataclass(slots=True)
class Seen:
    """The settings of a study, those that have ended read once: a study of hundreds of examples is looked at often."""

    study: optuna.Study
    _ended: dict[int, Setting] = field(default_factory=dict[int, Setting])

    def settings(self) -> list[Setting]:
        """All that were tried, or are being tried, oldest first."""
        from optuna.trial import TrialState

        found: list[Setting] = []
        for trial in self.study.get_trials(deepcopy=False):
            if trial.state is TrialState.FAIL or "values" not in trial.user_attrs:
                continue
            setting = self._ended.get(trial.number)
            if setting is None:
                setting = read(trial)
                if trial.state.is_finished():
                    self._ended[trial.number] = setting
            found.append(setting)
        return found
