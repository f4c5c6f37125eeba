"""Replies that hold one thing: a program, an agent's action, a legal move, an answer, crossword words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .items import empty, polish
from .lists import items
from .objects import proposals
from .text import block, body, unbold, unwrap, visible


def code(text: str | None) -> str:
    """The first fenced block, whatever its tag, indentation kept; without a fence, the text.

    A fence that is never closed, because the reply was cut, holds the rest.
    """
    said = visible(text)
    lines = (said if "```" in said or "~~~" in said else block(text)).split("\n")
    for k, line in enumerate(lines):
        fence = re.match(r"([ \t]*)(`{3,}|~{3,})(.*)", line)
        if not fence:
            continue
        if fence[2] in fence[3]:  # opened and closed on one line
            return fence[3].split(fence[2], 1)[0].strip()
        inside: list[str] = []
        for inner in lines[k + 1 :]:
            if inner.strip().startswith(fence[2]) and not inner.strip(" \t`~"):
                break
            inside.append(inner.removeprefix(fence[1]))
        return "\n".join(inside).strip("\n").rstrip()
    return "\n".join(lines).strip("\n").rstrip()


# -- agents

_OBSERVATION = re.compile(r"(?:^|(?<=[\s\])]))[*_#\s]{0,4}(?:observation|obs)\s?[0-9]{0,3}[*_]{0,2}\s?:", re.IGNORECASE)
_ACTION = re.compile(
    r"(?:^|(?<=\s)|(?<=[*_#]))action\s?[0-9]{0,3}[*_]{0,2}\s?:[*_]{0,2}[ \t]*", re.IGNORECASE | re.MULTILINE
)
_NEXT_FIELD = re.compile(
    r"\s[*_#]{0,3}(?:thought|action(?:\sinput)?|reasoning)\s?[0-9]{0,3}[*_]{0,2}\s?:", re.IGNORECASE
)
_INPUT = re.compile(r"\s[*_#]{0,3}action\sinput\s?[0-9]{0,3}[*_]{0,2}\s?:[*_]{0,2}[ \t]*([^\n]*)", re.IGNORECASE)
_CALL = re.compile(r"\b([A-Za-z]\w{0,40})\[")


def actions(text: str | None) -> list[str]:
    """The first action of an agent's reply, or []: what follows a self-written observation is made up.

    An action is what stands after `Action:`, else the first `Name[argument]`. An empty argument is no action.
    """
    said = body(text)
    observed = _OBSERVATION.search(said)
    said = said[: observed.start()] if observed else said
    labelled = _ACTION.search(said)
    if not labelled:
        called = said if _CALL.search(said) else next(iter(proposals(said, items) or []), "")
        found = _call(called)
    else:
        rest = said[labelled.end() :]
        following = _NEXT_FIELD.search(rest)
        found = (rest[: following.start()] if following else rest).strip().split("\n", 1)[0]
        if given := _INPUT.match(rest[following.start() :] if following else ""):
            found = f"{polish(found)}[{polish(given[1])}]"
        found = _call(found) if _CALL.search(found) else polish(found)
    return [] if not found or empty(found) else [found]


def _call(text: str) -> str | None:
    """The first `Name[argument]` whose brackets close; None if there is none or it is empty."""
    for start in _CALL.finditer(text):
        depth = 0
        for mark in re.finditer(r"[\[\]\n]", text[start.start() : start.end() + 2000]):
            depth += {"[": 1, "]": -1, "\n": 0}[mark[0]]
            if depth == 0:
                argument = text[start.end() : start.start() + mark.start()]
                return f"{start[1]}[{argument.strip()}]" if argument.strip() else None
    return None


# -- moves and answers

_EDGES = " \t\n.,;:!?\"'`*_[](){}<>“”‘’«»"
_ARTICLES = re.compile(r"\b(?:the|an?)\b ?")


def match_move(text: str | None, moves: Sequence[str]) -> str | None:
    """The legal move that the text names, or None. Case, quotes, emphasis, stops, articles do not count."""
    named = items(text)
    for spell in (normal, lambda move: _ARTICLES.sub("", normal(move))):
        spelled = {spell(name) for name in named}
        matches = {move for move in moves if spell(move) in spelled}
        if matches:
            return matches.pop() if len(matches) == 1 else None
    return None


def normal(move: str) -> str:
    """How moves are compared: lower case, single spaces, nothing around them."""
    move = " ".join(move.casefold().split())
    return move.strip(_EDGES) or move


_ANSWER = re.compile(r"(?:\W{0,4}(?:final\s)?answer\s?[*_]{0,2}:[*_]{0,2})", re.IGNORECASE)


def answer_text(thought: str | None) -> str | None:
    """What follows an `ANSWER:` prefix, or None where the thought has no such prefix or nothing follows."""
    said = polish(body(thought))
    prefix = _ANSWER.match(said)
    answer = unwrap(said[prefix.end() :]) if prefix else ""
    return None if not answer or not re.search(r"\w", answer) else answer


# -- crosswords

_SLOT = re.compile(r"(?<![a-z0-9])([hv])\s?\.?([0-9]{1,2})(?![0-9])", re.IGNORECASE)
_WORD = re.compile(
    r"([A-Za-z]{2,30})[^A-Za-z\n]{0,8}(?:(?:confidence|conf)\b[\W_]{0,4}(?:level\b[\W_]{0,3})?)?"
    r"\b(certain|high|medium|low)\b",
    re.IGNORECASE,
)


def clues(text: str | None, length: int = 5) -> list[str]:
    """Crossword proposals as `h1. stone (certain)`: lower case, words of `length` letters only, none twice.

    Under the headings Across and Down plain numbers are read as h and v. A word may come without confidence.
    """
    spaced = re.compile(rf"(?<![A-Za-z])(?:[A-Za-z][ -]){{{length - 1}}}[A-Za-z](?![A-Za-z])")
    found: dict[tuple[str, str], str] = {}
    for slot, said in _slots(unbold(body(text))):
        said = spaced.sub(lambda word: re.sub(r"[ -]", "", word[0]), said)
        rated = _WORD.search(said)
        words = [rated[1]] if rated else re.findall(r"[A-Za-z]+", said)
        if len(words) == 1 and len(words[0]) == length:
            sure = f" ({rated[2].lower()})" if rated else ""
            found.setdefault((slot, words[0].lower()), f"{slot}. {words[0].lower()}{sure}")
    return list(found.values())


def _slots(text: str) -> Iterator[tuple[str, str]]:
    """(slot, what is said of it) in the order of the text."""
    direction = ""
    for line in text.split("\n"):
        heading = re.match(r"\W{0,6}(across|horizontal|down|vertical)\b(?!\s[a-z])", line, re.IGNORECASE)
        if heading:
            direction = "h" if heading[1].lower() in ("across", "horizontal") else "v"
        slots = list(_SLOT.finditer(line))
        for k, slot in enumerate(slots):
            end = slots[k + 1].start() if k + 1 < len(slots) else len(line)
            yield slot[1].lower() + slot[2], line[slot.end() : end]
        if not slots and direction and (number := re.match(r"\W{0,6}([0-9]{1,2})\s?[.):]", line)):
            yield direction + number[1], line[number.end() :]
