"""Faults that a test plans for a language model: what goes wrong, for which prompts, and how often.

Which calls a fault meets is worked out from the seed and the prompt, and not from the order in which calls arrive:
the same program meets the same faults with one call in flight and with sixteen, with threads and with asyncio.
"""

from __future__ import annotations

import enum
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, TypedDict, Unpack

from dspy import lm15


class FaultKind(enum.StrEnum):
    """What may happen to a call: late, refused, lost, or answered with a reply that is spoilt."""

    LATENCY = "latency"
    RATE_LIMIT = "rate limit"
    TIMEOUT = "timeout"
    SERVER = "server"
    TRANSPORT = "transport"
    AUTH = "auth"
    BILLING = "billing"
    CONTEXT_OVERFLOW = "context overflow"
    RAISES = "raises"
    HANG = "hang"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    MALFORMED = "malformed"
    DOUBLED = "doubled"
    DUPLICATED = "duplicated"


class When(TypedDict, total=False):
    """Which calls meet a fault.

    share: of all prompts, from 0 to 1. times: the calls with one prompt that meet it, before others with this prompt
    go through; None: all. after: calls of any prompt that come first, counted as they arrive. where: a part of the
    prompt's text (a field's name, say), or a function of that text.
    """

    share: float
    times: int | None
    after: int
    where: str | Callable[[str], bool] | None


# The engine's error of a kind, and its HTTP status.
ERRORS: dict[FaultKind, tuple[type[lm15.LM15Error], int | None]] = {
    FaultKind.RATE_LIMIT: (lm15.RateLimitError, 429),
    FaultKind.TIMEOUT: (lm15.TimeoutError, None),
    FaultKind.SERVER: (lm15.ServerError, 503),
    FaultKind.TRANSPORT: (lm15.TransportError, None),
    FaultKind.AUTH: (lm15.AuthError, 401),
    FaultKind.BILLING: (lm15.BillingError, 402),
    FaultKind.CONTEXT_OVERFLOW: (lm15.ContextLengthError, 400),
    FaultKind.HANG: (lm15.TransportError, None),
}
MOST = 86_400.0  # seconds of one call
PAGE = "<html><head><title>502 Bad Gateway</title></head><body>upstream connect error</body></html>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong. Made by the methods below, each of which takes what `When` lists.

    By default a fault meets every prompt: once, if it may pass or spoils a reply, else always.
    """

    kind: FaultKind
    share: float = 1.0
    times: int | None = None
    after: int = 0
    where: str | Callable[[str], bool] | None = None
    seconds: float | None = 0.0
    skew: float = 0.0
    keep: float = 0.0
    text: str = ""
    retry_after: float | None = None
    make: Callable[[], Exception] | None = None

    def __post_init__(self) -> None:
        for name, most in (("share", 1.0), ("keep", 1.0), ("skew", MOST), ("seconds", MOST)):
            value = getattr(self, name)
            if not (name == "seconds" and value is None) and not _number(value, most):
                raise ValueError(f"Fault({self.kind}, {name}={value!r}): must be a number from 0 to {most:g}")
        if self.times is not None and (not _whole(self.times) or self.times < 1):
            raise ValueError(
                f"Fault({self.kind}, times={self.times!r}): must be a whole number of at least 1, or None for always"
            )
        if not _whole(self.after) or self.after < 0:
            raise ValueError(f"Fault({self.kind}, after={self.after!r}): must be a whole number of at least 0")

    # Slow

    @classmethod
    def latency(cls, seconds: float, *, skew: float = 0.0, **when: Unpack[When]) -> Fault:
        """The call takes `seconds` longer; with a skew, log-normally spread with that mean (1.0: a long tail).

        Latencies of several faults add up, and to those of other faults.
        """
        return cls(kind=FaultKind.LATENCY, seconds=seconds, skew=skew, **when)

    @classmethod
    def hang(cls, seconds: float | None = None, **when: Unpack[When]) -> Fault:
        """The call gives nothing for `seconds` (None: until `FaultyLM.release()`), then a transport error."""
        message = "the connection was closed after it had hung"
        return cls(kind=FaultKind.HANG, seconds=seconds, text=message, **when)

    # Errors, as engines raise them; DSPy makes its own of them (dspy.LMRateLimitError, ...). retry_after: seconds, as
    # a provider says them; None: it does not say.

    @classmethod
    def rate_limit(
        cls, *, retry_after: float | None = 0.0, message: str = "Rate limit reached", **when: Unpack[When]
    ) -> Fault:
        """HTTP 429."""
        return cls(kind=FaultKind.RATE_LIMIT, retry_after=retry_after, text=message, **_once(when))

    @classmethod
    def timeout(
        cls, *, retry_after: float | None = 0.0, message: str = "Request timed out", **when: Unpack[When]
    ) -> Fault:
        """The provider gave up on the request. For a call that is slow, see `latency` and `hang`."""
        return cls(kind=FaultKind.TIMEOUT, retry_after=retry_after, text=message, **_once(when))

    @classmethod
    def server(
        cls, *, retry_after: float | None = 0.0, message: str = "Service unavailable", **when: Unpack[When]
    ) -> Fault:
        """HTTP 503."""
        return cls(kind=FaultKind.SERVER, retry_after=retry_after, text=message, **_once(when))

    @classmethod
    def transport(
        cls, *, retry_after: float | None = 0.0, message: str = "Connection reset by peer", **when: Unpack[When]
    ) -> Fault:
        """The connection failed before there was a reply."""
        return cls(kind=FaultKind.TRANSPORT, retry_after=retry_after, text=message, **_once(when))

    @classmethod
    def auth(cls, *, message: str = "Incorrect API key provided", **when: Unpack[When]) -> Fault:
        """HTTP 401: no call will get through."""
        return cls(kind=FaultKind.AUTH, text=message, **when)

    @classmethod
    def billing(cls, *, message: str = "You exceeded your current quota", **when: Unpack[When]) -> Fault:
        """HTTP 402: no call will get through."""
        return cls(kind=FaultKind.BILLING, text=message, **when)

    @classmethod
    def context_overflow(cls, *, message: str = "Maximum context length exceeded", **when: Unpack[When]) -> Fault:
        """HTTP 400: this prompt is too long, and will be."""
        return cls(kind=FaultKind.CONTEXT_OVERFLOW, text=message, **when)

    @classmethod
    def raises(cls, error: Callable[[], Exception], **when: Unpack[When]) -> Fault:
        """Any other error: a class, or a function that makes one."""
        return cls(kind=FaultKind.RAISES, make=error, **when)

    # Spoilt replies: the model is asked, and paid for

    @classmethod
    def truncated(cls, keep: float = 0.5, **when: Unpack[When]) -> Fault:
        """The token limit cut the reply: the first `keep` of its characters, finish reason "length"."""
        return cls(kind=FaultKind.TRUNCATED, keep=keep, **_once(when))

    @classmethod
    def empty(cls, **when: Unpack[When]) -> Fault:
        """A reply without text."""
        return cls(kind=FaultKind.EMPTY, **_once(when))

    @classmethod
    def malformed(cls, text: str = PAGE, **when: Unpack[When]) -> Fault:
        """`text` in place of the reply; by default a proxy's error page."""
        return cls(kind=FaultKind.MALFORMED, text=text, **_once(when))

    @classmethod
    def doubled(cls, **when: Unpack[When]) -> Fault:
        """The reply's text twice, one after the other."""
        return cls(kind=FaultKind.DOUBLED, **_once(when))

    @classmethod
    def duplicated(cls, **when: Unpack[When]) -> Fault:
        """All calls with one prompt get the completion of the first that came: samples that are none."""
        return cls(kind=FaultKind.DUPLICATED, **when)

    # What it does to a call

    def chosen(self, seed: int, index: int, prompt: bytes, text: str) -> bool:
        """Whether it may meet calls with this prompt, a digest and its text. index: of this fault in its plan."""
        if self.where is not None and not (self.where(text) if callable(self.where) else self.where in text):
            return False
        return self.share >= 1.0 or uniform(seed, index, prompt) < self.share

    def error(self) -> Exception | None:
        """A new error of its kind; None where it is none."""
        if self.make is not None:
            return self.make()
        if self.kind not in ERRORS:
            return None
        kind, status = ERRORS[self.kind]
        error: Exception = kind(self.text, status=status, retry_after=self.retry_after)
        return error

    def delay(self, seed: int, index: int, prompt: bytes, call: int) -> float:
        """Seconds that this latency adds to the `call`-th call with this prompt."""
        seconds = self.seconds or 0.0
        if not self.skew:
            return seconds
        u = min(max(uniform(seed, index, prompt, call), 1e-9), 1 - 1e-9)
        return seconds * math.exp(self.skew * NormalDist().inv_cdf(u) - self.skew**2 / 2)


def uniform(*key: Any) -> float:
    """A number in [0, 1) that hangs on nothing but the key."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def _once(when: When) -> When:
    return {"times": 1, **when}


def _number(value: Any, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
