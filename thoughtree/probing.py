"""One state of a task, put to every hook: what each says, and where two of them disagree."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from .search.protocol import Illegal
from .tasks.stepping import accepts, parse
from .tasks.task import Task

MISSING: Any = object()  # the result of a hook that raised, or returned None where it must not
MOST = 1000  # moves of one state, or rules that it breaks, that are looked at


@dataclass(frozen=True, slots=True)
class Seen:
    """A state as its hooks describe it.

    verdicts: what states with the same key must agree on. moves, proposed: the actions that the task lists,
    and those read from given texts, by what `show` writes of them.
    """

    state: Any
    shown: str
    key: Any
    verdicts: dict[str, Any]
    moves: dict[str, Any]
    proposed: dict[str, Any]

    @property
    def where(self) -> str:
        return f"in state {self.shown!r}"


class Probe:
    """Asks the hooks of one task, and collects what is wrong: of each kind the first case, and a count."""

    def __init__(self, task: Task[Any, Any], proposals: Callable[[Any], Iterable[str]] | None = None) -> None:
        self.task = task
        self.proposals = proposals
        self._cases: dict[str, dict[str, None]] = {}  # per kind of problem, in the order found

    @property
    def problems(self) -> list[str]:
        told = []
        for kind, cases in self._cases.items():
            more = f" (and {len(cases) - 1} more like it)" if len(cases) > 1 else ""
            told.append(f"{kind}: {next(iter(cases))}{more}")
        return told

    def report(self, kind: str, detail: str) -> None:
        self._cases.setdefault(kind, {})[detail] = None

    def ask(self, hook: str, where: str, call: Callable[..., Any], *args: Any, may_be_none: bool = False) -> Any:
        """What a hook says; an Illegal that it raises is what it says. MISSING, and a problem, if nothing."""
        try:
            result = call(*args)
        except Illegal as verdict:
            return verdict
        except Exception as error:  # whatever it is, it is what this looks for
            self.report(f"{hook} raises {type(error).__name__}", f"{error} ({where})")
            return MISSING
        if result is None and not may_be_none:
            self.report(f"{hook} returns None", where)
            return MISSING
        return result

    def look(self, state: Any) -> Seen:
        """Put `state` to every hook."""
        task = self.task
        shown = self.ask("render", repr(state), task.render, state)
        where = f"in state {shown!r}"
        key = self._key(state, where)
        self._survives(state, where)
        verdicts: dict[str, Any] = {"rules": self.rules(state, where)} if task.has("rules") else {}
        for hook in ("is_goal", "is_terminal", "value", "solvable"):
            if task.has(hook):
                ask = getattr(task, hook)
                verdicts[hook] = self.ask(hook, where, ask, state, may_be_none=hook == "solvable")
        moves = self._moves(state, where)
        if task.has("moves"):
            verdicts["moves"] = sorted(moves)
        verdicts = {hook: result for hook, result in verdicts.items() if result is not MISSING}
        self._agree(state, verdicts, where)
        return Seen(state, shown, key, verdicts, moves, self._proposed(state, where))

    def rules(self, state: Any, where: str) -> Any:
        """The rules that `state` breaks, or MISSING."""
        broken = self.ask("rules", where, self.task.rules, state)
        if isinstance(broken, str):
            self.report("rules returns a text", f"{broken!r}; it must return a list ({where})")
            return MISSING
        first = broken if broken is MISSING else self.ask("rules", where, _first, broken)
        return first if first is MISSING else self.ask("rules", where, sorted, first)

    def answers(self, state: Any, where: str) -> None:
        """What a search gives that solves nothing: the fields of its best state, which is any but the first."""
        if self.task.has("answer"):
            fields = self.ask("answer", where, self.task.answer, state)
            if fields is not MISSING and not isinstance(fields, Mapping):
                self.report("answer returns no dict", f"{fields!r} ({where})")

    def fingerprint(self, state: Any) -> tuple[str, ...]:
        """All that can be told of a state, as text, which a later change of the state cannot reach."""
        parts = []
        for hook in (self.task.key, self.task.render, self._json):
            try:
                parts.append(repr(hook(state)))
            except Exception as error:  # reported by `look`
                parts.append(type(error).__name__)
        return tuple(parts)

    def _json(self, state: Any) -> str:
        return json.dumps(self.task.dump(state))

    def _key(self, state: Any, where: str) -> Any:
        key, again = (self.ask("key", where, self.task.key, state, may_be_none=True) for _ in range(2))
        if key is MISSING or again is MISSING:
            return MISSING
        try:
            hash(key)
        except TypeError as error:
            self.report("key cannot be hashed", f"{error} ({where})")
            return MISSING
        if again != key:
            self.report("key is not deterministic", f"{key!r}, then {again!r} ({where})")
        return key

    def _survives(self, state: Any, where: str) -> None:
        """Does the state come back from disk?"""
        written = self.ask("dump", where, self._json, state)
        if written is MISSING:
            return
        back = self.ask("load", where, self.task.load, json.loads(written), may_be_none=state is None)
        if back is not MISSING and self.fingerprint(back) != self.fingerprint(state):
            self.report("a state does not survive dump and load", f"{state!r} comes back as {back!r}")

    def _moves(self, state: Any, where: str) -> dict[str, Any]:
        listed = self.ask("moves", where, self.task.moves, state) if self.task.has("moves") else ()
        moves = listed if listed is MISSING else self.ask("moves", where, _first, listed)
        return {} if moves is MISSING else self._shown(moves, where)

    def _proposed(self, state: Any, where: str) -> dict[str, Any]:
        texts = self.proposals(state) if self.proposals is not None else ()
        read = [self.ask("parse", where, parse, self.task, state, text) for text in texts]
        return self._shown([a for a in read if a is not MISSING and not isinstance(a, Illegal)], where)

    def _shown(self, actions: Iterable[Any], where: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for action in actions:
            text = self.ask("show", where, self.task.show, action)
            if text is not MISSING and found.setdefault(text, action) != action:
                self.report("show writes two actions alike", f"{text!r} ({where})")
        return found

    def _agree(self, state: Any, verdicts: dict[str, Any], where: str) -> None:
        """Do the verdicts on one state fit together?"""
        task, goal = self.task, bool(verdicts.get("is_goal"))
        if goal and verdicts.get("rules"):
            self.report("is_goal accepts a state that rules forbid", f"{verdicts['rules'][0]!r} ({where})")
        if "is_goal" in verdicts and task.has("check"):
            fields = self.ask("answer", where, task.answer, state)
            if fields is not MISSING and (goal or fields):
                accepted = self.ask("check", where, accepts, task, fields)
                if accepted is not MISSING and accepted != goal:
                    said = "accepts" if accepted else "refuses"
                    self.report(f"is_goal is {goal} but check {said} the answer", f"{fields!r} ({where})")
        if "is_terminal" in verdicts and "moves" in verdicts and not goal:
            terminal, moves = verdicts["is_terminal"], verdicts["moves"]
            if terminal and moves:
                self.report("is_terminal is true but there are moves", f"{moves[0]} ({where})")
            if not terminal and not moves:
                self.report("is_terminal is false but there are no moves", where)


def _first(listed: Iterable[Any]) -> list[Any]:
    """As much of a list as is looked at: it may have no end."""
    return list(islice(listed, MOST))
