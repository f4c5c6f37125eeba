"""A controller's knobs: dataclass fields that carry their tuning range beside their default."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from math import inf
from typing import Any, Literal, TypeAlias

Ties: TypeAlias = Literal["age", "seed", "deeper"]


def knob(
    default: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[Any, ...] = (),
    of: Literal["value", "speed"] | None = None,
) -> Any:
    """A field with a range for a tuner: numbers between `low` and `high`, or one of `choices`.

    of: "value" for a node's value, whose range is the rating scale's; "speed" for what changes how long a search
    takes more than what it finds, which is left alone unless it is asked for.
    """
    return field(default=default, metadata={"low": low, "high": high, "choices": choices, "of": of})


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """What every controller has.

    dedupe: drop an action that a sibling has, and a state (`key`) that was met before.
    ties: equal values are ordered by "age" (the earlier node first) or by "seed" (at random, the same for the
    same seed); best-first also knows "deeper".
    """

    dedupe: bool = True
    ties: Ties = "age"

    def check(self, **rules: str) -> None:
        """Raise for a knob off its rule: "count", "count or 0", "count or None", "number", "bool", ..."""
        for name, rule in rules.items():
            value = getattr(self, name)
            if value is None and rule.endswith("or None"):
                continue
            number = isinstance(value, int | float) and not isinstance(value, bool) and -inf < value < inf
            if rule.startswith("count"):
                least = 0 if rule == "count or 0" else 1
                right, words = isinstance(value, int) and number and value >= least, f"an integer of at least {least}"
            elif rule.startswith("number"):
                right, words = number, "a finite number"
            else:
                right, words = isinstance(value, bool), "True or False"
            if not right:
                more = ", or None" if rule.endswith("or None") else ""
                raise ValueError(f"{type(self).__name__}({name}={value!r}): must be {words}{more}")

    def check_choices(self, **choices: tuple[str, ...]) -> None:
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                listed = ", ".join(map(repr, allowed))
                raise ValueError(f"{type(self).__name__}({name}={getattr(self, name)!r}): must be one of {listed}")

    def dump(self) -> dict[str, Any]:
        """The knobs as JSON, with the controller's name."""
        return {"kind": type(self).__name__} | {f.name: getattr(self, f.name) for f in fields(self)}
