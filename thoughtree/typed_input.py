"""Input fields from the command line: text as it is, other types from JSON or from their own text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import dspy
from pydantic import TypeAdapter, ValidationError

from .mistake import Mistake

LONGEST = 60  # characters of a wrong value that are shown


def inputs_of(signature: type[dspy.Signature], words: Sequence[str], pairs: Sequence[str]) -> dict[str, Any]:
    """The inputs of one call. words: the first field's value. pairs: `name=value`. Raises Mistake."""
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
        given[name] = value
    for name, info in known.items():
        if name not in given and info.is_required():
            how = "the problem, in quotes" if name == first else f"--input {name}=..."
            raise Mistake(f"input {name!r} is missing: give {how}")
    return {name: typed(name, known[name].annotation, text) for name, text in given.items()}


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
