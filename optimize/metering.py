"""What the run of one example spends, whatever the program: a search, a pipeline with searches inside, or neither."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import dspy
from dspy.utils.usage_tracker import UsageTracker

from ..modules.calls.gate import gate, passing
from ..modules.calls.meter import Meter, total_tokens
from ..modules.calls.witness import with_witness
from ..modules.program import Program
from .replies import SETTING, Replies, recorded


class Tally(Meter):
    """A meter without a ceiling, which keeps counts and no texts."""

    def __init__(self) -> None:
        super().__init__(left=sys.maxsize)

    def record(self, entry: dict[str, Any]) -> None:
        super().record(entry)
        with self._lock:
            self.records.clear()


class _Tokens(UsageTracker):
    """Hears from DSPy what calls used that passed the gate by. Those of the gate are counted there."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self.tally = tally

    def __deepcopy__(self, memo: dict[int, Any]) -> _Tokens:  # DSPy copies a tracker for each of its threads
        return self

    def add_usage(self, lm: str, usage_entry: dict[str, Any]) -> None:
        if not passing():
            with self.tally._lock:
                self.tally.tokens += total_tokens(usage_entry)
                self.tally.unpriced += 1


@dataclass(frozen=True, slots=True)
class Metering:
    """Contexts for calls to be counted in. lm: the one to call, behind the gate, or None where none is configured.

    history: let DSPy keep its history too, which grows with every call. keeps: replies can be kept on disk.
    """

    lm: Any
    history: bool = False
    keeps: bool = False

    @classmethod
    def here(cls, history: bool = False, keeps: bool = False) -> Metering:
        """With the LM that is configured here."""
        made = cls(None, history, keeps)
        lm = dspy.settings.lm
        return replace(made, lm=made.metered(lm)) if isinstance(lm, dspy.BaseLM) else made

    def metered(self, lm: Any) -> Any:
        """`lm` behind the gate, with its replies kept where they are to be."""
        if self.keeps:
            lm = recorded(lm)
        return gate(lm, history=self.history, retries=True)

    def around(self, program: Any, tally: Tally, replies: Replies | None = None) -> AbstractContextManager[Any]:
        """A context in which the LM calls of `program` count on `tally`, and leave no history and no trace.

        replies: of the example that it runs, where they are kept.
        """
        if isinstance(program, Program):  # it gates its own LMs, and reports to the meter that it finds
            found: AbstractContextManager[Any] = dspy.context(search_meter=tally, trace=None)
            return found
        settings: dict[str, Any] = {"search_meter": tally, "trace": [], "callbacks": with_witness()}
        if self.lm is not None:
            settings["lm"] = self.lm
        if replies is not None:
            settings[SETTING] = replies
        if not self.history:
            settings["disable_history"] = True
        if not dspy.settings.track_usage and dspy.settings.usage_tracker is None:
            settings["usage_tracker"] = _Tokens(tally)
        found = dspy.context(**settings)
        return found
