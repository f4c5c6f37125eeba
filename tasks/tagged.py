"""Plain data as JSON and back, without losing what JSON has not: tuples, sets and keys that are no text."""

from __future__ import annotations

from typing import Any

TAG = "~"
SCALARS = (str, int, float, bool, type(None))


def dump(value: Any) -> Any:
    """A JSON value. TypeError, naming it, for anything that is not plain data."""
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, list):
        return [dump(item) for item in value]
    if isinstance(value, tuple | set | frozenset):
        items = [dump(item) for item in value]
        if not isinstance(value, tuple):
            items.sort(key=repr)
        return {TAG: type(value).__name__, "of": items}
    if isinstance(value, dict):
        pairs = value.items()
        if all(isinstance(key, str) for key, _ in pairs) and TAG not in value:
            return {key: dump(item) for key, item in pairs}
        return {TAG: "dict", "of": [[dump(key), dump(item)] for key, item in pairs]}
    raise TypeError(f"{type(value).__name__} value {value!r} is no plain data")


def load(value: Any) -> Any:
    """What `dump` wrote. ValueError for a tag that it does not write."""
    if isinstance(value, list):
        return [load(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = value
    if TAG not in found:
        return {key: load(item) for key, item in found.items()}
    items = [load(item) for item in found["of"]]
    match found[TAG]:
        case "tuple":
            return tuple(items)
        case "set":
            return set(items)
        case "frozenset":
            return frozenset(items)
        case "dict":
            return dict(items)
        case other:
            raise ValueError(f"unknown tag {other!r}")
