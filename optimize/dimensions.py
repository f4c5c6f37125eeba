"""One thing that a tuner may vary: its default, its range, and when it counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial

UNSET = "none"  # the label of None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """A knob that is tuned, by its name (`controller.width`).

    choices: what it may be; or low and high, both included, of a number. whole: whole numbers only. log: values are
    spread evenly by ratio. optional: None is a value too, and then nothing else is said.
    when: names of other dimensions, and the values of theirs with which this one counts.
    """

    name: str
    default: Any
    choices: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    whole: bool = False
    log: bool = False
    optional: bool = False
    when: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    @property
    def fixed(self) -> bool:
        """Whether there is nothing to vary."""
        if self.choices:
            return len(self.choices) == 1
        return self.low == self.high and not self.optional

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the most of a number. ValueError where no range is declared, and none was given."""
        if self.low is None or self.high is None:
            raise ValueError(f"space: {self.name} has no range of its own; give one, as in {{{self.name!r}: (1, 8)}}")
        return self.low, self.high

    @property
    def ranged(self) -> bool:
        """Whether it says what its values are."""
        return bool(self.choices) or self.low is not None

    def active(self, values: Mapping[str, Any]) -> bool:
        """Whether it counts beside these values of the dimensions before it."""
        return all(name not in values or values[name] in allowed for name, allowed in self.when)

    def contains(self, value: Any) -> bool:
        """Whether this is one of its values."""
        if self.choices:
            return any(_same(value, choice) for choice in self.choices)
        if value is None:
            return self.optional
        number = isinstance(value, int if self.whole else int | float) and not isinstance(value, bool)
        low, high = self.ends
        return number and low <= value <= high

    # ---- as Optuna has it

    def suggest(self, trial: Trial) -> Any:
        """A value for this trial."""
        if self.optional and trial.suggest_categorical(f"{self.name}?", [False, True]) is False:
            return None
        if self.choices:
            labels = [label(choice) for choice in self.choices]
            return self.choices[labels.index(trial.suggest_categorical(self.name, labels))]
        low, high = self.ends
        if self.whole:
            return trial.suggest_int(self.name, int(low), int(high), log=self.log)
        return trial.suggest_float(self.name, low, high, log=self.log)

    def params(self, value: Any) -> dict[str, Any]:
        """The trial's parameters that suggest `value`."""
        given = {f"{self.name}?": value is not None} if self.optional else {}
        if self.optional and value is None:
            return given
        return given | {self.name: label(value) if self.choices else value}

    def distributions(self) -> dict[str, BaseDistribution]:
        """Of its parameters, by their names."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        found: dict[str, BaseDistribution] = {}
        if self.optional:
            found[f"{self.name}?"] = CategoricalDistribution([False, True])
        if self.choices:
            return found | {self.name: CategoricalDistribution([label(choice) for choice in self.choices])}
        low, high = self.ends
        if self.whole:
            return found | {self.name: IntDistribution(int(low), int(high), log=self.log)}
        return found | {self.name: FloatDistribution(low, high, log=self.log)}

    # ---- as the user has it

    def narrowed(self, given: Any) -> Dimension:
        """With the values that a user gives: (low, high), a list of choices, or one value.

        Raises ValueError, naming the dimension, for what is none of these.
        """
        if isinstance(given, tuple):
            return self._between(given)
        values = tuple(given) if isinstance(given, list) else (given,)
        if not values:
            raise ValueError(f"space[{self.name!r}]=[]: there is nothing to choose from; give at least one value")
        if len({label(value) for value in values}) < len(values):
            raise ValueError(f"space[{self.name!r}]={given!r}: a value is there twice")
        return replace(self, choices=values, low=None, high=None, whole=False, log=False, optional=False)

    def _between(self, given: tuple[Any, ...]) -> Dimension:
        numbers = len(given) == 2 and all(
            isinstance(end, int | float) and not isinstance(end, bool) and isfinite(end) for end in given
        )
        if not numbers:
            raise ValueError(f"space[{self.name!r}]={given!r}: a range is (low, high), two numbers; choices are a list")
        low, high = given
        if low > high:
            raise ValueError(f"space[{self.name!r}]={given!r}: low is above high")
        if any(isinstance(choice, str | bool) for choice in self.choices):
            listed = ", ".join(map(label, self.choices))
            raise ValueError(f"space[{self.name!r}]={given!r}: it is one of {listed}; give a list of some")
        if self.whole and not all(isinstance(end, int) for end in given):
            raise ValueError(f"space[{self.name!r}]={given!r}: takes whole numbers only")
        return replace(self, choices=(), low=low, high=high, log=self.log and low > 0, optional=False)


def label(value: Any) -> Any:
    """What stands for a choice in a study, which keeps numbers, texts and truth values only."""
    if value is None:
        return UNSET
    if isinstance(value, str | bool | int | float):
        return value
    return json.dumps(value, sort_keys=True, default=str)


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
