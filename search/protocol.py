"""What a search asks for and is told. Plain data: no behaviour but that no NaN comes in, no I/O.

One request is at most one LM call, one environment run, or some code. Samples, votes,
comparisons, retries and the closing call are requests of their own, so each is reserved,
journaled and shared by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Propose:
    """Which actions could be taken from this node? `n` None: as many as there are."""

    node: int
    n: int | None
    sample: int = 0
    lessons: int = 0  # how many of the tree's lessons this prompt carries


@dataclass(frozen=True, slots=True)
class Step:
    """Where does this node's action lead?"""

    node: int


@dataclass(frozen=True, slots=True)
class Rate:
    """How promising are these nodes? One value each. `rater`: who is asked, "rate" or "cheap"."""

    nodes: tuple[int, ...]
    sample: int = 0
    rater: str = "rate"


@dataclass(frozen=True, slots=True)
class Reflect:
    """Why did this trajectory fail?"""

    node: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What do the output fields hold, given the path to this node? Of the root: a direct answer."""

    node: int


Request: TypeAlias = Propose | Step | Rate | Reflect | Answer


@dataclass(frozen=True, slots=True)
class Proposed:
    """`actions` in the proposer's order; `priors`, if given, one non-negative weight for each."""

    actions: tuple[Any, ...]
    priors: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        priors = self.priors
        if priors is None:
            return
        if len(priors) != len(self.actions) or not all(isfinite(p) and p >= 0 for p in priors):
            raise ValueError(
                f"Proposed(priors={priors!r}): must be one finite non-negative weight "
                f"for each of the {len(self.actions)} actions"
            )


@dataclass(frozen=True, slots=True)
class Stepped:
    """Where an action led.

    key: the same key is the same state (None: never a duplicate).
    solved: code verified that this is a goal.
    claimed: the model says that this is the final answer, and nothing in code can tell.
    terminal: cannot be continued. unjudged: nor can code tell whether it is right, so it is rated.
    missed: judged wrong, may still be built upon.
    value: a value that makes a rating needless (a reward of a finished answer), else None.
    foreseen: whether a world model predicted this; None: nobody asked it, or nobody can tell.
    """

    state: Any
    key: Any = None
    solved: bool = False
    claimed: bool = False
    terminal: bool = False
    missed: bool = False
    reward: float = 0.0
    value: float | None = None
    observation: Any = None
    unjudged: bool = False
    foreseen: bool | None = None

    def __post_init__(self) -> None:
        try:
            hash(self.key)
        except TypeError as error:
            raise TypeError(f"Stepped(key={self.key!r}): must be hashable, such as a tuple or a string") from error
        if not isfinite(self.reward):
            raise ValueError(f"Stepped(reward={self.reward!r}): must be a finite number")
        if self.value is not None and not isfinite(self.value):
            raise ValueError(f"Stepped(value={self.value!r}): must be a finite number, or None")


class Illegal(Exception):  # a verdict about an action; an exception so that a task may raise it
    """An action that the rules forbid. Raised or returned by a task; `rule` says which rule.

    foreseen: whether a world model predicted this, as in `Stepped`.
    """

    def __init__(self, rule: str, foreseen: bool | None = None) -> None:
        super().__init__(rule)
        self.rule, self.foreseen = rule, foreseen

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Illegal) and other.rule == self.rule

    def __hash__(self) -> int:
        return hash((Illegal, self.rule))


@dataclass(frozen=True, slots=True)
class Rated:
    """One finite value a node, in the request's order. `clamped`: how many were off the scale.

    settled: this is all that the rater would say on average, so no further sample is needed.
    """

    values: tuple[float, ...]
    verdicts: tuple[str, ...] | None = None
    clamped: int = 0
    settled: bool = False

    def __post_init__(self) -> None:
        for value in self.values:
            if not isfinite(value):
                raise ValueError(f"Rated(values={self.values!r}): must be finite; what is no number is Unread")
        if self.verdicts is not None and len(self.verdicts) != len(self.values):
            raise ValueError(f"Rated(verdicts={self.verdicts!r}): must be one for each of {len(self.values)} values")


@dataclass(frozen=True, slots=True)
class Reflected:
    lesson: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The output fields of a finished answer.

    verified: code accepts it. rule: why code refuses it, or None (also where nothing in code can tell).
    reward, feedback: what a reward function gave, if there is one.
    """

    fields: dict[str, Any]
    verified: bool = False
    rule: str | None = None
    reward: float | None = None
    feedback: str | None = None

    def __post_init__(self) -> None:
        if self.reward is not None and not isfinite(self.reward):
            raise ValueError(f"Answered(reward={self.reward!r}): must be a finite number, or None")


@dataclass(frozen=True, slots=True)
class Unread:
    """A reply came, and says nothing that can be read.

    value: what a node is worth after such a rating, where that is known better than by its scale. why: what is wrong
    with it, if that is known.
    """

    text: str
    value: float | None = None
    why: str | None = None

    def __post_init__(self) -> None:
        if self.value is not None and not isfinite(self.value):
            raise ValueError(f"Unread(value={self.value!r}): must be a finite number, or None")


@dataclass(frozen=True, slots=True)
class Failed:
    """No reply came.

    fatal: nor will one come to any other call (auth, billing), so the search ends.
    transient: the same call may go through later, after `retry_after` seconds if the provider said so.
    """

    error: str
    fatal: bool = False
    transient: bool = False
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A purse or limiter outside the search did not let the call start. Nothing was spent; never journaled."""

    why: str  # the ceiling: calls, tokens, cost, seconds


Outcome: TypeAlias = Proposed | Stepped | Illegal | Rated | Reflected | Answered | Unread | Failed | Refused


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent: LM calls, tokens in and out, dollars, seconds of call time (not wall time)."""

    calls: int = 1
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.cost + other.cost,
            self.seconds + other.seconds,
        )


FREE = Usage(0)
ONE_CALL = Usage(1)


@dataclass(slots=True)
class Ask:
    """A request handed out.

    delay: seconds to wait before it starts (a retry). about: the mark of the nodes that it names, where a journal is
    kept by a driver.
    """

    id: int
    request: Request
    attempt: int = 0
    delay: float = 0.0
    about: int | None = None


@dataclass(slots=True)
class Reply:
    """An outcome with what it took.

    records: one dict an LM call (model, messages, outputs, usage, cost, seconds), for journal and viewer.
    by_code: code that gives the same again answered at once; a journal need not hold it.
    """

    outcome: Outcome
    usage: Usage = ONE_CALL
    records: Sequence[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    by_code: bool = False
