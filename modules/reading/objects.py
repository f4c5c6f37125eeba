"""Proposals out of JSON and Python values: lists, outer keys, one object a proposal, strings in a row."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from .items import polish
from .text import visible
from .values import Value, parse, values

_WRAPPERS = (
    "thoughts", "steps", "next_steps", "proposals", "actions", "moves", "candidates", "options", "ideas",
    "items", "choices", "suggestions", "plans", "answers", "results", "output", "data", "list", "response",
)  # fmt: skip
_ITEM_KEYS = (
    "action", "thought", "step", "next_step", "move", "proposal", "operation", "expression", "equation",
    "idea", "text", "content", "description", "option", "candidate", "title", "name",
)  # fmt: skip
_LEFT_KEYS = ("left", "remaining", "numbers_left", "remaining_numbers")
_ARGUMENT_KEYS = ("action_input", "input", "argument")
_LABEL_KEY = re.compile(r"(?:[a-z]{1,12}[ _-])?[a-z]|(?:[a-z]{1,12}[ _-]?)?[0-9]{1,3}", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“'][^\n]{1,4000}[\"”']")


def decoded(text: str) -> str:
    """What a reply says that is one JSON string as a whole (a list, encoded twice); any other text as it is."""
    if text.startswith('"') and text.endswith('"') and "\\" in text:
        try:
            inside = json.loads(text)
        except ValueError:
            return text
        return visible(inside).strip() if isinstance(inside, str) else text
    return text


def proposals(text: str, listed: Callable[[str], list[str]]) -> list[str] | None:
    """The proposals of the first value that fills whole lines; None if the text holds none.

    Several objects of one proposal each are as many proposals.
    listed: reads a string that holds a list itself.
    """
    found: list[str] = []
    for value, start, end in values(text, whole=False):
        if not _stands_alone(text, value, start, end):
            continue
        parts = [polish(part) for part in _flatten(value, listed)]
        found += parts
        if not isinstance(value, dict) or len(parts) != 1:
            return found
    if found:
        return found
    return _quoted(text)


def _stands_alone(text: str, value: Value, start: int, end: int) -> bool:
    """Whether a value is what the reply says, not a bracket in a sentence: `[1]`, `Search[x]`, `{x}`."""
    before = text[text.rfind("\n", 0, start) + 1 : start].strip()
    after = text[end : end + 80].split("\n", 1)[0].strip(" \t,.;`")
    if after or (before and before[-1] not in ":=,`"):
        return False
    if isinstance(value, dict):
        return bool(value)
    whole = not text[:start].strip("`\n ") and not text[end:].strip("`\n ")
    return isinstance(value, list) and (whole or any(isinstance(part, str | dict | list) for part in value))


def _quoted(text: str) -> list[str] | None:
    """`"a", "b", "c"`: a list without its brackets."""
    inside = text.strip().rstrip(".")
    if not _QUOTED.fullmatch(inside):
        return None
    read = parse(f"[{inside}]")
    if read is None or not isinstance(read[0], list) or len(read[0]) < 2 or read[1] < len(inside) + 2:
        return None
    return [polish(part) for part in read[0] if isinstance(part, str)]


def _flatten(value: Value, listed: Callable[[str], list[str]]) -> Iterator[str]:
    if isinstance(value, list):
        for part in value:
            yield from _flatten(part, listed)
    elif isinstance(value, dict):
        yield from _of_object({key.lower(): part for key, part in value.items()}, listed)
    elif isinstance(value, str):
        yield value
    elif value is not None:
        yield f"{value:g}"


def _of_object(fields: dict[str, Value], listed: Callable[[str], list[str]]) -> Iterator[str]:
    for key in _WRAPPERS:
        inner = fields.get(key)
        if isinstance(inner, str):
            yield from listed(inner)
            return
        if isinstance(inner, list | dict):
            yield from _flatten(inner, listed)
            return
    if equation := _equation(fields):
        yield equation
        return
    item = next((value for key in _ITEM_KEYS if isinstance(value := fields.get(key), str)), None)
    nested: list[Value] = [value for value in fields.values() if isinstance(value, list | dict) and value]
    if item is not None:
        argument = next((value for key in _ARGUMENT_KEYS if isinstance(value := fields.get(key), str)), None)
        yield f"{item}[{argument}]" if argument is not None else item
    elif all(_LABEL_KEY.fullmatch(key) for key in fields):
        yield from _flatten(list(fields.values()), listed)
    elif nested:
        yield from _flatten(nested, listed)
    else:
        yield from [value for value in fields.values() if isinstance(value, str)][:1]


def _equation(fields: dict[str, Value]) -> str | None:
    """`{"step": "9 - 3", "result": 6, "left": [2, 6, 6]}` as one line."""
    left = next((fields[key] for key in _LEFT_KEYS if key in fields), None)
    step = next((value for key in _ITEM_KEYS if isinstance(value := fields.get(key), str)), None)
    if step is None or not isinstance(left, list | str):
        return None
    numbers = left.strip("[]()") if isinstance(left, str) else " ".join(map(_spell, left))
    result = fields.get("result")
    return f"{step}{'' if '=' in step or result is None else f' = {_spell(result)}'} (left: {numbers})"


def _spell(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
