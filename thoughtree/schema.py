"""The schema of a saved result, for whoever reads one without this package."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

NAME = "result.schema.json"


def result_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what `SearchResult.save` and `to_dict` give, with a word on each entry."""
    found: dict[str, Any] = json.loads((files(__name__.rpartition(".")[0]) / NAME).read_text(encoding="utf-8"))
    return found
