"""Values that are not the one in question, to ask about beside it: who cannot tell them apart does not know it."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COUNT = 15


def among_decoys(value: Any) -> tuple[list[Any], int]:
    """`value` and others of its kind, in an order that nobody foresees; and where `value` is."""
    others: list[Any] = []
    for step in range(1, COUNT + 1):
        other = _other(value, step if _below(2) else -step)
        if type(other) is not type(value) or other != value:
            others.append(other)
    place = _below(len(others) + 1)
    return [*others[:place], value, *others[place:]], place


def _other(value: Any, step: int) -> Any:
    """Something like `value`, and not it. step: how far from it, other than 0."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float | complex):
        return value + step
    if isinstance(value, str):
        return _changed(value, step, chr(97 + abs(step)))
    if isinstance(value, bytes | bytearray):
        return _changed(value, step, type(value)([65 + abs(step)]))
    if isinstance(value, list | tuple):
        return _changed(value, step, type(value)([_other(value[-1], step) if value else step]))
    if isinstance(value, dict):
        return {**value, **{key: _other(value[key], step) for key in [*value][:1]}} if value else {step: step}
    if isinstance(value, set | frozenset):
        return value ^ type(value)([step])
    return step


def _changed(value: Any, step: int, one: Any) -> Any:
    """Another item at the end, in its place or behind it; or fewer of them."""
    if step % 3 == 0 and len(value) > 1:
        return value[:-1] if step > 0 else value[1:]
    return value[: len(value) - (step > 0)] + one


def _below(limit: int) -> int:
    return int.from_bytes(os.urandom(4), "big") % limit
