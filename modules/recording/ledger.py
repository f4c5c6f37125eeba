"""What was paid for, and what was had for nothing."""

from __future__ import annotations

import os
import threading
from typing import Any

from ...search.protocol import FREE, Usage

_lock = threading.Lock()  # one for all: adding takes no time


class Ledger:
    """paid: calls that reached a model and brought a reply. hits: calls that were served; their cost is what was saved.

    Dollars of unknown price count as 0 in both; `unpriced` says for how many paid calls. own: the keys that were
    paid for here.
    """

    def __init__(self) -> None:
        self.paid, self.hits, self.unpriced = FREE, FREE, 0
        self.own: set[str] = set()

    def pay(self, key: str, used: Usage, *, priced: bool) -> None:
        with _lock:
            self.paid += used
            self.unpriced += 0 if priced else used.calls
            self.own.add(key)

    def hit(self, used: Usage) -> None:
        with _lock:
            self.hits += used

    def __deepcopy__(self, memo: Any) -> Ledger:  # one for an LM and its copies
        return self

    def __reduce__(self) -> Any:  # another process counts for itself
        return Ledger, ()


def _in_child() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_in_child)
