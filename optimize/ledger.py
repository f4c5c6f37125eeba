"""What a study has paid, and what it may still pay, across all processes that work at it.

A worker writes down what it wants before it looks at what the others hold, and takes it back where the sum is too
much. Of two that want the last of it at once at least one sees the other's wish, so that the budget is never passed.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from math import inf
from typing import TYPE_CHECKING, Any

from ..search import Budget
from ..search.protocol import Usage

if TYPE_CHECKING:
    import optuna

KINDS: tuple[str, ...] = ("calls", "tokens", "cost")
FINAL = "final"  # who holds a lease after the race, each run its own; the others are trials by their numbers
PAID, WORKED = "paid ", "worked "  # attributes of the study, by the run that wrote them
Amounts = dict[str, float]


class Ledger:
    """study: where it is kept. budget: of the whole study, over all its processes and runs. None: no ceiling.

    began: when this run did, by the clock; None: now.
    """

    def __init__(self, study: optuna.Study, budget: Budget, began: float | None = None) -> None:
        self.study = study
        self.run = uuid.uuid4().hex[:12]
        self.began = time.time() if began is None else began
        self.ceilings: Amounts = {k: v for k in KINDS if (v := getattr(budget, k)) is not None}

    def held(self, but: int | str | None = None) -> Amounts:
        """What has been paid, or is promised to somebody, except to `but`."""
        total = dict.fromkeys(KINDS, 0.0)
        for holder, amounts in self._entries():
            if holder != but:
                for kind in KINDS:
                    total[kind] += amounts.get(kind, 0.0)
        return total

    def left(self, but: int | str | None = None, share: float = 1.0) -> Amounts:
        """What is left under each ceiling, of this share of it."""
        held = self.held(but)
        return {kind: max(0.0, share * ceiling - held[kind]) for kind, ceiling in self.ceilings.items()}

    def claim(self, holder: int | str, have: Amounts, more: Amounts, share: float = 1.0) -> Amounts | None:
        """A lease of `have` and as much of `more` as there is; None where there is nothing more of something.

        Amounts are totals since the holder began, and so stay what they are while it spends them.
        """
        if not self.ceilings:
            return {}
        left = self.left(holder, share)
        wanted = {kind: min(have.get(kind, 0.0) + more.get(kind, inf), room) for kind, room in left.items()}
        wanted = {kind: float(int(v)) if kind != "cost" else v for kind, v in wanted.items()}
        if any(wanted[kind] <= have.get(kind, 0.0) for kind in wanted):
            return None
        self._write(holder, wanted)
        left = self.left(holder, share)
        if any(wanted[kind] > left[kind] + 1e-12 for kind in wanted):
            self._write(holder, have)
            return None
        return wanted

    def settle(self, holder: int | str, spent: Usage) -> None:
        """What the holder has really paid; the rest of its lease is free."""
        self._write(holder, {"calls": spent.calls, "tokens": spent.tokens, "cost": spent.cost})

    @property
    def final(self) -> str:
        """The holder of what this run pays after the race."""
        return f"{FINAL} {self.run}"

    def seconds(self) -> float:
        """How long the study has been worked at: the time in which one run or more of it went on."""
        now = time.time()
        self.study.set_user_attr(f"{WORKED}{self.run}", [self.began, now])
        spans = [span for name, span in self.study.user_attrs.items() if name.startswith(WORKED)]
        total, until = 0.0, 0.0
        for begin, end in sorted(spans):
            total += max(0.0, end - max(begin, until))
            until = max(until, end)
        return total

    def _entries(self) -> Iterator[tuple[int | str, Mapping[str, float]]]:
        for trial in self.study.get_trials(deepcopy=False):
            yield trial.number, trial.user_attrs.get("paid", {})
        for name, amounts in self.study.user_attrs.items():
            if name.startswith(PAID):
                yield name.removeprefix(PAID), amounts

    def _write(self, holder: int | str, amounts: Amounts) -> None:
        storage: Any = self.study._storage
        if isinstance(holder, str):
            self.study.set_user_attr(f"{PAID}{holder}", amounts)
            return
        trial_id = storage.get_trial_id_from_study_id_trial_number(self.study._study_id, holder)
        storage.set_trial_user_attr(trial_id, "paid", amounts)
