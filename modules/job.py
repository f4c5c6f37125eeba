"""One request of a search as one call that a driver can make."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from ..search.protocol import Failed, Outcome, Unread
from .calls.meter import Meter


@dataclass(frozen=True, slots=True)
class Job:
    """How to call, and how to read what comes back.

    acall None: there is no asynchronous form, and a thread makes the call. calls: the most LM calls of it, those of
    `read` among them. read_cut: for a reply that the token limit cut; None: the same. reads_long: reading may call a
    model or run for long. config, model: of the LM call. lm: the configured one to call under; None: as it is.
    again: the call with this LM in the place of its own, where it is a role of ours.
    """

    call: Callable[[], Any]
    acall: Callable[[], Awaitable[Any]] | None
    read: Callable[[Any], Outcome]
    calls: int
    read_cut: Callable[[Any], Outcome] | None = None
    reads_long: bool = False
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    model: str = ""
    lm: Any = None
    again: Callable[[Any], Any] | None = None

    def reading(self, given: Any, meter: Meter) -> Callable[[], Outcome]:
        """What reads `given`, the reply whose calls are on this meter."""
        read = self.read_cut if self.read_cut is not None and was_cut(meter) else self.read
        return lambda: read(given)


def was_cut(meter: Meter) -> bool:
    """Whether the token limit ended the last reply before it was whole."""
    last = meter.records[-1] if meter.records else {}
    return last.get("finish_reason") in ("length", "max_tokens") and "[[ ## completed ## ]]" not in meter.text


def unread_cut(prediction: Any) -> Outcome:
    """A rating or an answer that ends in the middle says nothing that can be relied on."""
    return Unread("\n".join(str(value) for value in prediction.toDict().values() if value is not None))


def refusal(model: str, setting: str) -> Failed:
    """The same call will go through without this setting: ask again at once."""
    return Failed(f"{model} takes no {setting}", transient=True, retry_after=0.0)
