"""Rating scales. One object says what a rater is told, how it is read, and what an unread reply is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from . import reader

PAPER = {"sure": 20.0, "maybe": 1.0, "impossible": 0.001}  # Yao et al. 2023
ALIASES = {"likely": "maybe"}  # the paper's own middle word
Reading: TypeAlias = tuple[float, str, bool]  # value, verdict, whether it was clamped


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Words for values, by default sure, maybe and impossible for 20, 1 and 0.001.

    An unread reply counts as `unread` (None: the word in the middle), and values under that word's prune.
    """

    values: Mapping[str, float] = field(default_factory=lambda: dict(PAPER))
    unread_as: str | None = None
    aliases: Mapping[str, str] = field(default_factory=lambda: dict(ALIASES))

    def __post_init__(self) -> None:
        if len(self.values) < 2 or len(set(self.values.values())) < 2:
            raise ValueError(f"scale={dict(self.values)!r}: needs at least two words with different values")
        if self.unread_as is not None and self.unread_as not in self.values:
            raise ValueError(f"Verdicts(unread_as={self.unread_as!r}): must be one of {list(self.values)}")

    @property
    def unread(self) -> float:
        if self.unread_as is not None:
            return self.values[self.unread_as]
        ordered = sorted(self.values.values())
        return ordered[len(ordered) // 2]

    @property
    def cut(self) -> float:
        return self.unread

    @property
    def low(self) -> float:
        return min(self.values.values())

    @property
    def high(self) -> float:
        return max(self.values.values())

    @property
    def told(self) -> str:
        *words, last = self.values
        return f"one word: {', '.join(words)} or {last}"

    def read(self, text: str) -> Reading | None:
        return self._valued(reader.verdict(text, self._labels))

    def read_many(self, text: str, count: int) -> list[Reading | None]:
        return [self._valued(word) for word in reader.candidates.verdicts(text, count, self._labels)]

    @property
    def _labels(self) -> list[str]:
        return [
            *self.values,
            *(a for a, word in self.aliases.items() if word in self.values and a not in self.values),
        ]

    def _valued(self, word: str | None) -> Reading | None:
        if word is None:
            return None
        word = word if word in self.values else self.aliases[word]
        return self.values[word], word, False


@dataclass(frozen=True, slots=True)
class Numbers:
    """A number between `low` and `high`. unread: what an unread reply counts for. cut: values under prune."""

    low: float = 0.0
    high: float = 1.0
    unread: float = 0.5
    cut: float | None = 0.05

    @property
    def told(self) -> str:
        return f"a number from {self.low:g} (hopeless) to {self.high:g} (solved)"

    def read(self, text: str) -> Reading | None:
        return _number(reader.number(text, self.low, self.high))

    def read_many(self, text: str, count: int) -> list[Reading | None]:
        return [_number(found) for found in reader.scores(text, count, self.low, self.high)]


@dataclass(frozen=True, slots=True)
class Anchored(Numbers):
    """0 to 10, a meaning to every band, asked as reachable, evidence, score, in that order. "No" prunes."""

    low: float = 0.0
    high: float = 10.0
    unread: float = 5.0
    cut: float | None = 4.0

    @property
    def told(self) -> str:
        return "a whole number: 0 to 2 ruled out, 3 or 4 no lead, 5 or 6 a lead, 7 or 8 a route, 9 or 10 solved"

    def joined(self, reachable: str, score: str) -> Reading | None:
        """The score, unless the word says that there is nothing to score; None if it cannot be read."""
        word = reader.verdict(reachable, ["yes", "maybe", "no"])
        if word == "no":
            return self.low, "no", False
        found = self.read(score)
        return None if found is None else (found[0], word or "", found[2])


Scale: TypeAlias = Verdicts | Numbers
SCALES: dict[str, Scale] = {"verdict": Verdicts(), "unit": Numbers(), "anchored": Anchored()}


def scale_of(value: Any) -> Scale:
    """A scale from what people write: a name, a mapping of words to values, or a scale."""
    if isinstance(value, Verdicts | Numbers):
        return value
    if isinstance(value, Mapping):
        return Verdicts({str(k).lower(): float(v) for k, v in value.items()})
    if isinstance(value, str) and value in SCALES:
        return SCALES[value]
    raise ValueError(f"scale={value!r}: must be one of {', '.join(map(repr, SCALES))}, or a mapping of words to values")


def _number(found: reader.Reading | None) -> Reading | None:
    return None if found is None else (found.value, f"{found.value:g}", found.clamped)
