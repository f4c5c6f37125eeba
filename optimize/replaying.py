"""Journals read again as searches that are over: nothing is called, and the files stay as they are."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dspy

from ..modules.header import ENDING, digest, settled
from ..modules.trace import Trace
from ..search import JournalError, Stop
from .fields import fields_of


def journals_in(path: Path) -> list[Path]:
    """A journal, or all of a folder and what is in it, by name. ValueError for none."""
    found = [path] if path.is_file() else sorted(path.rglob(f"*{ENDING}"))
    if not found:
        raise ValueError(f"{path}: there is no journal here; give a file, or a folder that holds *{ENDING}")
    return found


def replayed(
    program: Any, paths: Iterable[Path], examples: Sequence[dspy.Example]
) -> Iterator[tuple[dspy.Example, Trace]]:
    """Each journal's search, with the example that it is of.

    program: as it was when it was called; JournalError names what differs. A journal that broke off gives the search as
    far as it goes. ValueError for a journal of no example.
    """
    by_inputs = {_digest(fields_of(example.inputs())): example for example in examples}
    for path in paths:
        example = by_inputs.get(str(_header(path).get("inputs")))
        if example is None:
            raise ValueError(f"journal {path} is of none of the {len(examples)} examples; give the one it is of")
        yield example, replay(program, path, fields_of(example.inputs()))


def replay(program: Any, path: Path, inputs: Mapping[str, Any]) -> Trace:
    """The search of one journal, with the calls that it holds."""
    ended, found = Stop(), list[Trace]()
    ended()  # what is on disk is told, and nothing is asked
    lm = dspy.settings.lm or dspy.LM("replay/none")
    with TemporaryDirectory() as folder, dspy.context(lm=lm, trace=[], search_traces=found):
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        try:
            program(**inputs, config={"journal": copy, "stop": ended, "on_failure": "best"})
        except JournalError as error:  # of the copy, whose name nobody has given
            raise JournalError(str(error).replace(str(copy), str(path))) from error
    return found[-1]


def _header(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            found = json.loads(file.readline())
    except ValueError as error:
        raise ValueError(f"{path}: not a journal (its first line is not JSON: {error})") from error
    if not isinstance(found, dict) or "inputs" not in found:
        raise ValueError(f"{path}: not a journal of a program's call (its first line names no inputs)")
    return found


def _digest(inputs: Mapping[str, Any]) -> str:
    return digest({name: settled(value) for name, value in inputs.items()})
