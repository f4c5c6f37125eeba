"""Proposals out of whatever shape a reply gives them.

Values first (JSON, Python), then an agent's actions, then marked lists (labels, numbers, letters, bullets), then
plain lines. What is around an item goes (marker, label, emphasis, quotes); what is in it stays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .reading_items import LABEL, Marker, empty, is_step, marker, ordinal, polish, refusal
from .reading_objects import proposals
from .reading_text import body, unbold

_OBSERVATION = re.compile(r"\W{0,3}(?:observation|obs)\s?[0-9]{0,3}\s?:", re.IGNORECASE)
_ACTION = re.compile(r"\W{0,3}action\s?[0-9]{0,3}\s?[*_]{0,2}:[*_]{0,2}(.*)", re.IGNORECASE)
_REASON = re.compile(r"\W{0,3}(?:thought|reasoning|reason)\s?[0-9]{0,3}\s?[*_]{0,2}:", re.IGNORECASE)


def items(text: str | None, n: int | None = None) -> list[str]:
    """The proposals in a reply, in order: no blank one, none twice, at most `n`. Unreadable: []."""
    said = body(text)
    found = proposals(said, _listed)
    if found is None:
        found = _listed(said, n)
    distinct: dict[str, str] = {}
    for item in found:
        if not empty(item):
            distinct.setdefault(" ".join(item.casefold().split()).rstrip(" .;,!"), item)
    return list(distinct.values())[:n]


@dataclass(slots=True)
class _Line:
    text: str
    mark: Marker
    indent: int
    after_blank: bool
    heading: bool


def _listed(text: str, n: int | None = None) -> list[str]:
    if "\n" not in text and re.search(r"\\n\s?(?:[0-9]{1,2}[.)]|[-*•])\s", text):  # encoded twice
        text = text.replace("\\n", "\n")
    lines = _lines(text)
    acts = _acts(lines)
    if acts is not None:
        return [polish(act) for act in acts]
    kind = _list_kind(lines)
    if kind is None:
        return [polish(part) for part in _plain(lines, n)]
    found = _marked(lines, kind)
    if len(found) == 1:  # one item that runs 1, 2, 3 within its line
        first = next(line for line in lines if line.mark.kind == kind)
        found = _inline(first.text) or found
    return [polish(part) for part in found]


# -- lines

_RULE = re.compile(r"(?:[-*_=]\s?){3,}|(?:```|~~~)[^`]{0,40}|\|?[\s:|-]{3,}\|?")
_TAG = re.compile(r"<(/?)([A-Za-z_]\w{0,30})>")
_HEADING = re.compile(r"\A#{1,6}\s+")
_BOLD_LINE = re.compile(r"\*\*[^*=]{1,80}\*\*:?")
_QUOTE = re.compile(r"(?:>\s?){1,4}")


def _lines(text: str) -> list[_Line]:
    found: list[_Line] = []
    blank = False
    for raw in _untag(text).split("\n"):
        line = raw.strip()
        line = line[quote.end() :] if (quote := _QUOTE.match(line)) else line
        if line.startswith("|") and line.endswith("|") and line.count("|") > 2:
            line = _row(line)
        if not line or _RULE.fullmatch(line):
            blank = True
            continue
        heading = bool(_HEADING.match(line)) or bool(_BOLD_LINE.fullmatch(line))
        line = unbold(_HEADING.sub("", line, count=1)).strip()
        found.append(_Line(line, marker(line), len(raw) - len(raw.lstrip()), blank, heading))
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
    if len(cells) > 1 and re.fullmatch(r"#?[0-9]{1,3}\.?", cells[0]):
        return f"{cells[0].strip('#.')}. {' '.join(cells[1:])}"
    return "" if not cells or cells[0].strip("*").lower() in ("#", "no.", "no", "step", "option") else " ".join(cells)


def _unglue(lines: list[_Line]) -> None:
    """`１．８ ＋ ４` and `1.8 + 4` are numbered items where the lines run 1, 2, 3; else decimals."""
    glued = [(line, match) for line in lines if (match := re.match(r"([0-9０-９]{1,3})([.．])(?=[0-9０-９])", line.text))]
    runs = [int(match[1]) for _, match in glued] == list(range(1, len(glued) + 1))
    if not runs or any(match[2] == "." for _, match in glued) and len(glued) < 3:
        return
    for line, match in glued:
        line.mark = Marker("number", int(match[1]), line.text[match.end() :].strip())


def _acts(lines: list[_Line]) -> list[str] | None:
    """The actions of a Thought / Action transcript, up to the first observation, which the model made up."""
    end = next((k for k, line in enumerate(lines) if _OBSERVATION.match(line.text)), len(lines))
    acts = [act[1] for line in lines[:end] if (act := _ACTION.match(line.text))]
    reasons = any(_REASON.match(line.text) for line in lines[:end])
    return acts if acts and (reasons or end < len(lines)) else None


# -- marked lists

_CLOSER = re.compile(
    r"(?:let me know|i hope|hope (?:this|these|that)|feel free|would you like|please let|if you(?:'d| would)? (?:need|"
    r"want|have|like)|each of these|all (?:of )?these|these (?:are|steps|options|moves|thoughts|proposals|ideas)\b|"
    r"good luck)",
    re.IGNORECASE,
)


def _list_kind(lines: list[_Line]) -> str | None:
    """Which marker makes this reply's items; None if the reply is no list."""
    by_kind: dict[str, list[_Line]] = {}
    for line in lines:
        by_kind.setdefault(line.mark.kind, []).append(line)
    if len(lines) > 1 and "roman" in by_kind:  # `i.` and `v.` were taken for letters
        letters = by_kind.pop("letter", [])
        for line in letters:
            line.mark = Marker("roman", {"i": 1, "v": 5, "x": 10}.get(line.text.strip("([")[0].lower(), 0), line.mark.rest)
        by_kind["roman"] += letters
    bullets = by_kind.get("bullet", [])
    for kind in ("label", "number", "roman", "letter"):
        marked = by_kind.get(kind, [])
        if not marked or not _runs(kind, [line.mark.ordinal for line in marked], len(by_kind.get("text", []))):
            continue
        nested = len(bullets) > 1 and min(b.indent for b in bullets) < min(m.indent for m in marked)
        return "bullet" if nested else kind
    return "bullet" if bullets else None


def _runs(kind: str, ordinals: list[int], others: int) -> bool:
    """Whether these marks make a list: `A. Smith wrote it.` among plain lines does not."""
    if kind == "label":
        return True
    if kind == "number":
        return len(ordinals) > 1 or ordinals[0] == 1 or others == 0
    return 1 in ordinals and (2 in ordinals or others == 0)


def _marked(lines: list[_Line], kind: str) -> list[str]:
    """The items of one kind at its outermost indentation, each with the lines that belong to it."""
    base = min(line.indent for line in lines if line.mark.kind == kind)
    parts: list[list[str]] = []
    paragraphs: dict[int, str] = {}  # an unindented paragraph after an item: its body, or the end of the reply
    open_ = False
    for line in lines:
        if line.mark.kind == kind and line.indent <= base + 1:
            parts.append([line.mark.rest] if line.mark.rest else [])
            open_ = True
        elif not parts or not open_:
            continue
        elif line.heading or _CLOSER.match(line.text):
            open_ = False
        elif not parts[-1]:
            parts[-1].append(line.mark.rest)
        elif line.after_blank and line.indent <= base:
            open_ = False
            if not line.text.endswith(":"):
                paragraphs[len(parts) - 1] = line.mark.rest
        elif line.text.endswith(":") and line.indent <= base:
            open_ = False
        else:
            parts[-1].append(line.mark.rest)
    if any(k < len(parts) - 1 for k in paragraphs):
        for k, paragraph in paragraphs.items():
            parts[k].append(paragraph)
    return [" ".join(part) for part in parts]


# -- plain lines, and lists within one line

_OPENER = re.compile(
    r"(?:(?:sure|certainly|of course|absolutely|great|okay|ok|alright|got it|understood)(?:[!.]?$|[!,.:]? (?:here|i|i'll|"
    r"i'd|let|below|these|the following)\b.*)|(?:here|below)(?:['’]s| are| is)\b.*[:.]$|.{0,200}:$)",
    re.IGNORECASE,
)
_ANSWER = re.compile(r"(?:final )?answer\s?:$", re.IGNORECASE)


def _plain(lines: list[_Line], n: int | None) -> list[str]:
    texts = [line.text for line in lines if not line.heading] or [line.text for line in lines]
    kept: list[str] = []
    for k, text in enumerate(texts):
        if kept and _ANSWER.match(unbold(kept[-1])):
            kept[-1] += " " + text
        elif k + 1 == len(texts) or _ANSWER.match(text) or not (_OPENER.fullmatch(text) if not kept else text.endswith(":")):
            kept.append(text)
    while len(kept) > 1 and _CLOSER.match(kept[-1]):
        kept.pop()
    kept = [text for text in kept if is_step(text)] or kept  # what is not a step among steps is talk about them
    if not kept or refusal(kept[0]) and (len(kept) == 1 or len(lines) < 3):
        return []
    if len(kept) == 1:
        return _inline(kept[0]) or _separated(kept[0], n) or kept
    return kept


_INLINE = (
    re.compile(rf"(?<!\w){LABEL.pattern}", re.IGNORECASE),
    re.compile(r"(?<![\w.])\(?([0-9]{1,2})[.)]\s+(?=\S)"),
    re.compile(r"(?<!\w)\(?([A-Z])[.):]\s+(?=\S)|(?<!\w)\(([a-z])\)\s+(?=\S)"),
)
_BEFORE_ITEM = re.compile(r"(?:[;,.)!?:|\]}*]|\b(?:and|or))\s*\Z", re.IGNORECASE)


def _inline(line: str) -> list[str] | None:
    """`1. a; 2. b; 3. c`: numbers that run from 1, each after a stop, or at least three without."""
    for pattern in _INLINE:
        marks = [(m, ordinal(next(group for group in m.groups() if group))) for m in pattern.finditer(line)]
        for strict in (True, False):
            run: list[re.Match[str]] = []
            for mark, place in marks:
                stopped = not run or bool(_BEFORE_ITEM.search(line[max(0, mark.start() - 8) : mark.start()]))
                if place == len(run) + 1 and (stopped or not strict):
                    run.append(mark)
            if len(run) >= (2 if strict else 3):
                ends = [mark.start() for mark in run[1:]] + [len(line)]
                parts = [line[mark.end() : end] for mark, end in zip(run, ends, strict=True)]
                return [_trim(part) for part in parts]
    return None


def _trim(part: str) -> str:
    """The part without the separator before the next one: `a; and`."""
    part = part.rstrip(" ;,|")
    return re.sub(r"\s(?:and|or)\Z", "", part).rstrip(" ;,|")


_CLAUSE = re.compile(
    r"(?:and|or|then|so|but|which|that|because|since|where|while|when|if|as|not|the|an?|its?|their|his|her|to|with)\b",
    re.IGNORECASE,
)
_CALL = re.compile(r"[A-Za-z]\w{0,40}\[[^\[\]]*\]")
_SUM = re.compile(r"[0-9)]\s?=\s?[-(]?[0-9]")


def _separated(line: str, n: int | None) -> list[str] | None:
    """A list on one line by semicolons, bars or commas; a sentence is not one."""
    for mark in (";", " | ", ","):
        parts = [part.strip() for part in _split(line, mark) if part.strip()]
        if len(parts) < 2:
            continue
        if all(_SUM.search(part) for part in parts) and not any("left" in part[:12].lower() for part in parts):
            return parts
        if mark != ",":
            return parts if len(parts) > 2 or len(parts) == n else None
        if all(_CALL.fullmatch(part.rstrip(".")) for part in parts):
            return parts
        words = [len(part.split()) for part in parts]
        even = max(words) == 1 or min(words) > 1 and max(words) < 9
        sentence = re.search(r"[.!?:]\s|[.!?:]$", line) or any(_CLAUSE.match(part) for part in parts)
        return parts if even and not sentence and (len(parts) > 2 or len(parts) == n) else None
    return None


def _split(line: str, mark: str) -> list[str]:
    """Split at `mark` outside of brackets."""
    parts, start, depth = [], 0, 0
    for found in re.finditer(rf"[(\[{{]|[)\]}}]|{re.escape(mark)}", line):
        if found[0] == mark:
            if depth == 0:
                parts.append(line[start : found.start()])
                start = found.end()
        else:
            depth = max(0, depth + (1 if found[0] in "([{" else -1))
    return [*parts, line[start:]]
