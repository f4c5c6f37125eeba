"""Libraries of the `optimize` extra, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any


def needs(name: str) -> Any:
    """The module of that name. ImportError that says how to get it, where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise ImportError(f"{name} is not installed: pip install 'thoughtree[optimize]'") from error
