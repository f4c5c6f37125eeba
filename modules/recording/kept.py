"""What RecordLM and ReplayLM have in common: a recording, and an account of what came from it."""

from __future__ import annotations

from typing import Any

from dspy.clients.call_result import CallResult

from ...search.protocol import Usage
from ..calls.meter import total_tokens
from ..calls.record import priced
from ..calls.served import ServedLM
from .asked import Asked
from .ledger import Ledger, around
from .store import Recording


class Kept(ServedLM):
    """Before a class of LMs. Copies of one share its recording and its ledger."""

    recording: Recording
    ledger: Ledger
    kwargs: dict[str, Any]
    model: str
    model_type: str

    @property
    def paid(self) -> Usage:
        """What this LM and its copies have paid for: calls that reached the model and brought a reply."""
        return self.ledger.paid

    @property
    def hits(self) -> Usage:
        """What they were served from the recording. Its cost is what that has saved."""
        return self.ledger.hits

    def served(self, asked: Asked, result: dict[str, Any], *, cache_hit: bool) -> CallResult:
        """A recorded reply, as the model gave it."""
        try:
            made = loaded(result, cache_hit=cache_hit)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise self.recording.wrong(asked.key, f"its reply cannot be read ({error!r})") from error
        used, _ = self.used_by(made, asked, 0.0)
        self.ledger.hit(used)
        self.recording.ledger.hit(used)
        if (ledger := around()) is not None:
            ledger.hit(used)
        return made

    def used_by(self, result: CallResult, asked: Asked, seconds: float) -> tuple[Usage, bool]:
        """What a reply has cost, and whether its price is known: to DSPy, or by the prices of a search around it."""
        cost = result.cost
        if cost is None:
            cost = priced(self.model, result.usage, getattr(self, "gate_prices", {}))
        return Usage(asked.whole["n"], total_tokens(result.usage), cost or 0.0, seconds), cost is not None

    def __copy__(self) -> Any:
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __deepcopy__(self, memo: Any) -> Any:  # DSPy copies programs with the LMs that are bound to them
        copied = self.copy()  # type: ignore[attr-defined]
        copied.history = list(self.history)  # type: ignore[attr-defined]
        return copied


def loaded(result: dict[str, Any], *, cache_hit: bool) -> CallResult:
    """A result as it was dumped, with what DSPy leaves out of cached ones: its usage."""
    made = CallResult.load(result)
    made.usage, made.cache_hit = dict(result.get("usage") or {}), cache_hit
    return made
