"""Lessons that outlive their search: a value, and one JSON file of it. Nothing is kept unless it is asked for."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..search.visible import in_json
from ..search.whole_file import write_whole
from .trajectory import alike_by

FORMAT = "thoughtree.lessons/1"
MOST_BYTES = 16_000_000  # of a file
MEND = "give texts, a file that Lessons.save wrote, or a prediction of a LATS"


class Lessons(tuple[str, ...]):
    """Texts, oldest first, no two alike (case and spacing aside): of those the newest stays. Never changed.

        found = lats(problem=first)
        Lessons.of(found).save("lessons.json")
        LATS(env=env, lessons="lessons.json")(problem=second)

    Prompts show the newest that fit, those of the running search before those that were brought along.
    """

    __slots__ = ()

    def __new__(cls, texts: Iterable[str] = ()) -> Lessons:
        """TypeError or ValueError for what is no collection of texts with words in them."""
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            raise TypeError(f"lessons={texts!r}: {MEND}")
        newest: dict[str, str] = {}
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"lessons: {text!r} is no text; {MEND}")
            if not text.strip():
                raise ValueError(f"lessons: {text!r} says nothing")
            newest.pop(alike_by(text), None)
            newest[alike_by(text)] = text
        return super().__new__(cls, newest.values())

    @classmethod
    def of(cls, given: Any) -> Lessons:
        """Those in a list or a file, or those that a prediction's (or a result's) search has learnt; None: none.

        ValueError for a file that holds none, TypeError for what is none of these.
        """
        if given is None or isinstance(given, Lessons):
            return given or cls()
        if isinstance(given, str | os.PathLike):
            return cls.load(given)
        result = getattr(given, "search", given)  # of a prediction
        tree = getattr(result, "tree", None)
        return cls(given if tree is None else tree.lessons)

    def and_then(self, newer: Any) -> Lessons:
        """These, and after them newer ones: whatever `of` takes."""
        return Lessons((*self, *Lessons.of(newer)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one JSON file, whole or not at all: a crash leaves the old one."""
        text = in_json(json.dumps({"format": FORMAT, "lessons": self}, ensure_ascii=False, indent=1)) + "\n"
        write_whole(Path(path), text.encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Lessons:
        """What `save` wrote. ValueError, with what is wrong, for any other file; FileNotFoundError if there is none."""
        path = Path(path)
        try:
            with path.open("rb") as file:
                raw = file.read(MOST_BYTES + 1)
        except FileNotFoundError as error:
            raise FileNotFoundError(error.errno, "lessons: there is no such file", str(path)) from None
        if len(raw) > MOST_BYTES:
            raise ValueError(f"{path}: too large for saved lessons (more than {MOST_BYTES:,} bytes)")
        try:
            data = json.loads(raw.decode("utf-8"))
        except (UnicodeDecodeError, ValueError, RecursionError) as error:
            raise ValueError(f"{path}: no saved lessons (not JSON: {error})") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            found = data.get("format") if isinstance(data, dict) else type(data).__name__
            raise ValueError(f"{path}: no saved lessons (format {found!r}, expected {FORMAT!r})")
        try:
            return cls(data.get("lessons"))  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: damaged lessons ({error})") from error
