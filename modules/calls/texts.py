"""One change made to all texts of a value."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any, TypeVar

T = TypeVar("T")


def changed(value: T, change: Callable[[str], str]) -> T:
    """`value` with `change` made to it, and to what its lists, tuples and dicts hold; itself where nothing differs."""
    found: Any = value
    if isinstance(found, str):
        found = change(found)
    elif type(found) in (list, tuple):
        items = [changed(item, change) for item in found]
        found = found if all(map(is_, items, found)) else type(found)(items)
    elif isinstance(found, dict):
        pairs = [(changed(key, change), changed(item, change)) for key, item in found.items()]
        same = all(new[0] is old[0] and new[1] is old[1] for new, old in zip(pairs, found.items(), strict=True))
        found = found if same else type(found)(pairs)
    made: T = found
    return made
