"""What was paid for, and what was had for nothing."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dspy

from ...search.protocol import FREE, Usage
from ..calls.limit import Refusal

_lock = threading.Lock()  # one for all: adding takes no time


class Ledger:
    """paid: calls that reached a model and brought a reply. hits: calls that were served; their cost is what was saved.

    Dollars of unknown price count as 0 in both; `unpriced` says for how many paid calls. refused: whether a
    ceiling kept a call from being paid.
    """

    def __init__(self) -> None:
        self.refused = False
        self.paid, self.hits, self.unpriced = FREE, FREE, 0

    def pay(self, used: Usage, *, priced: bool) -> None:
        with _lock:
            self.paid += used
            self.unpriced += 0 if priced else used.calls

    def hit(self, used: Usage) -> None:
        with _lock:
            self.hits += used

    def __deepcopy__(self, memo: Any) -> Ledger:  # one for an LM and its copies
        return self

    def __reduce__(self) -> Any:  # another process counts for itself
        return Ledger, ()


def around() -> Ledger | None:
    """The ledger of somebody around, who wants to know what this run would have cost, and whether it was whole."""
    found = dspy.settings.get("search_saved")
    return found if isinstance(found, Ledger) else None


@contextmanager
def refusals_noted() -> Iterator[None]:
    try:
        yield
    except Refusal:
        if (ledger := around()) is not None:
            ledger.refused = True
        raise


def _in_child() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_in_child)
