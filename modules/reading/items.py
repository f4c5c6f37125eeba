"""One proposal: the marker before it, the marks around it, and whether it says anything."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .text import arithmetic, unbold, unwrap

KEYWORD = (
    r"(?:(?:next|possible|proposed|candidate|alternative)\s)?(?:step|option|thought|candidate|idea|proposal|choice|"
    r"action|move|alternative|approach|suggestion|plan|path|branch|operation|strategy)"
)
LABEL = re.compile(
    rf"[*_]{{0,2}}{KEYWORD}(?:\s?#?([0-9]{{1,3}})|\s#?([ivx]{{2,4}}|[A-Za-z]))\s?[*_]{{0,2}}(?:[.:)]|\s[-–—]+(?=\s)|$)[*_]{{0,2}}",
    re.IGNORECASE,
)
_BARE_LABEL = re.compile(rf"[*_]{{0,2}}{KEYWORD}\s?[*_]{{0,2}}:[*_]{{0,2}}\s*(?=\S)", re.IGNORECASE)
_NUMBER = re.compile(
    r"[(\[]?([0-9]{1,3})\s?(?:[)\]][.:]?(?!\s?[-+*/=]\s?[0-9])|\\?[.:](?![0-9=.])|[、．](?=\D))"
    r"|#([0-9]{1,3})\s?[.:)]?(?=\s)|([0-9])\ufe0f?\u20e3|[①-⑳]|([0-9]{1,3})\s?[-–—](?=\s[^\W\d]{2})"
)
_LETTER = re.compile(r"[(\[]?([A-Za-z])(?:[)\]][.:]?|[.:])(?=\s)")
_ROMAN = re.compile(r"[(\[]?([ivxIVX]{2,5})(?:[)\]]|[.:])(?=\s)")
_BULLET = re.compile(r"(?:[-*+–—](?=\s)|[•●○◦▪▫■□‣⁃∙·→➢➤►▶✓✔☐☑⇒])\s*(?:\[[ xX]?\]\s)?")
_INNER_NUMBER = re.compile(r"[0-9]{1,2}[.)]\s+(?=\S)")
_FULL_WIDTH = {0xFF00 + code - 0x20: chr(code) for code in range(0x21, 0x7F) if chr(code) != "."}
_ROMANS = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10}


@dataclass(frozen=True, slots=True)
class Marker:
    """What a line begins with: its kind (label, number, letter, roman, bullet; else text) and the rest."""

    kind: str
    ordinal: int
    rest: str


def marker(line: str) -> Marker:
    """The list marker of a stripped line. `8 - 5`, `1.5 * 2`, `x: 3` of an equation begin with none."""
    if mark := LABEL.match(line):
        return Marker("label", ordinal(mark[1] or mark[2]), line[mark.end() :].strip())
    if mark := _NUMBER.match(line if line.isascii() else line.translate(_FULL_WIDTH)):
        digits = next((group for group in mark.groups() if group), None)
        place = int(digits) if digits else ord(mark[0]) - ord("①") + 1
        return Marker("number", place, line[mark.end() :].strip())
    for kind, pattern in (("roman", _ROMAN), ("letter", _LETTER)):
        if mark := pattern.match(line):
            return Marker(kind, ordinal(mark[1]), line[mark.end() :].strip())
    if mark := _BULLET.match(line):
        return Marker("bullet", 0, line[mark.end() :].strip())
    return Marker("text", 0, line)


def ordinal(mark: str) -> int:
    """1 for `1`, `A`, `a`; `ii` is 2. A single letter counts by the alphabet."""
    if mark.isdecimal():
        return int(mark)
    return _ROMANS.get(mark.lower(), 0) if len(mark) > 1 else ord(mark.lower()) - ord("a") + 1


def polish(item: str) -> str:
    """The item without label, bullet, emphasis and quotes around it; its words as they were."""
    text = item.strip()
    for _ in range(4):
        before = text
        text = unwrap(unbold(text))
        for pattern in (_BULLET, LABEL, _BARE_LABEL, _INNER_NUMBER):
            if (mark := pattern.match(text)) and mark.end() < len(text):
                text = text[mark.end() :].strip()
        if text == before:
            break
    return equation(text.rstrip(";,").strip())


_OPERAND = r"\(?-?[0-9]{1,12}(?:\.[0-9]{1,12})?(?:/[0-9]{1,12})?\)?"
_SUM = rf"({_OPERAND})\s{{0,3}}([-+*/])\s{{0,3}}({_OPERAND})\s{{0,3}}=\s{{0,3}}({_OPERAND})"
_NUMBERS = rf"{_OPERAND}(?:[\s,;]{{1,3}}(?:and\s)?{_OPERAND}){{0,12}}"
_FILLER = r"(?:and|so|with|which|now|we|are|have|has|us|the|this|new|numbers?|remaining)"
_LINK = rf"[\s.,;:|→=>–—-]{{0,8}}(?:{_FILLER}\s){{0,6}}"
_LEFT = r"(?:left|remaining|remain|leaves|leaving|state)(?:\snumbers|\sover|\sus|\swith|\sare){0,3}"
# In brackets or after a colon it is a form, and the rest of the item is talk. Else it must be the whole item.
_FORM = re.compile(
    rf"{_SUM}{_LINK}"
    rf"(?:[\[({{]\s?{_LINK}{_LEFT}\s?[:=]?\s?[\[({{]?\s?({_NUMBERS})\s?[\])}}]{{1,2}}|"
    rf"{_LEFT}\s?[:=]\s?[\[({{]?\s?({_NUMBERS})[\])}}]?(?=\s*\Z|\s?[.;]))",
    re.IGNORECASE,
)
_PROSE = re.compile(
    rf"{_SUM}{_LINK}[\[({{]?"
    rf"(?:{_LEFT}\s({_NUMBERS})|({_NUMBERS})\s?(?:left|remain|remaining)(?:\sover)?)[\])}}]?\.?",
    re.IGNORECASE,
)


def equation(text: str) -> str:
    """Arithmetic in plain signs; a step that says what is left in one form: `9 - 3 = 6 (left: 2 6 6)`.

    Any other text is returned as it was.
    """
    text = arithmetic(text)
    if len(text) > 400 or "=" not in text:
        return text
    bare = re.sub(r"[`$]|\\[()]", "", unbold(text)).strip()
    found = _FORM.search(bare) or _PROSE.fullmatch(bare)
    if not found:
        return bare if re.fullmatch(r"[0-9\s.+\-*/()=]{1,200}", bare) else text
    if bare[: found.start()].rstrip()[-1:] in set("0123456789+-*/=)("):  # the tail of a longer formula
        return text
    a, sign, b, result = (part.strip("()") for part in found.group(1, 2, 3, 4))
    left = (number.rstrip(".") for number in re.findall(r"-?[0-9][0-9./]*", found[5] or found[6]))
    return f"{a} {sign} {b} = {result} (left: {' '.join(left)})"


def is_step(text: str) -> bool:
    """Whether a line holds an equation and what is left after it."""
    return " (left: " in (text if len(text) > 400 else equation(text)) and "=" in text


_NOTHING = re.compile(r"(?:none|n/?a|null|nil|nothing|empty|no more|end|done|etc)?\W*", re.IGNORECASE)
_REFUSAL = re.compile(
    r"(?:i(?:['’]m| am)? (?:sorry|unable|not able)|sorry\b|unfortunately,? i\b|as an ai\b|i apologi[sz]e\b|"
    r"i (?:can ?not|can['’]t|could not|couldn['’]t|won['’]t) (?:help|assist|provide|propose|suggest|evaluate|"
    r"answer|continue|determine|generate|comply|do (?:that|this)|see any|find any|think of)|"
    r"i (?:do not|don['’]t) know\b|"
    r"(?:there (?:are|is) )?no (?:(?:more|other|further|valid|possible|legal|next|new|useful) ){0,3}"
    r"(?:moves?|steps?|actions?|options?|thoughts?|ideas?|proposals?)\b)",
    re.IGNORECASE,
)


def empty(item: str) -> bool:
    """Whether an item says nothing: blanks, dots, `None`, `N/A`."""
    return bool(_NOTHING.fullmatch(item))


def refusal(text: str) -> bool:
    """Whether a whole reply only says that it proposes nothing."""
    return bool(_REFUSAL.match(text))
