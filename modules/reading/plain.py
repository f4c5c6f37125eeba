"""Proposals out of lines without markers: talk around them dropped, a list within one line taken apart."""

from __future__ import annotations

import re

from .items import LABEL, is_step, ordinal, refusal
from .lines import Line

CLOSER = re.compile(
    r"(?:let me know|i hope|hope (?:this|these|that)|feel free|would you like|please let|good luck|"
    r"if you(?:['’]d| would)? (?:need|want|have|like)|each of these|all (?:of )?these|"
    r"these (?:are|steps|options|moves|thoughts|proposals|ideas)\b)",
    re.IGNORECASE,
)
_OPENER = re.compile(
    r"(?:sure|certainly|of course|absolutely|great|okay|ok|alright|got it|understood)"
    r"(?:[!.]?|[!,.:]? (?:here|i|i['’]ll|i['’]d|let|below|these|the following)\b.*)|"
    r"(?:here|below)(?:['’]s| are| is)\b.*[:.]|.{0,200}:",
    re.IGNORECASE,
)
_ANSWER = re.compile(r"(?:final )?answer\s?:\Z", re.IGNORECASE)


def plain_items(lines: list[Line], n: int | None) -> list[str]:
    """One item a line. A line that opens or closes the list, or names a group, is none; nor is a refusal."""
    texts = [line.text for line in lines if line.mark.kind != "heading"] or [line.text for line in lines]
    kept: list[str] = []
    for place, text in enumerate(texts, 1):
        if kept and _ANSWER.match(kept[-1]):  # the answer stands on the next line
            kept[-1] += " " + text
        elif place == len(texts) or _ANSWER.match(text) or not _talk(text, first=not kept):
            kept.append(text)
    while len(kept) > 1 and CLOSER.match(kept[-1]):
        kept.pop()
    steps = [text for text in kept if is_step(text)]  # beside them, all else is talk about them
    kept = steps or kept
    if kept and refusal(kept[0]) and (len(kept) == 1 or len(lines) < 3):
        return []
    if len(kept) != 1:
        return kept
    whole = kept[0].count("=") == 1 and is_step(kept[0])  # `9 - 3 = 6; left: 2 6 6`
    return inline(kept[0]) or (kept if whole else _separated(kept[0], n) or kept)


def _talk(text: str, *, first: bool) -> bool:
    return bool(_OPENER.fullmatch(text)) if first else text.endswith(":")


# -- a list within one line

_INLINE = (
    re.compile(rf"(?<!\w){LABEL.pattern}", re.IGNORECASE),
    re.compile(r"(?<![\w.])\(?([0-9]{1,2})[.)]\s+(?=\S)"),
    re.compile(r"(?<!\w)\(?([A-Z])[.):]\s+(?=\S)|(?<!\w)\(([a-z])\)\s+(?=\S)"),
)
_STOP = re.compile(r"(?:[;,.)!?:|\]}*]|\b(?:and|or))\s*\Z", re.IGNORECASE)


def inline(line: str) -> list[str] | None:
    """`1. a; 2. b; 3. c`: marks that run from 1, each after a stop, or at least three without. Else None."""
    for pattern in _INLINE:
        marks = list(pattern.finditer(line))
        for strict in (True, False):
            run = _run(line, marks, strict)
            if len(run) >= (2 if strict else 3):
                ends = [mark.start() for mark in run[1:]] + [len(line)]
                return [_trim(line[mark.end() : end]) for mark, end in zip(run, ends, strict=True)]
    return None


def _run(line: str, marks: list[re.Match[str]], strict: bool) -> list[re.Match[str]]:
    """The marks that count 1, 2, 3, ..; strict: each but the first after a stop, or a word (`Step 2:`)."""
    run: list[re.Match[str]] = []
    for mark in marks:
        place = ordinal(next(group for group in mark.groups() if group))
        before = line[max(0, mark.start() - 8) : mark.start()]
        stopped = not run or not strict or mark[0][:4].istitle() or _STOP.search(before)
        if place == len(run) + 1 and stopped:
            run.append(mark)
    return run


def _trim(part: str) -> str:
    """The part without the separator before the next one: `a; and`."""
    return re.sub(r"\s(?:and|or)\Z", "", part.strip().rstrip(" ;,|")).rstrip(" ;,|")


_CLAUSE = re.compile(
    r"(?:and|or|then|so|but|which|that|because|since|where|while|when|if|as|not|the|an?|its?|their|his|her|to|"
    r"with)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?:](?:\s|\Z)")
_CALL = re.compile(r"[A-Za-z]\w{0,40}\[[^\[\]]*\]\.?")
_EQUATION = re.compile(r"[0-9)]\s?=\s?[-(]?[0-9]")


def _separated(line: str, n: int | None) -> list[str] | None:
    """A list by semicolons, bars or commas, or None. Commas make one of phrases alike, not of a sentence."""
    for mark in (";", " | ", ","):
        parts = [part.strip() for part in _split(line, mark) if part.strip()]
        if len(parts) < 2:
            continue
        if all(_CALL.fullmatch(part) or _EQUATION.search(part[:80]) for part in parts):
            return parts
        listed = mark != "," or _phrases(line, parts)
        return parts if listed and (len(parts) > 2 or len(parts) == n) else None
    return None


def _phrases(line: str, parts: list[str]) -> bool:
    words = [len(part.split()) for part in parts]
    even = max(words) == 1 or (min(words) > 1 and max(words) < 9)
    return even and not _SENTENCE.search(line) and not any(_CLAUSE.match(part) for part in parts)


def _split(line: str, mark: str) -> list[str]:
    """Split at `mark` outside of brackets."""
    parts, start, depth = [], 0, 0
    for found in re.finditer(rf"[(\[{{]|[)\]}}]|{re.escape(mark)}", line):
        if found[0] != mark:
            depth = max(0, depth + (1 if found[0] in "([{" else -1))
        elif depth == 0:
            parts.append(line[start : found.start()])
            start = found.end()
    return [*parts, line[start:]]
