"""A journal's lines, as tests look at them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def replies(written: Path | bytes) -> list[dict[str, Any]]:
    """The lines of replies: neither the header, nor what shows the tree to readers, nor a torn last line."""
    content = written if isinstance(written, bytes) else written.read_bytes()
    lines = content[: content.rfind(b"\n") + 1].splitlines()[1:]
    return [line for line in map(json.loads, lines) if "ask" in line]
