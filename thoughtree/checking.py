"""Does a task keep its own promises? A walk that reports every hook that disagrees with another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .probing import MISSING, Probe, Seen
from .search.protocol import Illegal
from .tasks.stepping import parse
from .tasks.task import Task


class TaskError(AssertionError):
    """What is wrong with a task: `problems`, one text each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(f"- {problem}" for problem in self.problems)


def check_task(
    task: Task[Any, Any],
    inputs: Mapping[str, Any],
    *,
    depth: int = 3,
    states: int = 200,
    proposals: Callable[[Any], Iterable[str]] | None = None,
) -> None:
    """Walk a task from its initial state, and raise TaskError with every kind of problem found.

    The walk follows `moves`, and the texts of `proposals(state)` where given, breadth first, for `depth`
    steps and at most `states` states; with neither, it looks at the initial state alone. It finds

    - hooks that raise, or return None; an answer that is no dict, of any state, as any may be the best there is;
    - a goal that `check` refuses or `rules` forbid, an answer that `check` accepts where `is_goal` says no;
    - a terminal state with moves, a state with none that is not terminal;
    - a key that cannot be hashed, or that is shared by states which differ;
    - moves that `apply` or `rules` refuse, or that `parse` does not read back from `show` or `write`;
    - an `apply` that changes the state it is given; an `apply` or a `key` with two results;
    - a state that `dump` and `load` do not bring back.
    """
    for name, number in (("depth", depth), ("states", states)):
        if number < 1:
            raise ValueError(f"{name}={number!r} must be at least 1")
    probe = Probe(task, proposals)
    root = _begin(probe, inputs)
    if root is not MISSING:
        _walk(probe, root, depth, states)
    if probe.problems:
        raise TaskError(probe.problems)


def _begin(probe: Probe, inputs: Mapping[str, Any]) -> Any:
    """The initial state, or MISSING."""
    where = f"inputs {dict(inputs)!r}"
    bound = probe.ask("for_inputs", where, probe.task.for_inputs, inputs)
    if bound is MISSING:
        return MISSING
    probe.task = bound
    root = probe.ask("initial", where, bound.initial, inputs)
    if isinstance(root, Illegal):
        probe.report("initial is illegal", f"{root.rule} ({where})")
        return MISSING
    return root


def _walk(probe: Probe, root: Any, depth: int, states: int) -> None:
    by_key: dict[Any, Seen] = {}
    queue = deque([(root, 0)])
    same: deque[tuple[Seen, int]] = deque()  # by their keys seen before: followed when nothing new is left to see
    while (queue or same) and states:
        states -= 1
        if queue:
            state, level = queue.popleft()
            seen = probe.look(state)
            first = seen if seen.key is MISSING or seen.key is None else by_key.setdefault(seen.key, seen)
            if first is not seen:
                _compare(probe, first, seen)
                same.append((seen, level))
                continue
        else:
            seen, level = same.popleft()
        if level < depth:
            ends = [_follow(probe, seen, text) for text in {**seen.moves, **seen.proposed}]
            queue.extend((end, level + 1) for end in ends if end is not MISSING)


def _follow(probe: Probe, seen: Seen, text: str) -> Any:
    """The state that the action shown as `text` leads to, or MISSING."""
    task, state, listed = probe.task, seen.state, text in seen.moves
    action = seen.moves[text] if listed else seen.proposed[text]
    where = f"{text!r} {seen.where}"
    before = probe.fingerprint(state)
    new = probe.ask("apply", where, task.apply, state, action)
    if probe.fingerprint(state) != before:
        probe.report("apply changes the state that it is given", where)
        return MISSING
    if new is MISSING:
        return MISSING
    again = probe.ask("apply", where, task.apply, state, action)
    if again is not MISSING and _outcome(probe, again) != _outcome(probe, new):
        probe.report("apply is not deterministic", where)
    if listed:
        read = probe.ask("parse", where, parse, task, state, text)
        if read is not MISSING and read != action:
            probe.report("parse does not read what show writes", f"{where} is read as {read!r}")
        _written(probe, state, action, where)
    if isinstance(new, Illegal):
        if listed:
            probe.report("apply refuses a move", f"{new.rule!r}, {where}")
        return MISSING
    return _within_rules(probe, new, where, listed)


def _written(probe: Probe, state: Any, action: Any, where: str) -> None:
    text = probe.ask("write", where, probe.task.write, action, state)
    if text is not MISSING and text != probe.task.show(action):
        read = probe.ask("parse", where, parse, probe.task, state, text)
        if read is not MISSING and read != action:
            probe.report("parse does not read what write writes", f"{text!r}, {where}, is read as {read!r}")


def _within_rules(probe: Probe, new: Any, where: str, listed: bool) -> Any:
    """`new`, or MISSING if it breaks a rule, which no move may lead to."""
    broken = probe.rules(new, f"after {where}")
    if broken is MISSING:
        return MISSING
    if not broken:
        probe.answers(new, f"after {where}")
        return new
    if listed:
        probe.report("rules forbid where a move leads", f"{broken[0]!r}, {where}")
    try:
        goal = bool(probe.task.is_goal(new))
    except Exception:  # no search asks `is_goal` about a forbidden state, so there it may fail
        goal = False
    if goal:
        probe.report("is_goal accepts a state that rules forbid", f"{broken[0]!r}, {where}")
    return MISSING


def _outcome(probe: Probe, result: Any) -> Any:
    return result if isinstance(result, Illegal) else probe.fingerprint(result)


def _compare(probe: Probe, first: Seen, second: Seen) -> None:
    """Do two states with the same key behave alike?"""
    where = f"states {first.shown!r} and {second.shown!r} share the key {first.key!r}"
    for hook in first.verdicts:
        if hook in second.verdicts and first.verdicts[hook] != second.verdicts[hook]:
            probe.report(f"key is equal but {hook} differs", where)
    for text, action in {**first.moves, **first.proposed}.items():
        if _key_after(probe, first, text, action) != _key_after(probe, second, text, action):
            probe.report("key is equal but a step leads elsewhere", f"{text!r}; {where}")
    if not first.verdicts and _words(first.shown) != _words(second.shown):
        probe.report("key is equal but render differs", where)  # nothing else in code tells them apart


def _key_after(probe: Probe, seen: Seen, text: str, action: Any) -> Any:
    where = f"{text!r} {seen.where}"
    new = probe.ask("apply", where, probe.task.apply, seen.state, action)
    if new is MISSING or isinstance(new, Illegal):
        return new
    return probe.ask("key", f"after {where}", probe.task.key, new, may_be_none=True)


def _words(shown: str) -> list[str]:
    """The words of a text, whatever their order, case and punctuation."""
    return sorted(word.strip(".,;:!?()[]") for word in shown.casefold().split())
