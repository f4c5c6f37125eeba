"""A program in what a model wrote, and its form without what makes no other program of it."""

from __future__ import annotations

import io
import re
import textwrap
import tokenize

FENCE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<language>[\w+#.-]*)[^\n`]*$", re.MULTILINE)
PYTHON = frozenset({"", "python", "py", "python3", "py3"})
THOUGHT_END = "</think>"


def program_text(text: str) -> str:
    """The program in `text`: the longest Python block in code fences, of equals the last; without fences, all of it."""
    text = text.rpartition(THOUGHT_END)[2]
    found = blocks(text)
    fitting = [code for language, code in found if language in PYTHON] or [code for _, code in found]
    return max(reversed(fitting), key=len) if fitting else textwrap.dedent(text).strip()


def blocks(text: str) -> list[tuple[str, str]]:
    """The language, in lower case, and the code of each fenced block. One that is never closed goes to the end."""
    found: list[tuple[str, str]] = []
    place = 0
    while opening := FENCE.search(text, place):
        mark = opening["mark"]
        close = re.compile(rf"^[ \t]*{mark[0]}{{{len(mark)},}}[ \t]*$", re.MULTILINE).search(text, opening.end())
        inside = text[opening.end() : close.start() if close else len(text)]
        found.append((opening["language"].lower(), textwrap.dedent(inside.strip("\n")).strip()))
        place = close.end() if close else len(text)
    return found


def normal_form(program: str) -> str:
    """`program` without comments, blank lines and the spacing that means nothing. As it is, if it is no Python."""
    parts: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(program).readline):
            if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER):
                continue
            if token.type in (tokenize.INDENT, tokenize.DEDENT):
                parts.append(tokenize.tok_name[token.type])
            else:
                parts.append(token.string.strip("\n") if token.type != tokenize.NEWLINE else "\n")
    except (tokenize.TokenError, SyntaxError):
        return program.strip()
    return " ".join(parts).strip()
