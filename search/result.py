"""What a search gives back: valid at any time, and complete enough to say why."""

from __future__ import annotations

import pickle
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol

from .budget import Ended, SearchStatus
from .exports import Exports
from .order import value
from .protocol import Answered, Usage
from .rating import Rating
from .tree import DUPLICATE, EXPANDED, FAILED, ILLEGAL, OPEN, SOLVED, TERMINAL, WRONG, A, Node, S, Tree
from .visible import one_line

if TYPE_CHECKING:
    from .search import Search

LONGEST = 500  # characters of one step in a line that a person reads; some models never end


class Describes(Protocol):
    """What a task can say about its states and actions; all that a result asks of one."""

    def render(self, state: Any) -> str: ...
    def show(self, action: Any) -> str: ...
    def dump(self, state: Any) -> Any: ...
    def load(self, value: Any) -> Any: ...
    def solvable(self, state: Any) -> bool | None: ...


@dataclass(frozen=True, slots=True)
class SearchResult(Exports, Generic[S, A]):
    """One search, whole.

    status: what the answer is worth. ended: why the search ended. best: the node given back (the root: none).
    answer: the output fields, or None. spent: in all; spent_by: per role ("propose", "rate", "answer", ...).
    unread: replies per role that came and could not be read. failed: calls, and steps of the task's own code, that
    raised. errors: their texts, in order of appearance, with counts. clamped: ratings off their scale.
    seconds: wall time. unfinished: calls still in flight when the search returned.
    lost: the roles of which no reply was of any use: how many there were, and the first error (None: all came, and none
    could be read). A reward function that gave no score for any answer is one of them: "reward".
    unclosed: why the closing call gave no answer, where one was made: its error, say.
    hung: hooks of the task, and those who listened, that had not come back as the search returned.
    predicted: of a world model that code checked, how many predictions were "right" and "wrong".
    by_node: (calls, tokens, dollars, seconds) that the replies about a node took, by its id; those about several nodes
    are shared out evenly.
    """

    status: SearchStatus
    ended: Ended | None
    best: Node[S, A]
    tree: Tree[S, A]
    spent: Usage
    spent_by: dict[str, Usage]
    unread: dict[str, int]
    failed: int
    errors: dict[str, int]
    clamped: int
    rating: Rating
    controller: dict[str, Any]
    answer: dict[str, Any] | None = None
    reward: float | None = None
    feedback: str | None = None
    seconds: float = 0.0
    unfinished: int = 0
    task: Describes | None = field(default=None, repr=False, compare=False)
    predicted: dict[str, int] = field(default_factory=dict[str, int])
    by_node: dict[int, tuple[float, ...]] = field(
        default_factory=dict[int, tuple[float, ...]], repr=False, compare=False
    )
    lost: dict[str, tuple[int, str | None]] = field(default_factory=dict[str, tuple[int, str | None]])
    unclosed: str | None = None
    hung: tuple[str, ...] = ()
    explained: tuple[str, ...] = ()  # of a loaded result: what was explained when the task was at hand
    saved_of: str | None = field(default=None, repr=False, compare=False)  # of a loaded result: its task, `module:Name`

    @classmethod
    def of(cls, search: Search[S, A]) -> SearchResult[S, A]:
        """The state of `search` as it is now."""
        best, closed = search.best(), search.closed
        account = search.account
        checked = account.foreseen + account.unforeseen
        closing = closed if isinstance(closed, Answered) else None
        dump = getattr(search.controller, "dump", None)
        return cls(
            status=search.status,
            ended=search.ended,
            best=best,
            tree=search.tree,
            spent=search.spent.usage(),
            spent_by={role: tally.usage() for role, tally in search.by_role.items() if tally.calls or tally.seconds},
            unread={role: count for role, count in account.unread.items() if count},
            failed=account.failed,
            errors=dict(account.errors),
            clamped=account.clamped,
            rating=search.rating,
            controller=dump() if dump is not None else {"kind": type(search.controller).__name__},
            answer=closing.fields if closing is not None else best.answer,
            reward=closing.reward if closing is not None else None,
            feedback=closing.feedback if closing is not None else None,
            lost=account.lost,
            unclosed=search.unclosed,
            by_node=account.by_node,
            predicted={"right": account.foreseen, "wrong": account.unforeseen} if checked else {},
        )

    @property
    def solved(self) -> bool:
        """Code verified the answer."""
        return self.status is SearchStatus.SOLVED

    @property
    def path(self) -> list[str]:
        """The actions from the root to `best`, as text."""
        return self.steps(self.best)

    def steps(self, node: Node[S, A]) -> list[str]:
        """The actions from the root to `node`, as text."""
        return [self.shown(n) for n in self.tree.path(node)[1:]]

    def shown(self, node: Node[S, A]) -> str:
        """The action of `node` as text: in the task's words, but for what it could not read itself."""
        action: Any = node.action
        said = isinstance(action, str) and (bool(self.explained) or node.status in (ILLEGAL, FAILED))
        return str(action) if self.task is None or said else self.task.show(action)

    @property
    def refuted(self) -> bool:
        """Code, or the environment, judged `best` to be finished and no solution."""
        return self.best.status is TERMINAL and self.best.reason == WRONG

    @property
    def value(self) -> float | None:
        """The value of `best`: on the rating's scale, times its samples where they are summed."""
        return self.best.value

    @property
    def world_accuracy(self) -> float | None:
        """The share of checked predictions of a world model that were right, 0 to 1; None where none was checked."""
        checked = sum(self.predicted.values())
        return self.predicted["right"] / checked if checked else None

    @property
    def first_error(self) -> str | None:
        return next(iter(self.errors), None)

    @property
    def nodes_evaluated(self) -> int:
        """Nodes that were rated."""
        return sum(1 for node in self.tree if node.ratings)

    def top(self, k: int = 5) -> list[Node[S, A]]:
        """The `k` best candidates: solved, then other finished ones, then unfinished ones; each group by value."""
        rank = {SOLVED: 0, TERMINAL: 1, OPEN: 2, EXPANDED: 2}
        usable = [n for n in self.tree if n.id and n.status in rank]
        return sorted(usable, key=lambda n: (rank[n.status], -value(n), -n.depth, n.id))[:k]

    @property
    def collapsed(self) -> tuple[int, int]:
        """How many groups of siblings rated together hardly differ in value, and of how many groups."""
        spread = 0.01 * (self.rating.high - self.rating.low) * self.rating.scale
        groups = alike = 0
        for node in self.tree:
            if len(node.children) < 2:
                continue
            values = [v for c in self.tree.children(node) if c.ratings and (v := c.value) is not None]
            if len(values) > 1:
                groups += 1
                alike += max(values) - min(values) <= spread
        return alike, groups

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes this result worth less than it looks."""
        from .explain import warnings

        return tuple(warnings(self))

    def summary(self) -> str:
        """One line: status, why it ended, spending, path. Nothing in it is obeyed by a terminal."""
        spent = _count(self.spent.calls, "call")
        if self.spent.tokens:
            spent += f", {self.spent.tokens:,} tokens"
        if self.spent.cost:
            spent += f", ${self.spent.cost:.4f}"
        steps = " -> ".join(one_line(step, LONGEST) for step in self.path) or "(no step)"
        ended = "" if self.solved else f" ({self.ended or 'not ended'})"
        return f"{self.status}{ended}: {steps} [{spent}, {_count(len(self.tree), 'node')}]"

    def explain(self) -> str:
        """A few lines on what went wrong or right, from counts, and what to change first. No terminal obeys it."""
        from .explain import explain

        return "\n".join(one_line(line) for line in self.explained or explain(self))

    def save(self, path: str | Path) -> None:
        """Write this result as one JSON file. Raises TypeError for a state that cannot be written."""
        from .saving import save

        save(self, Path(path))

    @staticmethod
    def load(path: str | Path, task: Describes | None = None) -> SearchResult[Any, Any]:
        """Read a saved result; `task` turns states back into its own. Never runs code from the file.

        Raises ValueError, with what is wrong, for a file that is no saved result, or one whose states another task
        wrote.
        """
        from .saving import load

        return load(Path(path), task)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A search whose task cannot be pickled (tools, a function of a notebook) is pickled as it is saved."""
        if self.task is not None and not _can_be_pickled(self.task):
            from .saving import restored, text_of

            return restored, (text_of(self),)
        return object.__reduce_ex__(self, protocol)

    def __deepcopy__(self, memo: dict[int, Any]) -> SearchResult[S, A]:
        copied = type(self)(**{f.name: deepcopy(getattr(self, f.name), memo) for f in fields(self)})
        memo[id(self)] = copied
        return copied

    def replace(self, **changes: Any) -> SearchResult[S, A]:
        """A copy with some fields changed."""
        return replace(self, **changes)

    def status_counts(self) -> dict[str, int]:
        """How many nodes have each status."""
        counts: dict[str, int] = {}
        for node in self.tree:
            counts[node.status.value] = counts.get(node.status.value, 0) + 1
        return counts

    def rules_broken(self) -> dict[str, int]:
        """The rules that illegal proposals broke, most often broken first."""
        counts: dict[str, int] = {}
        for node in self.tree:
            if node.status is ILLEGAL:
                counts[str(node.reason)] = counts.get(str(node.reason), 0) + 1
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    def duplicates(self) -> int:
        return sum(1 for node in self.tree if node.status is DUPLICATE)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _can_be_pickled(task: Any) -> bool:
    try:
        pickle.dumps(task)
    except Exception:  # whatever its parts raise
        return False
    return True
