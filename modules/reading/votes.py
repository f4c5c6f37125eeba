"""Which of several candidates a reply chooses, and which of two it finds better.

The names of candidates (`choice 2`, `B`, `the first`) are put in one form, `<2>`, before a line is read.
"""

from __future__ import annotations

import re

from .text import plain
from .values import values

NOUN = (
    r"(?:choice|option|candidate|thought|plan|answer|number|step|move|item|proposal|passage|solution|path|state|"
    r"attempt|response|assistant|no\.)"
)
_ORDINALS = {"first": 1, "former": 1, "second": 2, "latter": 2, "third": 3, "fourth": 4, "fifth": 5}
_OPEN, _CLOSE = r"[#(\[{\"']{0,2}", r"[)\]}\"']{0,2}"
# A bare letter is a name in capitals, and only where no noun follows: `A good step` names none.
_NAME = re.compile(
    rf"(?i:\b(?:the )?{NOUN}\s?){_OPEN}(?P<labelled>[0-9]{{1,2}}|[A-Za-z])\b(?![./,]?[0-9]){_CLOSE}"
    rf"|\b(?i:(?:the )?(?P<ordinal>{'|'.join(_ORDINALS)})\b(?: {NOUN}\b| one\b)?)"
    rf"|(?<![\w.,/+-]){_OPEN}(?P<figure>[0-9]{{1,2}})(?![\w%]|[.,/][0-9]){_CLOSE}"
    rf"|(?<![\w'’]){_OPEN}(?P<letter>[A-Z]){_CLOSE}"
    r"(?=\s?(?:\Z|[.,:;!?><=≻≺]|(?:is|seems|looks|wins|over|and|or|would|appears|than)\b))"
)
_TAGGED = re.compile(r"<\s?([0-9]{1,2}|[A-Z])\s?>")
_KEYS = ("best", "vote", "choice", "winner", "better", "prefer", "answer", "selected", "index", "candidate")


def vote(text: str | None, count: int) -> int | None:
    """The index, from 0, of the chosen of `count` candidates named 1, 2, .. or A, B, ..; None if in doubt.

    The last line that chooses counts. A line that names several, or one that does not exist, chooses none.
    """
    lines = _lines(text)
    for line in reversed(lines):
        if chosen := _matches(_CHOICE, line):
            return _index(chosen.pop() if len(chosen) == 1 else 0, count)
    begun = _LEADING.match(lines[0]) if len(lines) == 1 else None
    return _index(int(begun["place"]), count) if begun else None


def comparison(text: str | None) -> float | None:
    """How the first of two candidates compares: 1.0 better, 0.0 worse, 0.5 a tie; None if unread.

    The candidates are called 1 and 2, A and B, or first and second.
    """
    for line in reversed(_lines(text)):
        if chosen := _matches(_CHOICE, line) | {3 - worse for worse in _matches(_WORSE, line)}:
            return {frozenset({1}): 1.0, frozenset({2}): 0.0}.get(frozenset(chosen))
        if _TIE.search(line) and not _NOT.search(line):
            return 0.5
    chosen_alone = vote(text, 2)
    return None if chosen_alone is None else 1.0 - chosen_alone


def _lines(text: str | None) -> list[str]:
    """The lines of a reply with names in one form, but for lines that only list the candidates."""
    lines = [line[-2000:] for line in _spoken(plain(text)).split("\n") if line.strip()]
    named = [_NAME.sub(lambda name: f"<{_place(name)}>", _TAGGED.sub(r"\1", line)) for line in lines]
    alone = {match["place"] for line in named if (match := _ALONE.match(line))}
    return [line for line in named if len(alone) < 2 or not _ALONE.match(line)]


def _spoken(said: str) -> str:
    """The reply, or what its first JSON object says is best."""
    for value, _, _ in values(said):
        if isinstance(value, dict):
            for key in _KEYS:
                found = next((part for name, part in value.items() if name.lower().startswith(key)), None)
                if isinstance(found, str):
                    return found
                if isinstance(found, float) and not isinstance(found, bool):
                    return f"{found:g}"
            break
    return said


def _place(name: re.Match[str]) -> int:
    if name["ordinal"]:
        return _ORDINALS[name["ordinal"].lower()]
    label = name["labelled"] or name["figure"] or name["letter"]
    return int(label) if label.isdecimal() else ord(label.upper()) - ord("A") + 1


def _index(place: int, count: int) -> int | None:
    return place - 1 if 1 <= place <= count else None


# -- what a line says of the names in it

_ONE = r"<(?P<place>[0-9]+)>"
_BEST = (
    r"(?:best|better|winner|preferred|strongest|stronger|most promising|more promising|superior|preferable|"
    r"likelier|more likely)"
)
_SUBJECT = rf"(?:{_BEST}|chosen|selected|final|verdict|decision|vote|answer|choice|my|winning|choose|index)"
_ADVERB = r"(?:\s(?:clearly|the|a|much|slightly|far|overall|to be|likely|single|probably|definitely|by far))*"
_SEEMS = rf",?\s(?:is|seems|looks|appears|would be|comes out){_ADVERB}\s"
_ALONE = re.compile(rf"\A[^\w<]{{0,6}}{_ONE}[^\w<]{{0,6}}\Z")
_LEADING = re.compile(  # `2, because it keeps both.`
    rf"\A[^\w<]{{0,6}}{_ONE}\s?(?:[,.:(]|[-–—]\s|\s(?:because|since|as)\b)(?![\s,]{{0,3}}(?:and |or )?<)"
)
_NAMED_LAST = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        _ALONE.pattern,
        rf"\b{_SUBJECT}\b[^.;]{{0,60}}?(?:\bis|\bwould be|\bgoes to|\bfor|[:=→]|->)\s{{0,3}}{_ONE}",
        rf"\b(?:vote(?:s|d)? for|choose|chose|select|pick|prefer|go with|favou?r|recommend)\s{_ONE}",
    )
)
_NAMED_FIRST = tuple(  # other names may follow
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_ONE}{_SEEMS}{_BEST}\b",
        rf"{_ONE}\s(?:wins|is{_ADVERB}\sahead)\b",
        rf"{_ONE}\s?(?:>{{1,3}}|≻|\bover)\s?<[0-9]+>",
        rf"<[0-9]+>\s?(?:<{{1,3}}|≺)\s?{_ONE}",
    )
)
_CHOICE = _NAMED_LAST + _NAMED_FIRST
_WORSE = (re.compile(rf"{_ONE}{_SEEMS}(?:worse|weaker|inferior|less (?:promising|likely))\b", re.IGNORECASE),)
_AND_MORE = re.compile(r"[\s,]{0,3}(?:and|or|&|/|,|-|to)?[\s,]{0,3}(?:or )?<[0-9]+>", re.IGNORECASE)
_MORE_BEFORE = re.compile(r"<[0-9]+>(?:\s(?:and|or|&)|,)\s?\Z")
_NOT = re.compile(r"\b(?:not|never|cannot|hardly)\b|n['’]t\b", re.IGNORECASE)
_TIE = re.compile(
    r"(?<!or )\b(?:tie(?! or)|tied|draw|equal|equally|the same|neither|"
    r"no (?:clear |real )?(?:difference|preference|winner))\b",
    re.IGNORECASE,
)


def _matches(patterns: tuple[re.Pattern[str], ...], line: str) -> set[int]:
    """The places that the line names in one of these ways; 0 stands for several at once."""
    found: set[int] = set()
    for pattern in patterns:
        for match in pattern.finditer(line):
            if _NOT.search(line[max(0, match.start() - 20) : match.end()]):
                continue
            several = _MORE_BEFORE.search(line[max(0, match.start() - 12) : match.start()])
            if pattern in _NAMED_LAST:
                several = several or _AND_MORE.match(line, match.end())
            found.add(0 if several else int(match["place"]))
    return found
