"""A reply as lines, each with the list marker it begins with; rules, fences and table frames left out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .items import Marker, marker
from .text import unbold

_RULE = re.compile(r"(?:[-*_=]\s?){3,}|(?:```|~~~)[^`]{0,40}|\|?[\s:|-]{3,}\|?")
_TAG = re.compile(r"<(/?)([A-Za-z_]\w{0,30})>")
_HEADING = re.compile(r"\A#{1,6}\s+")
_BOLD_LINE = re.compile(r"\*\*[^*=]{1,80}\*\*:?")
_QUOTE = re.compile(r"\A(?:>\s?){1,4}")
_TITLES = ("#", "no.", "no", "step", "option")
_GLUED = re.compile(r"([0-9０-９]{1,3})([.．])(?=[0-9０-９])")


@dataclass(slots=True)
class Line:
    """text: without quote, heading and bold marks. mark: of the kind heading if it is a title and no more."""

    text: str
    mark: Marker
    indent: int
    after_blank: bool


def lines(text: str) -> list[Line]:
    """The lines of a reply that say something."""
    found: list[Line] = []
    blank = False
    for raw in _untag(text).split("\n"):
        line = raw.strip()
        if line.startswith(">"):
            line = _QUOTE.sub("", line, count=1)
        if line.startswith("|") and line.endswith("|") and line.count("|") > 2:
            line = _row(line)
        if not line or _RULE.fullmatch(line):
            blank = True
            continue
        heading = _HEADING.match(line) or _BOLD_LINE.fullmatch(line)
        if heading:
            line = _HEADING.sub("", line, count=1)
        line = unbold(line).strip()
        mark = marker(line)
        if heading and mark.kind == "text":
            mark = Marker("heading", 0, line)
        found.append(Line(line, mark, len(raw) - len(raw.lstrip()), blank))
        blank = False
    _unglue(found)
    return found


def _untag(text: str) -> str:
    """Tags that come in pairs (`<step>..</step>`) end a line."""
    tags = _TAG.findall(text)
    paired = {name for close, name in tags if close} & {name for close, name in tags if not close}
    return _TAG.sub(lambda tag: "\n" if tag[2] in paired else tag[0], text) if paired else text


def _row(line: str) -> str:
    """A table row as a list line; the row of titles as nothing."""
    cells = [cell.strip() for cell in line.strip("|").split("|") if cell.strip()]
    if not cells or cells[0].strip("*").lower() in _TITLES:
        return ""
    if len(cells) > 1 and re.fullmatch(r"#?[0-9]{1,3}\.?", cells[0]):
        return f"{cells[0].strip('#.')}. {' '.join(cells[1:])}"
    return " ".join(cells)


def _unglue(found: list[Line]) -> None:
    """`１．８ ＋ ４` and `1.8 + 4` are numbered items where the lines run 1, 2, 3; else they are decimals.

    In ASCII it takes three of them: `1.5 * 2 = 3` and `2.5 * 4 = 10` are a pair of plain lines.
    """
    glued = [(line, match) for line in found if (match := _GLUED.match(line.text))]
    ascii_only = all(match[2] == "." for _, match in glued)
    if [int(match[1]) for _, match in glued] == list(range(1, len(glued) + 1)) and (not ascii_only or len(glued) > 2):
        for line, match in glued:
            line.mark = Marker("number", int(match[1]), line.text[match.end() :].strip())
