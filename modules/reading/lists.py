"""Proposals out of whatever shape a reply gives them.

Values first (JSON, Python), then an agent's actions, then marked lists (labels, numbers, letters, bullets,
headings), then plain lines. What is around an item goes (marker, label, emphasis, quotes); its words stay.
"""

from __future__ import annotations

import re

from .items import empty, polish
from .lines import Line, lines
from .objects import decoded, proposals
from .plain import CLOSER, inline, plain_items
from .text import bodies


def items(text: str | None, n: int | None = None) -> list[str]:
    """The proposals in a reply, in order: no blank one, none twice, at most `n`. Unreadable: []."""
    distinct: dict[str, str] = {}
    for said in map(decoded, bodies(text)):
        found = proposals(said, _listed)
        for item in _listed(said, n) if found is None else found:
            if empty(item):
                continue
            distinct.setdefault(" ".join(item.casefold().split()).rstrip(" .;,!"), item)
    return list(distinct.values())[:n]


_ESCAPED = re.compile(r"\\n\s?(?:[0-9]{1,2}[.)]|[-*•])\s")


def _listed(text: str, n: int | None = None) -> list[str]:
    if "\n" not in text and _ESCAPED.search(text):  # encoded twice
        text = text.replace("\\n", "\n")
    said = lines(_TURN.sub("\n", text) if _REASONED.search(text) else text)
    found = _acts(said)
    if found is None:
        kinds = _kinds(said)
        found = _marked(said, kinds) if kinds else plain_items(said, n)
        if kinds and len(found) == 1:  # one item that runs 1, 2, 3 within its line
            found = inline(next(line.text for line in said if line.mark.kind in kinds)) or found
    return [polish(part) for part in found]


# -- an agent's transcript

_OBSERVATION = re.compile(r"\W{0,3}(?:observation|obs)\s?[0-9]{0,3}\s?:", re.IGNORECASE)
_ACTION = re.compile(r"\W{0,3}action\s?[0-9]{0,3}\s?[*_]{0,2}:[*_]{0,2}(.*)", re.IGNORECASE)
_REASONED = re.compile(r"^\W{0,3}(?:Thought|Reasoning|Reason)\s?[0-9]{0,3}\W{0,3}:", re.MULTILINE)
_TURN = re.compile(r"(?<=\S)[ \t](?=[*_]{0,2}(?:Action|Observation)\s?[0-9]{0,3}[*_]{0,2}:)")
_REASON = re.compile(r"\W{0,3}(?:thought|reasoning|reason)\s?[0-9]{0,3}\s?[*_]{0,2}:", re.IGNORECASE)


def _acts(said: list[Line]) -> list[str] | None:
    """The actions of a Thought / Action transcript, up to the first observation, which the model made up."""
    end = next((k for k, line in enumerate(said) if _OBSERVATION.match(line.text)), len(said))
    acts = [act[1] for line in said[:end] if (act := _ACTION.match(line.text))]
    reasons = any(_REASON.match(line.text) for line in said[:end])
    return acts if acts and (reasons or end < len(said)) else None


# -- marked lists

_NO_KIND: frozenset[str] = frozenset()


def _kinds(said: list[Line]) -> frozenset[str]:
    """Which markers make this reply's items; none if it is no list."""
    marked: dict[str, list[Line]] = {}
    for line in said:
        marked.setdefault(line.mark.kind, []).append(line)
    bullets = marked.get("bullet", [])
    for kind in ("label", "number", "roman", "letter"):
        found = marked.get(kind, [])
        if found and _runs(kind, [line.mark.ordinal for line in found], len(marked.get("text", []))):
            nested = len(bullets) > 1 and min(b.indent for b in bullets) < min(line.indent for line in found)
            if nested:
                break
            return frozenset({kind, "letter"}) if kind == "roman" else frozenset({kind})  # `i.` looks a letter
    if bullets:
        return frozenset({"bullet"})
    return frozenset({"heading"}) if len(marked.get("heading", [])) > 1 and "text" in marked else _NO_KIND


def _runs(kind: str, ordinals: list[int], others: int) -> bool:
    """Whether these marks make a list: `A. Smith wrote it.` among plain lines does not."""
    if kind == "label":
        return True
    if kind == "number":
        return len(ordinals) > 1 or ordinals[0] == 1 or others == 0
    if kind == "roman":
        return 2 in ordinals
    return 1 in ordinals and (2 in ordinals or others == 0)


def _marked(said: list[Line], kinds: frozenset[str]) -> list[str]:
    """The items of these kinds at their outermost indentation, each with the lines that belong to it.

    An unindented paragraph after an item is its body if other items have one too; else it ends the reply.
    """
    base = min(line.indent for line in said if line.mark.kind in kinds)
    parts: list[list[str]] = []
    paragraphs: dict[int, str] = {}
    is_open = False
    for line in said:
        outside = line.indent <= base
        if line.mark.kind in kinds and line.indent <= base + 1:
            parts.append([line.mark.rest] if line.mark.rest else [])
            is_open = True
        elif not is_open:
            continue
        elif line.mark.kind == "heading" or CLOSER.match(line.text):
            is_open = False
        elif not parts[-1]:
            parts[-1].append(line.mark.rest)
        elif outside and line.text.endswith(":"):  # the name of the next group
            is_open = False
        elif outside and line.after_blank:
            paragraphs[len(parts) - 1] = line.mark.rest
            is_open = False
        else:
            parts[-1].append(line.mark.rest)
    if any(place < len(parts) - 1 for place in paragraphs):
        for place, paragraph in paragraphs.items():
            parts[place].append(paragraph)
    return [" ".join(part) for part in parts]
