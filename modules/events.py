"""What happens in a search, told to DSPy's callbacks while it happens.

class Watch(BaseCallback):
    def on_search_event(self, call_id, event):
        match event:
            case NodeAdded():
                print(event.node.id, event.action)
            case SearchEnded():
                print(event.result.summary())

dspy.configure(callbacks=[Watch()])
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..search import Ended, Node, Search, SearchResult
from ..search.protocol import Request, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEvent:
    """One of the events below. kind: which, as a word.

    number: its place among the events of this search, from 0. search: the search itself, as it is after the event; to
    be read only, and only in the callback.
    """

    kind: ClassVar[str] = ""
    number: int
    search: Search[Any, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStarted(SearchEvent):
    """The first. program: its class. controller: with its knobs. inputs: of the call."""

    kind: ClassVar[str] = "started"
    program: str
    controller: Any
    inputs: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied(SearchEvent):
    """A reply was told: of a model, of an environment or of code. usage: what it took; attempt: 0, or of a retry."""

    request: Request
    attempt: int
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsProposed(Replied):
    """actions: as text, as they were proposed; the tree may drop some."""

    kind: ClassVar[str] = "proposed"
    node: int
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTaken(Replied):
    """The action of `node` was followed, by an environment, a world model or code. illegal: the rule against it."""

    kind: ClassVar[str] = "stepped"
    node: int
    solved: bool = False
    terminal: bool = False
    reward: float = 0.0
    illegal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesRated(Replied):
    """One sample. values: one a node, on the scale of a sample; verdicts: the rater's words, where it has some."""

    kind: ClassVar[str] = "rated"
    nodes: tuple[int, ...]
    values: tuple[float, ...]
    verdicts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonLearned(Replied):
    kind: ClassVar[str] = "reflected"
    node: int
    lesson: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGiven(Replied):
    """verified: code accepts it."""

    kind: ClassVar[str] = "answered"
    node: int
    fields: dict[str, Any]
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyUnread(Replied):
    """A reply came, and could not be read."""

    kind: ClassVar[str] = "unread"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailed(Replied):
    """error: without keys. transient: it may be asked again."""

    kind: ClassVar[str] = "failed"
    error: str
    transient: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAdded(SearchEvent):
    """A node of the tree; a proposal's nodes come in its order. action: as text."""

    kind: ClassVar[str] = "node"
    node: Node[Any, Any] = field(repr=False)
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalReached(SearchEvent):
    """Code, or the environment, verified that this node is a goal."""

    kind: ClassVar[str] = "solved"
    node: Node[Any, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReached(SearchEvent):
    """A ceiling ended the search. ceiling: which."""

    kind: ClassVar[str] = "budget"
    ceiling: Ended


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEnded(SearchEvent):
    """The last. result: whole, as the program gives it back. error: what broke the search off, else None."""

    kind: ClassVar[str] = "ended"
    result: SearchResult[Any, Any] = field(repr=False)
    error: BaseException | None = None
