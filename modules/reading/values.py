"""One forgiving parser for the JSON and Python literals that models write.

Accepts single quotes, typographic quotes, trailing and missing commas, raw newlines and unescaped quotes in
strings, apostrophes in single quotes, LaTeX in place of escapes, and values cut off by the token limit. It
never evaluates, nests at most `_DEPTH` deep and looks at each character a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

Value: TypeAlias = "str | float | bool | list[Value] | dict[str, Value] | None"

_DEPTH = 32
_STARTS = 16  # places tried in one text
_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,15}(?:\.[0-9]{0,15})?|\.[0-9]{1,15})(?:[eE][-+]?[0-9]{1,3})?(?![\w.])")
_WORD = re.compile(r"(?:true|false|null|none|nan|-?infinity)\b", re.IGNORECASE)
_CLOSING_QUOTE = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`"}
_STOP = {quote: re.compile(rf"[{close}\\]") for quote, close in _CLOSING_QUOTE.items()}
_AFTER_STRING = re.compile(r"\s*(?:[,\]}:)]|\Z)|[ \t]*\n\s*[\"“']")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "", "f": "", "/": "/", "\\": "\\", "\n": ""}
_LATEX = re.compile(r"times|text|theta|frac|boxed|begin|neq|nu|right|rho|beta|forall")
_START = re.compile(r"[\[{]")


class _NotAValue(Exception):
    pass


class _Cut(_NotAValue):
    """The text ended inside a value."""


class _Scanner:
    def __init__(self, text: str, position: int) -> None:
        self.text, self.position = text, position
        self.complete = True

    def peek(self) -> str:
        space = _SPACE.match(self.text, self.position)
        self.position = space.end() if space else self.position
        return self.text[self.position : self.position + 1]

    def value(self, depth: int = 0) -> Value:
        char = self.peek()
        if depth > _DEPTH:
            raise _NotAValue
        if char == "{":
            return self.object(depth)
        if char in ("[", "("):
            return self.array(depth, "]" if char == "[" else ")")
        if char in _CLOSING_QUOTE:
            return self.string(char)
        if not char:
            raise _Cut
        if number := _NUMBER.match(self.text, self.position):
            self.position = number.end()
            read = float(number[0])
            return read if abs(read) < float("inf") else None
        if word := _WORD.match(self.text, self.position):
            self.position = word.end()
            return {"true": True, "false": False}.get(word[0].lower())  # NaN and infinity are no value: None
        raise _NotAValue

    def array(self, depth: int, close: str) -> list[Value]:
        self.position += 1
        found: list[Value] = []
        while (char := self.peek()) != close:
            if not char:
                self.complete = False
                break
            if char == ",":
                self.position += 1
                continue
            try:
                found.append(self.value(depth + 1))
            except _Cut:
                self.complete = False
                break
        self.position += 1
        return found

    def object(self, depth: int) -> dict[str, Value]:
        self.position += 1
        found: dict[str, Value] = {}
        while (char := self.peek()) != "}":
            if not char:
                self.complete = False
                break
            if char == ",":
                self.position += 1
                continue
            try:
                key = self.key(char)
                if self.peek() != ":":
                    raise _NotAValue if self.peek() else _Cut
                self.position += 1
                found[key] = self.value(depth + 1)
            except _Cut:
                self.complete = False
                break
        self.position += 1
        return found

    def key(self, char: str) -> str:
        if char in _CLOSING_QUOTE:
            return self.string(char)
        bare = re.compile(r"\w{1,64}").match(self.text, self.position)
        if not bare:
            raise _NotAValue
        self.position = bare.end()
        return bare[0]

    def string(self, quote: str) -> str:
        """A quote ends the string only where a value could end: `"say "hi" now"` is one string."""
        self.position += 1
        pieces: list[str] = []
        while stop := _STOP[quote].search(self.text, self.position):
            pieces.append(self.text[self.position : stop.start()])
            self.position = stop.end()
            if stop[0] == "\\":
                pieces.append(self.escape())
            elif _AFTER_STRING.match(self.text, self.position):
                return "".join(pieces)
            else:
                pieces.append(stop[0])
        self.position = len(self.text)
        raise _Cut

    def escape(self) -> str:
        char = self.text[self.position : self.position + 1]
        if _LATEX.match(self.text, self.position):
            return "\\"
        self.position += 1
        if char == "u" and (code := re.compile(r"[0-9a-fA-F]{4}").match(self.text, self.position)):
            self.position = code.end()
            return chr(int(code[0], 16))
        return _ESCAPES.get(char, char if char in "\"'`" else "\\" + char)


def parse(text: str, start: int = 0, *, whole: bool = True) -> tuple[Value, int] | None:
    """The list or object that begins at `start`, and where it ends; None if there is none.

    whole: a value that the text breaks off inside of is none. Otherwise what was finished of it is returned.
    """
    scanner = _Scanner(text, start)
    try:
        value = scanner.value()
    except _NotAValue:
        return None
    if whole and not scanner.complete:
        return None
    return value, min(scanner.position, len(text))


def values(text: str, *, whole: bool = True) -> Iterator[tuple[Value, int, int]]:
    """(value, start, end) of the lists and objects in the text, outermost only, from left to right."""
    position = 0
    for _ in range(_STARTS):
        start = _START.search(text, position)
        if not start:
            return
        if found := parse(text, start.start(), whole=whole):
            yield found[0], start.start(), found[1]
            position = found[1]
        else:
            position = start.end()
