"""What of a reply was said: reasoning, field markers and odd characters taken off, words left alone.

Every reader starts here. `clean` serves readers of free text and changes as little as it can; `plain` serves
readers of a verdict or a number, who want one spelling of everything and lose nothing by it.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_THINK = re.compile(r"[<\[◁](/?)(?:think|thinking|reasoning|scratchpad)[>\]▷]", re.IGNORECASE)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_INVISIBLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\u200b\u200e\u200f\u2060\ufeff]")
_NEWLINE = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_SPACE = re.compile(r"[\u00a0\u2007\u202f\u3000]")
_MARKER = re.compile(r"\[\[\s{0,3}##\s{0,3}(\w{1,64})\s{0,3}##\s{0,3}\]\]")
_MANGLED = re.compile(r"^[ \t]*\[{1,2} ?## ?(\w{1,64}) ?#{0,3} ?\]{0,2}[ \t]*$", re.MULTILINE)  # by a weak model
_CUT_MARKER = re.compile(r"\[\[\s{0,3}(?:##?\s{0,3}(?:\w{1,64}\s{0,3}(?:##?\s{0,3}\]?)?)?)?\Z")  # by the token limit
_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_FENCE_LINE = re.compile(r"^[ \t]*(?:```|~~~)[^`\n]{0,40}$\n?", re.MULTILINE)
_REASONING = frozenset(
    {"reasoning", "rationale", "thinking", "analysis", "evidence", "explanation", "critique", "scratchpad"}
)


def visible(text: str | None) -> str:
    """The reply without its reasoning block, control characters and lone surrogates.

    A closed `<think>` block goes; after an unclosed one all is reasoning; before a lone closing tag all was.
    The first closing tag ends a block: models mention the opening tag inside it.
    """
    text = text or ""
    if _SURROGATE.search(text):  # pairs are joined, lone halves dropped
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
    text = _SPACE.sub(" ", _NEWLINE.sub("\n", _INVISIBLE.sub("", text)))
    said: list[str] = []
    start, thinking = 0, False
    for tag in _THINK.finditer(text):
        if tag[1]:
            if not thinking:
                said.clear()
            start, thinking = tag.end(), False
        elif not thinking:
            said.append(text[start : tag.start()])
            thinking = True
    if not thinking:
        said.append(text[start:])
    return "".join(said)


def sections(text: str) -> list[tuple[str, str]]:
    """(field, body) pairs of visible text, split at `[[ ## field ## ]]` wherever it stands in a line.

    Text before the first marker has the field "". What follows `completed` is a turn that the model made up.
    """
    if "[" in text:
        text = _CUT_MARKER.sub("", _MANGLED.sub(r"[[ ## \1 ## ]]", text))
    pieces = _MARKER.split(text)
    found = [("", pieces[0])]
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        if name.lower() == "completed":
            if any(body.strip() for _, body in found):
                break
            name = ""
        found.append((name, body))
    return [(name, body.rstrip()) for name, body in found if body.strip()]


def _answers(text: str) -> list[tuple[str, str]]:
    """The sections that answer: named before unnamed, reasoning only where there is nothing else."""
    found = sections(text)
    named = [part for part in found if part[0]] or found
    return [part for part in named if part[0].lower().rsplit("_", 1)[-1] not in _REASONING] or named


def block(text: str | None) -> str:
    """The visible text of the last answering field, its characters and its indentation untouched."""
    found = _answers(visible(text))
    return _BLANK_LINES.sub("", found[-1][1], count=1) if found else ""


def bodies(text: str | None) -> list[str]:
    """The answering fields that make one list: all of `step_1`, `step_2`, ..; else the last."""
    found = _answers(visible(text))
    numbered = len(found) > 1 and all(name[-1:].isdecimal() for name, _ in found)
    return [body.strip() for _, body in (found if numbered else found[-1:])]


def body(text: str | None) -> str:
    """The same without the white space around it: what lists are read from."""
    return block(text).strip()


def clean(text: str | None) -> str:
    """The answering text in plain digits and operators. Free text keeps its words, quotes and accents.

    Full-width forms become ASCII (beside CJK letters only digits and operators do), `×` and LaTeX become
    `*` where they stand in arithmetic.
    """
    return "\n".join(map(arithmetic, body(text).split("\n")))


def plain(text: str | None) -> str:
    """One spelling for readers of ratings: fields as `name: body`, no emphasis, no fences, ASCII forms."""
    found = _answers(visible(text))
    if len(found) == 1:
        joined = found[0][1]
    else:
        joined = "\n".join(f"{name.replace('_', ' ')}: {body.strip()}" if name else body for name, body in found)
    joined = _NON_ASCII.sub(lambda char: _compatible(char[0]), joined).replace("−", "-")
    joined = _BOXED.sub(r"\1", _FENCE_LINE.sub("", joined))
    return _EMPHASIS.sub("", joined).strip()


_EMPHASIS = re.compile(r"(?<![\w)])[*_`~]+|[*_`~]+(?![\w(])")  # never between two digits: `4*6` must not become 46
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_BOXED = re.compile(r"\\boxed\{([^{}\n]{0,80})\}")


@lru_cache(maxsize=4096)
def _compatible(char: str) -> str:
    """NFKC, but only where it changes the width or the font: `8²` must not become 82."""
    wide = unicodedata.decomposition(char).startswith(("<wide>", "<narrow>", "<font>"))
    return unicodedata.normalize("NFKC", char) if wide else char


_DIGITS = {0xFF10 + d: str(d) for d in range(10)} | {0x1D7CE + d: str(d % 10) for d in range(50)}
_OPERATORS = {0xFF00 + ord(c) - 0x20: c for c in "+-*/=%"}
_WIDE = {0xFF00 + code - 0x20: chr(code) for code in range(0x21, 0x7F)} | _DIGITS
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SIGNS = str.maketrans("×✕✖⨯∗⋅·∙÷∕⁄−–—", "******" + "**" + "///" + "---")
_SIGN = re.compile(r"(?<=[0-9)])(\s{0,3})([×✕✖⨯∗⋅÷∕⁄−]|\\times|\\cdot|\\div)(\s{0,3})(?=[-−(]?\(?[0-9])")
_LOOSE_SIGN = re.compile(r"(?<=[0-9)])(\s{0,3})([·∙–—])(\s{0,3})(?=[-−(]?\(?[0-9])")  # only beside an equals sign
_TIMES = re.compile(r"(?<=[0-9)])(\s{1,3})[xX](\s{1,3})(?=[-−(]?\(?[0-9])")
_MINUS = re.compile(r"−(?=\s?[0-9])")
_EQUATION = re.compile(r"[0-9)]\s{0,3}=\s{0,3}[-−(]?[0-9]")
_MATH = re.compile(
    r"\$(?=\S)([^$\n]{1,200})(?<=\S)\$(?![0-9])|"
    r"\\[(\[]([^\n\\]{0,200}(?:\\[a-z,;! ][^\n\\]{0,200}){0,20})\\[)\]]"
)
_COMMANDS = {"times": "*", "cdot": "*", "div": "/", "left": "", "right": "", "quad": " "}
_COMMAND = re.compile(r"\\(?:([a-z]{1,8})|[,;!: ])")
_FRACTION = re.compile(r"\\[dt]?frac\{\s{0,3}(-?[0-9.]{1,20})\s{0,3}\}\{\s{0,3}(-?[0-9.]{1,20})\s{0,3}\}")
_ARITHMETIC = re.compile(r"(?=[^0-9]{0,200}[0-9])[0-9\s.,;+\-*/=()]{1,400}")


def arithmetic(line: str) -> str:
    """One line with full-width forms, unicode operators and LaTeX arithmetic in ASCII; the rest as it was."""
    if not line.isascii():
        line = line.translate(_DIGITS | _OPERATORS if _CJK.search(line) else _WIDE)
    if not line.isascii() or "$" in line or "\\" in line:
        line = _MATH.sub(_unmath, _FRACTION.sub(r"\1/\2", line) if "\\" in line else line)
        line = _MINUS.sub("-", _SIGN.sub(_sign, line))
    if _EQUATION.search(line):
        line = _TIMES.sub(r"\1*\2", _LOOSE_SIGN.sub(_sign, line))
    return line


def _sign(match: re.Match[str]) -> str:
    sign = _COMMANDS[match[2][1:]] if match[2].startswith("\\") else match[2].translate(_SIGNS)
    return match[1] + sign + match[3]


def _unmath(match: re.Match[str]) -> str:
    """The inside of `$...$` if it is arithmetic; a formula with letters keeps its dollars."""

    def spell(command: re.Match[str]) -> str:
        return " " if command[1] is None else _COMMANDS.get(command[1], command[0])

    inside = _COMMAND.sub(spell, match[1] or match[2] or "").translate(_SIGNS)
    return inside.strip() if _ARITHMETIC.fullmatch(inside) else match[0]


_PAIRS = (
    ("**", "**"), ("__", "__"), ("~~", "~~"), ("*", "*"), ("_", "_"), ("``", "``"), ("`", "`"),
    ('"', '"'), ("“", "”"), ("„", "“"), ("'", "'"), ("‘", "’"), ("«", "»"), ("「", "」"),
)  # fmt: skip
_OPENING = frozenset(left[0] for left, _ in _PAIRS)


def unwrap(text: str) -> str:
    """The text without emphasis and quotes that enclose all of it."""
    text = text.strip()
    for _ in range(6):  # a limit, so that a wall of quotes costs no more than its length
        if text[:1] not in _OPENING:
            break
        for left, right in _PAIRS:
            inside = text[len(left) : -len(right)]
            if text.startswith(left) and text.endswith(right) and inside.strip() and _encloses(inside, left, right):
                text = inside.strip()
                break
        else:
            break
    return text


def _encloses(inside: str, left: str, right: str) -> bool:
    if left == "'":  # an apostrophe inside a word is not a quote
        return not re.search(r"(?<!\w)'|'(?!\w)", inside)
    return left not in inside and right not in inside and inside == inside.strip()


_BOLD = re.compile(r"\*\*|\n")


def unbold(text: str) -> str:
    """The text without `**bold**` marks; a power (`x**2`, `2 ** 3`) stays."""
    if "**" not in text:
        return text
    dropped: list[tuple[int, int]] = []
    opened: tuple[int, int] | None = None
    for mark in _BOLD.finditer(text):
        before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
        if mark[0] == "\n":
            opened = None
        elif opened and not before.isspace() and not after.isalnum():
            dropped += [opened, mark.span()]
            opened = None
        elif not opened and not before.isalnum() and after and not after.isspace():
            opened = mark.span()
    kept, start = [], 0
    for left, right in dropped:
        kept.append(text[start:left])
        start = right
    return "".join(kept) + text[start:]
