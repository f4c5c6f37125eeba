"""What an error means for a search: a reply that nobody can read, no reply now, none ever, or not allowed.

These never mix, and none of them is a low score. A message names the error and its causes, and holds no key.
"""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import dspy

from ...search.protocol import Failed, Refused, Unread
from ...search.visible import one_line
from .limit import Refusal
from .meter import Meter, OverCalls
from .redaction import redact as redact

# What follows it is for others: lm15's advice on its settings, a traceback that litellm puts into its messages.
NOISE = re.compile(r"\n\n  To fix:|(?<!\s)\s*+Traceback \(most recent call last\)")
LONGEST = 2000  # characters of a message; a proxy's error page is longer
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504, 529})  # HTTP statuses that pass

# No other call would get through either, so the search ends.
FATAL = (
    dspy.LMAuthError,
    dspy.LMBillingError,
    dspy.LMConfigurationError,  # a missing key among others
    dspy.LMUnsupportedModelError,
    ImportError,  # the provider's client is not installed
)


def failure(error: Exception, meter: Meter) -> Unread | Failed | Refused:
    """The outcome of a request whose call raised `error`. `meter`: what the model had said until then."""
    causes = list(_chain(error, implied=False))
    for cause in causes:
        if isinstance(cause, Refusal):
            return Refused(cause.why)
    if _unreadable(error, meter):
        return Unread(meter.text or getattr(error, "lm_response", ""))
    fatal = any(isinstance(cause, FATAL) for cause in causes)
    hints = (_seconds(getattr(cause, "retry_after", None)) for cause in causes)
    return Failed(
        describe(error, meter.secrets),
        fatal=fatal,
        transient=not fatal and any(map(_passes, causes)),
        retry_after=next((hint for hint in hints if hint is not None), None),
    )


def describe(error: BaseException, secrets: set[str] | None = None) -> str:
    """One line, which no terminal obeys: the error, where code of ours or the user's raised it, and its causes."""
    told = []
    for cause in _chain(error, implied=True):
        problem = NOISE.split(_said(cause), maxsplit=1)[0]
        told.append(f"{type(cause).__name__}: {one_line(problem)}{_place(cause)}")
        if isinstance(cause, dspy.LMError) and not isinstance(cause, dspy.LMUnexpectedError):
            break  # what lies below says the same in the provider's terms
    text = redact(", caused by ".join(told), secrets or ())
    return text if len(text) <= LONGEST else text[:LONGEST] + " ..."


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as another:  # its `__str__` is the user's, or a provider's
        return f"(its text raised {type(another).__name__})"


def _unreadable(error: Exception, meter: Meter) -> bool:
    """Whether a reply came, and an adapter could make nothing of it."""
    if isinstance(error, dspy.AdapterParseError):
        return True
    if not meter.records:
        return False
    if isinstance(error, OverCalls):  # it then asked for another reply, which nobody had reserved
        return any(isinstance(cause, dspy.AdapterParseError) for cause in _chain(error, implied=True))
    if isinstance(error, ValueError):  # pydantic's ValidationError too: some adapters let them out
        names = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
        inside = [name for name in names if name.startswith("dspy.")]
        return bool(inside) and inside[-1].startswith("dspy.adapters.")
    return False


def _passes(error: BaseException) -> bool:
    """Whether the same call may go through later."""
    if isinstance(error, dspy.LMError):
        return bool(dspy.is_retryable_lm_error(error)) or error.status in BUSY
    return isinstance(error, ConnectionError | TimeoutError)  # from an engine or a proposer of the user's


def _seconds(hint: Any) -> float | None:
    known = isinstance(hint, int | float) and not isinstance(hint, bool) and math.isfinite(hint) and hint >= 0
    return float(hint) if known else None


def _chain(error: BaseException, *, implied: bool) -> Iterator[BaseException]:
    """The error and its causes. `implied`: also what was being handled when it was raised."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        yield cause
        seen.add(id(cause))
        context = cause.__context__ if implied and not cause.__suppress_context__ else None
        cause = cause.__cause__ or context


def _place(error: BaseException) -> str:
    """Where a plain Python error was raised; DSPy's errors and ours say enough themselves."""
    if isinstance(error, dspy.DSPyError | dspy.lm15.LM15Error | OverCalls) or error.__traceback__ is None:
        return ""
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    return f" ({PurePath(frame.f_code.co_filename).name}:{line} in {frame.f_code.co_name})"
