"""Input fields from the command line: text as it is, other types from JSON or from their own text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dspy
from pydantic import TypeAdapter, ValidationError

from .mistake import Mistake

MOST = 10_000_000  # characters of a file
LONGEST = 60  # characters of a wrong value that are shown


def inputs_of(signature: type[dspy.Signature], words: Sequence[str], pairs: Sequence[str]) -> dict[str, Any]:
    """The inputs of one call. words: the first field's value. pairs: `name=value` or `name=@file`. Raises Mistake."""
    known = signature.input_fields
    first, given = next(iter(known)), dict[str, str]()
    if words:
        given[first] = " ".join(words)
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise Mistake(f"--input {pair!r}: write it as name=value; the names are {', '.join(known)}")
        if name not in known:
            raise Mistake(f"--input {name!r}: there is no such input; the names are {', '.join(known)}")
        if name in given:
            raise Mistake(f"--input {name!r} is given twice" + (", the first time as the problem" if words else ""))
        given[name] = _read(name, value[1:]) if value.startswith("@") else value
    for name, info in known.items():
        if name not in given and info.is_required():
            how = "the problem, in quotes" if name == first else f"--input {name}=..."
            raise Mistake(f"input {name!r} is missing: give {how}")
    return {name: typed(name, known[name].annotation, text) for name, text in given.items()}


def _read(name: str, path: str) -> str:
    """The text of a file. What begins with a second @ is text with one."""
    if path.startswith("@"):
        return path
    if not path:
        raise Mistake(f"--input {name}=@: no file is named; write {name}=@file, or {name}=@@ for the text '@'")
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            text = file.read(MOST + 1)
        if len(text) > MOST:
            raise Mistake(f"--input {name}=@{path}: too large for an input (more than {MOST:,} characters)")
        return text
    except UnicodeDecodeError as error:
        raise Mistake(f"--input {name}=@{path}: this file is no UTF-8 text") from error
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        raise Mistake(f"--input {name}=@{path}: {getattr(error, 'strerror', None) or error}") from error


def typed(name: str, annotation: Any, text: str) -> Any:
    """`text` as a value of the field's type."""
    if annotation is str:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    problem = ""
    for candidate in (value, text):
        try:
            return TypeAdapter(annotation).validate_python(candidate)
        except ValidationError as error:
            problem = problem or error.errors()[0]["msg"]
    if isinstance(annotation, type) and issubclass(annotation, dspy.Type):  # an image by its address or file
        make: Any = annotation
        try:
            return make(text)
        except (TypeError, ValueError, OSError) as error:
            problem = str(error)
    shown = text if len(text) <= LONGEST else text[:LONGEST] + "..."
    raise Mistake(f"input {name}={shown!r}: {problem}")
