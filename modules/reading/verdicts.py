"""A label (sure, likely, impossible; yes, no) out of a reply, or None. Only the labels given count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from .text import plain
from .values import values

_KEY = (
    r"(?:verdict|judge?ment|rating|evaluation|assessment|answer|label|value|score|conclusion|classification|result|"
    r"status|likelihood|decision|grade|reachable|solvable|estimate)"
)
_DEGREE = r"(?:(?:very|quite|highly|definitely|clearly|absolutely|completely|fairly|simply)\s)?"
# What makes the label before it no verdict: a choice, a question, `impossible to say`, `Sure! Here is`.
_OTHER = (
    r"(?!\s?[/|]|\s?[,]?\s?(?:or|and|but not|nor)\b|\?|\s(?:thing|enough)\b|"
    r"\sto\s(?:say|tell|judge|know|determine|evaluate|assess|rate|see|be\s(?:sure|certain))|"
    r"[!,.]?\s(?:here|i can|i['’]ll|i will|let me|let['’]s|happy to|below)\b)"
)
_NEGATION = re.compile(
    r"\b(?:not|never|cannot|neither|nor|hardly|unless|if|whether|no longer)\b|n['’]t\b", re.IGNORECASE
)
_LINK = (
    r"(?:\A|\b(?:is|are|as|be|it['’]s|that['’]s|looks|seems|remains|state|so|thus|hence|therefore|verdict|answer|say|"
    r"deem(?:ed)?|call|judged?|rated?|consider(?:ed)?|but|a|an)|[:=>→?,–—-])\s?[\"'(]?"
)


class _Labels:
    """The patterns for one choice of labels."""

    def __init__(self, labels: tuple[str, ...]) -> None:
        self.names = {_fold(label): label for label in labels if label.strip()}
        spelled = sorted(map(re.escape, self.names), key=len, reverse=True)
        one = rf"(?<![\w-])({'|'.join(spelled)})(?![\w]|-\w)"
        another = rf"(?!\s*[,;]?\s*(?:{'|'.join(spelled)})(?!\w))"
        self.first = re.compile(rf"\W{{0,6}}{_DEGREE}{one}{_OTHER}{another}")
        self.field = re.compile(
            rf"\b{_KEY}\b[^:=\n]{{0,40}}(?:[:=→>]|\bis\b|\s[-–—])[\s\"'(\[]{{0,4}}{_DEGREE}{one}{_OTHER}"
            rf"{another}"
        )
        self.tail = re.compile(rf"[:=>→]\s{{0,3}}[\"'(\[]?{_DEGREE}{one}[\s.!)\]\"']*\Z")
        self.ends = re.compile(rf"{one}\Z")
        self.last = re.compile(rf"{_LINK}{_DEGREE}{one}[\s.!)\"']*\Z")


_labels = lru_cache(maxsize=64)(_Labels)


def _fold(label: str) -> str:
    return " ".join(label.casefold().split())


def verdict(text: str | None, labels: Sequence[str]) -> str | None:
    """The one of `labels` that the reply settles on, or None.

    In this order: the last line that is a label or a field with one (`Judgement: likely.`), the label that
    begins the reply, a JSON field, the label that ends the last sentence. Choices echoed back are no verdict,
    nor is `not sure`. Case does not count; labels are returned as they were given.
    """
    known = _labels(tuple(labels))
    if text is not None and (alone := known.names.get(text.strip().casefold())) is not None:
        return alone  # nothing but the label, which is what was asked for
    said = plain(text)
    if not known.names or not said:
        return None
    lines = _without_echo([_fold(line) for line in said.split("\n") if line.strip()], known)
    if not lines:
        return None
    found = _line(lines, known)
    if found is None and (first := known.first.match(lines[0])):
        found = first[1]
    if found is None:
        found = _in_object(said, known) or _final(lines[-1], known)
    return None if found is None else known.names[found]


def _line(lines: list[str], known: _Labels) -> str | None:
    """The label of the last line that gives one."""
    for line in reversed(lines):
        if (alone := _bare(line)) in known.names:
            return alone
        if fields := known.field.findall(line) or known.tail.findall(line):
            return str(fields[-1])
    return None


def _bare(line: str) -> str:
    return line.strip(" \t.,;:!\"'()[]{}<>#-–—•·")


def _without_echo(lines: list[str], known: _Labels) -> list[str]:
    """Without lines that only list the choices, one a line: three of them, or all if there are fewer."""
    alone = [_bare(line) for line in lines]
    enough = min(3, len(known.names))
    listed: set[int] = set()
    start = 0
    for k in range(len(alone) + 1):
        if k == len(alone) or alone[k] not in known.names or alone[k] in alone[start:k]:
            if k - start >= enough > 1:
                listed.update(range(start, k))
            start = k if k < len(alone) and alone[k] in known.names else k + 1
    return [line for k, line in enumerate(lines) if k not in listed]


def _in_object(said: str, known: _Labels) -> str | None:
    for value, _, _ in values(said):
        if isinstance(value, dict):
            texts = {_fold(part).strip(" .!\"'") for part in value.values() if isinstance(part, str)}
            found = texts & set(known.names)
            return found.pop() if len(found) == 1 else None
    return None


def _final(line: str, known: _Labels) -> str | None:
    """`So I would rate this as likely.` A negation in the same clause takes it back."""
    sentence = re.split(r"(?<=[.!?])\s", line.rstrip(" .!"))[-1][-400:]
    found = known.last.search(sentence)
    if not found:
        return None
    before = sentence[: found.start()].rstrip(" ,;:")
    another = known.ends.search(before)
    if another and not _negated(before[: another.start()]):  # the last of a row of choices
        return None
    return None if _negated(sentence[: found.start(1)].rstrip(" ,;:")) else found[1]


def _negated(before: str) -> bool:
    """Whether the clause that ends here takes back what follows."""
    return bool(_NEGATION.search(re.split(r"[,;:]|\bbut\b", before)[-1]))
