"""Which of several candidates a reply chooses, and which of two it finds better.

The names of candidates (`choice 2`, `B`, `the first`) are put in one form, `<2>`, before a line is read.
"""

from __future__ import annotations

import re

from .reading_text import plain
from .reading_values import Value, values

_NOUN = (
    r"(?:choice|option|candidate|thought|plan|answer|number|step|proposal|passage|solution|path|state|attempt|response|"
    r"assistant|no\.)"
)
_ORDINALS = {"first": 1, "former": 1, "second": 2, "latter": 2, "third": 3, "fourth": 4, "fifth": 5}
# A bare letter is a name in capitals, and only where no noun follows: `A good step` names none.
_NAME = re.compile(
    rf"(?i:\b(?:the )?{_NOUN}\s?)[#(\[\"']{{0,2}}(?P<labelled>[0-9]{{1,2}}|[A-Za-z])\b(?![./,]?[0-9])[)\]\"']{{0,2}}"
    rf"|\b(?i:(?:the )?(?P<ordinal>{'|'.join(_ORDINALS)})\b(?: {_NOUN}\b| one\b)?)"
    r"|(?<![\w.,/+-])[#(\[\"']{0,2}(?P<figure>[0-9]{1,2})(?![\w%]|[.,/][0-9])[)\]\"']{0,2}"
    r"|(?<![\w'’])[(\[\"']{0,2}(?P<letter>[A-Z])[)\]\"']{0,2}(?=\s?(?:\Z|[.,:;!?><=≻≺]|(?:is|seems|looks|wins|over|and|or|would|appears|than)\b))"
)
_KEYS = ("best", "vote", "choice", "winner", "better", "preferred", "answer", "selected", "index", "candidate")


def vote(text: str | None, count: int) -> int | None:
    """The index, from 0, of the chosen one of `count` candidates labelled 1, 2, .. or A, B, ..; None if in doubt.

    The last line that chooses counts. A line that names several, or one that does not exist, chooses none.
    """
    said = _spoken(text, _KEYS)
    lines = [_named(line[-2000:]) for line in said.split("\n") if line.strip()]
    for line in reversed(lines):
        if chosen := _chosen(line):
            return _within(chosen.pop() if len(chosen) == 1 else 0, count)
    # `2, because it keeps both.`
    begun = _LEADING.match(lines[0]) if len(lines) == 1 else None
    return _within(int(begun["place"]), count) if begun else None


def _within(place: int, count: int) -> int | None:
    return place - 1 if 1 <= place <= count else None


def comparison(text: str | None) -> float | None:
    """How the first of two candidates compares: 1.0 better, 0.0 worse, 0.5 a tie; None if the reply does not say."""
    said = _spoken(text, _KEYS)
    lines = [_named(line[-2000:]) for line in said.split("\n") if line.strip()]
    for line in reversed(lines):
        chosen = _chosen(line) | {3 - worse for worse in _matches(_WORSE, line)}
        if chosen:
            return {frozenset({1}): 1.0, frozenset({2}): 0.0}.get(frozenset(chosen))
        if _TIE.search(line) and not _NOT.search(line):
            return 0.5
    chosen_alone = vote(said, 2)
    return None if chosen_alone is None else 1.0 - chosen_alone


def _spoken(text: str | None, keys: tuple[str, ...]) -> str:
    """The reply, or what its first JSON object holds under one of the keys."""
    said = plain(text)
    for value, _, _ in values(said):
        if isinstance(value, dict):
            for key in keys:
                found: Value = next((part for name, part in value.items() if name.lower().startswith(key)), None)
                if isinstance(found, str):
                    return found
                if isinstance(found, float) and not isinstance(found, bool):
                    return f"{found:g}"
            break
    return said


def _named(line: str) -> str:
    return _NAME.sub(lambda name: f"<{_place(name)}>", line)


def _place(name: re.Match[str]) -> int:
    if name["ordinal"]:
        return _ORDINALS[name["ordinal"].lower()]
    label = name["labelled"] or name["figure"] or name["letter"]
    return int(label) if label.isdecimal() else ord(label.upper()) - ord("A") + 1


# -- what a line says of the names in it

_ONE = r"<(?P<place>[0-9]+)>"
_BEST = r"(?:best|better|winner|preferred|strongest|most promising|more promising|stronger|superior|preferable|likelier|more likely)"
_ADVERB = r"(?:\s(?:clearly|the|a|much|slightly|far|overall|to be|likely|on top|single|probably|definitely|by far))*"
_ALONE = re.compile(rf"\A[^\w<]{{0,6}}{_ONE}[^\w<]{{0,6}}\Z")
_LEADING = re.compile(rf"\A[^\w<]{{0,6}}{_ONE}\s?(?:[,.:(]|[-–—]\s|\s(?:because|since|as)\b)(?![\s,]{{0,3}}(?:and |or )?<)")
_CHOICE = (
    _ALONE,
    re.compile(rf"\b(?:{_BEST}|chosen|selected|final|verdict|decision|vote|answer|choice|my|winning|choose|index)\b[^.;]{{0,60}}?(?:\bis|\bwould be|\bgoes to|\bfor|[:=→]|->)\s{{0,3}}{_ONE}", re.IGNORECASE),
    re.compile(rf"\b(?:vote(?:s|d)? for|choose|chose|select|pick|prefer|go with|favou?r|recommend)\s{_ONE}", re.IGNORECASE),
    re.compile(rf"{_ONE},?\s(?:is|seems|looks|appears|would be|comes out){_ADVERB}\s{_BEST}\b", re.IGNORECASE),
    re.compile(rf"{_ONE}\s(?:wins|is{_ADVERB}\sahead)\b", re.IGNORECASE),
    re.compile(rf"{_ONE}\s?(?:>{{1,3}}|≻|\bover)\s?<[0-9]+>"),
    re.compile(rf"<[0-9]+>\s?(?:<{{1,3}}|≺)\s?{_ONE}"),
)
_WORSE = (
    re.compile(rf"{_ONE},?\s(?:is|seems|looks|appears){_ADVERB}\s(?:worse|weaker|inferior|less (?:promising|likely))\b", re.IGNORECASE),
)
_SEVERAL = re.compile(r"[\s,]{0,3}(?:and|or|&|/|,|-|to)?[\s,]{0,3}(?:or )?<[0-9]+>", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|never|cannot|hardly)\b|n['’]t\b", re.IGNORECASE)
_TIE = re.compile(
    r"(?<!or )\b(?:tie(?! or)|tied|draw|equal|equally|the same|no (?:clear |real )?(?:difference|preference|winner)|neither)\b", re.IGNORECASE
)


def _chosen(line: str) -> set[int]:
    """The places that the line chooses; 0 stands for several at once."""
    return _matches(_CHOICE, line)


def _matches(patterns: tuple[re.Pattern[str], ...], line: str) -> set[int]:
    found: set[int] = set()
    for pattern in patterns:
        for match in pattern.finditer(line):
            if _NOT.search(line[max(0, match.start() - 20) : match.end()]):
                continue
            versus = pattern in _CHOICE[3:]  # the name comes first, others may follow
            several = _SEVERAL.match(line, match.end()) and not versus
            several = several or re.search(r"<[0-9]+>(?:\s(?:and|or|&)|,)\s?\Z", line[max(0, match.start() - 12) : match.start()])
            found.add(0 if several else int(match["place"]))
    return found
