"""A score out of a reply, or None: an unreadable score is never guessed.

A number counts if a field, a label or the sentence says that it is the rating, or if nothing else is there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .text import plain
from .values import Value, values


@dataclass(frozen=True, slots=True)
class Reading:
    """A score on the scale asked for. clamped: the reply was off the scale and `value` is its nearer end."""

    value: float
    clamped: bool = False


# One whole number: no part of a word, a version or a time, and no longer than a float can tell apart.
_FIGURE = r"[-+]?(?:[0-9]{1,15}(?:[.,][0-9]{1,15})?|\.[0-9]{1,15})(?:[eE][-+]?[0-9]{1,3})?(?!\w|[.,:][0-9])"
_AMOUNT = (
    rf"(?P<figure>{_FIGURE})(?:\s(?:points?|pts|stars?)\b)?"
    rf"(?:\s{{0,3}}(?:(?P<percent>%|percent\b|per cent\b)|(?:/|out of\b|of\b)\s{{0,3}}(?P<of>{_FIGURE})))?"
    r"(?:\s(?:points?|pts|stars?)\b)?"
)
# What may follow a rating. A noun may not: `2 claims are missing` counts claims.
_END = (
    r"(?=\s*\Z|[ \t]*\n|\s?[;!?)\]}(\"'|。、]|\s?[.,](?![0-9])(?!\s[0-9])|\s?[-–—→]{1,3}\s?(?![\s0-9.])|"
    r"\s(?:because|since|as|given|due|for|but|so|i|this|out|overall|with|while|although|though|based|which|where|"
    r"here|at|if)\b)"
)
_RATING = re.compile(
    rf"[\s\"'(\[{{]*(?:a|an|about|around|roughly|approximately|only|just|≈)?\s?{_AMOUNT}{_END}", re.IGNORECASE
)
_ALONE = re.compile(rf"[\s\"'(\[{{$]*{_AMOUNT}[\s\"')\]}}$.!。]*", re.IGNORECASE)
_LEADING = re.compile(
    rf"\s*{_AMOUNT}"
    r"(?:\s?[-–—]{1,2}\s(?=[^\W\d])|\s?\([^()\n]{0,200}\)\.?[ \t]*(?:\n|\Z)|,?\s(?:because|since|as)\b)",
    re.IGNORECASE,
)
_SCALE = re.compile(
    r"\b(?:on|using|with|in)\s(?:a|the|this|my)?\s?(?:[\w-]{1,20}\s)?(?:scale|range)\s?(?:of|from|between|,|:)?\s?"
    rf"{_FIGURE}\s?(?:to|-|–|and|through|\.\.)\s?(?P<b>{_FIGURE})|"
    rf"[(\[]\s?(?:from|on|scale|range|of|:|\s){{0,4}}{_FIGURE}\s?(?:to|-|–|\.\.)\s?(?P<d>{_FIGURE})\s?(?:scale)?\s?[)\]]|"
    rf"[(\[]\s?(?:out of|of|max\.?|/)\s?(?P<e>{_FIGURE})\s?[)\]]",
    re.IGNORECASE,
)


def number(text: str | None, low: float, high: float) -> Reading | None:
    """The score in a reply on the scale `low` to `high`, or None.

    In this order: the first complete JSON object; a labelled score, a final one before others, else the
    last; the only share (`8/10`) at the end of a clause; a number that is all of the reply or begins it; a
    field such as `Value:`; a sentence that rates; a number alone on its line.

    `80%`, `8/10` and a number on a scale that the reply names are rescaled.
    Raises ValueError unless low < high.
    """
    if not low < high:
        raise ValueError(f"low must be below high, got low={low!r} and high={high!r}")
    said = plain(text)
    for value, _, _ in values(said):
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(value, dict):
            if (amount := _in_object(value)) is not None:
                found = _RATING.match(amount)
                return _on_scale(found, low, high, None) if found else None
            break
    declared: float | None = None
    for scale in _SCALE.finditer(said):
        declared = _float(scale["b"] or scale["d"] or scale["e"])
    said = _SCALE.sub(" ", said)
    if found := _labelled(said):
        return _on_scale(found, low, high, declared)
    if _UNRATED.search(said):
        return None
    if found := _share(said, high) or _ALONE.fullmatch(said) or _leading(said):
        return _on_scale(found, low, high, declared)
    # What only looks like a rating is none if it is off the scale: `this gets 24` is arithmetic.
    if found := _line_label(said) or _sentence(said) or _line(said):
        reading = _on_scale(found, low, high, declared)
        return reading if reading and not reading.clamped else None
    return None


def _on_scale(amount: re.Match[str], low: float, high: float, declared: float | None) -> Reading | None:
    """The amount between `low` and `high`. A share of another top than `high` is rescaled."""
    figure = amount["figure"]
    if re.fullmatch(r"[-+]?[1-9][0-9]{0,2},[0-9]{3}", figure):  # thousands, where the scale has them
        if high < 1000:
            return None
        figure = figure.replace(",", "")
    value = _float(figure)
    top = 100.0 if amount["percent"] else _float(amount["of"]) if amount["of"] else declared
    if top is not None and top != high:
        if not 0 < top < float("inf"):
            return None
        value = low + value / top * (high - low)
    if not abs(value) < float("inf"):
        return None
    kept = float(min(max(value, low), high))
    return Reading(kept, kept != value)


def _float(figure: str) -> float:
    """`0,85` is 0.85. At most 15 digits, so that only an exponent can overflow."""
    return float(figure.replace(",", "."))


# -- where the score may stand

_SCORE_KEYS = ("final_score", "overall_score", "score", "rating", "grade")
_VALUE_KEYS = (
    "value", "evaluation", "overall", "probability", "likelihood", "confidence", "reward", "estimate",
    "points", "assessment", "judgement", "judgment", "verdict",
)  # fmt: skip
_LABEL = re.compile(
    r"\b(?P<final>(?:final|overall|total)[ _])?(?:score|rating|grade)s?\b[\"']?[^\n0-9:=.!?]{0,40}?"
    r"(?:[:=→]|->|\s-\s|\b(?:is|of|be|as|at)\b|\n|(?=\s[0-9]))",
    re.IGNORECASE,
)
_UNRATED = re.compile(
    r"\b(?:score|rating|grade)\b[\"']?[^\n0-9:=]{0,30}[:=]\s{0,3}[\"']?(?:nan|[-+]?inf|none|null|n/?a|unknown|undefined|\?)",
    re.IGNORECASE,
)
_LINE_LABEL = re.compile(
    r"^\W{0,6}(?:(?:my|the|final|overall|estimated|state|step)\s){0,2}(?:value|evaluation|overall|probability|"
    r"likelihood|confidence|reward|estimate|points|assessment|judge?ment|verdict|answer|progress|promise)\b[\"']?"
    r"[^\n0-9:=.!?]{0,40}[:=]",
    re.IGNORECASE | re.MULTILINE,
)
_VERB = re.compile(
    r"\b(?:(?:i(?:['’]d| would|['’]ll| will)?|we|let me) (?:give|rate|score|assign|grade|put|say)|"
    r"(?:step|state|thought|candidate|path|proposal|solution|attempt|plan|option|this|it) (?:\w{1,20} )?"
    r"(?:gets|deserves|earns|receives|scores|merits|warrants|rates))\b[^\n0-9:=.!?]{0,40}?(?=[\s:~][-+]?\.?[0-9])",
    re.IGNORECASE,
)
_SHARE = re.compile(
    rf"(?<![\w.,/*+=-]){_AMOUNT}"
    r"(?=\s*\Z|[ \t]*\n|\s?[;!?)\]\"'。]|\s?[.,](?![0-9])|\s(?:overall|because|since)\b)",
    re.IGNORECASE,
)


def _in_object(fields: dict[str, Value]) -> str | None:
    """The score of an object as text: under its key, in the only object inside it, or its only member."""
    lowered = {key.lower().replace(" ", "_"): value for key, value in fields.items()}
    for key in (*_SCORE_KEYS, *_VALUE_KEYS):
        value = lowered.get(key)
        if isinstance(value, dict):
            return _in_object(value)
        if isinstance(value, float) and not isinstance(value, bool):
            return repr(value)
        if key in _SCORE_KEYS and key in lowered:
            return str(value)
        if isinstance(value, str) and _RATING.match(value):
            return value
    inner = [value for value in fields.values() if isinstance(value, dict)]
    if len(inner) == 1:
        return _in_object(inner[0])
    only = next(iter(fields.values())) if len(fields) == 1 else None
    return repr(only) if isinstance(only, float) and not isinstance(only, bool) else None


def _labelled(said: str) -> re.Match[str] | None:
    last: dict[bool, re.Match[str]] = {}
    for label in _LABEL.finditer(said):
        if rating := _RATING.match(said, label.end()):
            last[label["final"] is not None] = rating
    return last.get(True) or last.get(False)


def _share(said: str, high: float) -> re.Match[str] | None:
    """The only `8/10` or `80%` of a reply without equations."""
    if "=" in said:
        return None
    found = [m for m in _SHARE.finditer(said) if m["percent"] or (m["of"] and _float(m["of"]) in (5, 10, 100, high))]
    return found[0] if len({m[0] for m in found}) == 1 else None


def _leading(said: str) -> re.Match[str] | None:
    """`0.7 (likely)`, `7 - close to the goal`; not `3 - x = 1`."""
    return None if "=" in said.split("\n", 1)[0] else _LEADING.match(said)


def _line_label(said: str) -> re.Match[str] | None:
    found = [rating for label in _LINE_LABEL.finditer(said) if (rating := _RATING.match(said, label.end()))]
    return found[-1] if found else None


def _sentence(said: str) -> re.Match[str] | None:
    found = [rating for verb in _VERB.finditer(said) if (rating := _RATING.match(said, verb.end()))]
    return found[-1] if len({rating["figure"] for rating in found}) == 1 else None


def _line(said: str) -> re.Match[str] | None:
    """A number alone on the first or last line and on no other; not what a line with a colon announces."""
    lines = [line for line in said.split("\n") if line.strip()]
    found = [(k, alone) for k, line in enumerate(lines) if (alone := _ALONE.fullmatch(line))]
    if len(found) != 1 or found[0][0] not in (0, len(lines) - 1):
        return None
    place, alone = found[0]
    return None if place and lines[place - 1].rstrip().endswith(":") else alone
