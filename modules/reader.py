"""The readers of `reading`, loaded with the first reply.

Their patterns take about as long to compile as all the rest of the package takes to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .reading import *  # noqa: F403
    from .reading import candidates as candidates  # whose `verdicts` shares its name with a file


def __getattr__(name: str) -> Any:
    from . import reading

    found = getattr(reading, name)
    globals()[name] = found  # asked for once
    return found
