"""`--save FILE`: what is wrong with it is said before anything is paid."""

from __future__ import annotations

from pathlib import Path

import dspy

from .mistake import Mistake


def as_json_file(path: Path | None) -> None:
    """Whether a program can be written there."""
    from .optimize.files import check

    check(path, "--save")
    if path is not None and path.suffix != ".json":
        raise Mistake(f"--save {path}: a program is saved as JSON; give a name that ends in .json")


def can_be_saved(program: dspy.Module, path: Path | None) -> None:
    """Whether it can be written at all: an engine of the user's own may not."""
    if path is None:
        return
    try:
        program.dump_state()
    except (TypeError, ValueError) as error:
        raise Mistake(f"--save: this program cannot be saved: {error}") from error
