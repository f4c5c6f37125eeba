"""Which of the numbered steps of a prompt a reply chooses, however it says so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .actions import normal
from .objects import decoded
from .text import clean
from .values import values
from .votes import NOUN

_AND = r"\s{0,3}(?:[,;/&>、]|\band\b|\bthen\b)(?:\s{0,3}\b(?:and|then)\b)?\s{0,3}"
_ONE = rf"(?:(?i:{NOUN})s?\s?)?[#(\[<]{{0,2}}[0-9]{{1,4}}[)\]>]{{0,2}}"
_NUMBERS = rf"{_ONE}(?:{_AND}{_ONE}){{0,200}}"
# Of a whole reply; among other lines it may be a state that is said again.
_SPACED = re.compile(r"[0-9]{1,4}(?:\s{1,3}[0-9]{1,4}){0,200}")
_NUMBER = re.compile(r"[0-9]{1,4}")
_FENCES = re.compile(r"^[ \t]*```[a-z]*[ \t]*$", re.MULTILINE)
_ALONE = re.compile(rf"\W{{0,4}}(?P<numbers>{_NUMBERS})[\s.!]{{0,3}}")
# A number, and why: `3: it makes a 6`, `3 - because`, `3 (the only one left)`; a list's own marker is no choice.
_LABELLED = re.compile(r"\W{0,4}(?P<label>[0-9]{1,4})\s?(?:[.)\]:]{1,2}|[-–—])\s{1,3}(?P<rest>\S.{0,1990})")
_REASONED = re.compile(r"\W{0,4}(?P<numbers>[0-9]{1,4})\s?(?:\(|,?\s(?:because|since|as it|which)\b)")
_SAID = re.compile(
    r"\b(?i:choos\w*|chose|chosen|pick(?:ed)?|select(?:ed)?|choices?(?:\s(?:is|are))?|answer(?:\s(?:is|are))?|best|"
    r"numbers?(?:\s(?:is|are))?|chosen steps)\b[^0-9\n]{0,40}?"
    rf"(?P<numbers>{_NUMBERS})(?![\w%]|\s?[.,/*+=-]\s?[0-9])"
)
_EMPHASIS = re.compile(r"(?<![\w)])[*_`~]+(?=[#(]?[0-9])|(?<=[0-9):.])[*_`~]+(?![\w(])")


@dataclass(frozen=True, slots=True)
class Choice:
    """One number of a reply. place: the index, from 0, of the step that it names; None: there is none."""

    said: str
    place: int | None


def choices(text: str | None, steps: Sequence[str]) -> list[Choice]:
    """The choices of a reply in its order, none twice; [] where it names none.

    A reply gives numbers, from 1, in a list, in JSON or in a sentence, or the steps' own words, or both. Where the
    words of a line are those of a step, they count, and not the number before them: models number what they choose
    anew. A line with other words chooses nothing by the number that it is marked with.
    """
    found: dict[str | int, Choice] = {}
    for said, place in _found(text, steps):
        known = place if place is not None and 0 <= place < len(steps) else None
        found.setdefault(said if known is None else known, Choice(said, known))
    return list(found.values())


def _found(text: str | None, steps: Sequence[str]) -> Iterator[tuple[str, int | None]]:
    said = _FENCES.sub("", clean(decoded(text or "")))
    if said.lstrip().startswith(("{", "[")):
        for value, _, _ in values(said, whole=False):
            yield from _in_value(value, steps)
            return
    places = {normal(clean(step)): place for place, step in reversed(list(enumerate(steps)))}
    if (spaced := said.strip()) and len(spaced) < 2000 and _SPACED.fullmatch(spaced) and spaced not in places:
        yield from _numbers(spaced)
        return
    lines = [_EMPHASIS.sub("", line.strip()[:2000]) for line in said.split("\n") if line.strip()]
    chosen = [found for line in lines for found in _in_line(line, places)]
    yield from chosen or [found for line in lines for found in _in_sentence(line)]


def _in_value(value: object, steps: Sequence[str]) -> Iterator[tuple[str, int | None]]:
    """Of JSON: numbers, or texts that are numbers or steps, wherever they stand; keys say nothing."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _in_value(part, steps)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"{value:g}", int(value) - 1 if float(value).is_integer() else None
    elif isinstance(value, str):
        yield from _found(value.lstrip("[{ \n"), steps)


def _in_line(line: str, places: dict[str, int]) -> Iterator[tuple[str, int | None]]:
    if (place := places.get(normal(line))) is not None:
        yield line, place
        return
    if marked := _LABELLED.match(line):
        if (place := places.get(normal(marked["rest"]))) is not None:
            yield marked["rest"], place
            return
        if alone := _ALONE.fullmatch(marked["rest"]):
            yield from _numbers(alone["numbers"])
            return
    if chosen := _ALONE.fullmatch(line) or _REASONED.match(line):
        yield from _numbers(chosen["numbers"])


def _in_sentence(line: str) -> Iterator[tuple[str, int | None]]:
    """`The best ones are 3 and 7.`: the last such words of a line count."""
    *_, last = [None, *_SAID.finditer(line)]
    if last is not None:
        yield from _numbers(last["numbers"])


def _numbers(text: str) -> Iterator[tuple[str, int | None]]:
    for number in _NUMBER.findall(text):
        yield number, int(number) - 1
