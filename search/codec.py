"""Requests and replies as JSON lines, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from .protocol import (
    Answer,
    Answered,
    Ask,
    Failed,
    Illegal,
    Outcome,
    Propose,
    Proposed,
    Rate,
    Rated,
    Reflect,
    Reflected,
    Reply,
    Request,
    Step,
    Stepped,
    Unread,
    Usage,
)


def _same(value: Any) -> Any:
    return value


class Recorded(NamedTuple):
    """A line of a journal. reply None: code's, which gives it again. about: the mark of the request's nodes."""

    request: Request
    attempt: int
    about: int | None
    reply: Reply | None


@dataclass(frozen=True, slots=True)
class Codec:
    """How a task's states, and a program's output fields, are written as JSON values and read again."""

    dump_state: Callable[[Any], Any] = _same
    load_state: Callable[[Any], Any] = _same
    key: Callable[[Any], Any] = _same  # a key need not be JSON; it is a function of the state, but for those below
    dump_fields: Callable[[dict[str, Any]], Any] = _same
    load_fields: Callable[[Any], dict[str, Any]] = _same
    dump_key: Callable[[Any], Any] | None = None  # of an environment's keys, which only the step itself knows
    load_key: Callable[[Any], Any] = _same
    show: Callable[[Any], tuple[str | None, str | None]] | None = None  # a node's action and state, for people

    def write(self, ask: Ask, reply: Reply) -> dict[str, Any]:
        """One line, its call records last. Raises TypeError for what would not be read as the same again."""
        line: dict[str, Any] = {"ask": _write_request(ask.request), "attempt": ask.attempt}
        if ask.about is not None:
            line["about"] = ask.about
        if reply.by_code:
            return line | {"code": True}
        usage = reply.usage
        line["reply"] = self._write_outcome(reply.outcome)
        line["usage"] = [usage.calls, usage.tokens, usage.cost, usage.seconds]
        if reply.records:
            line["calls"] = list(reply.records)
        return line

    def read(self, line: dict[str, Any], records: Sequence[dict[str, Any]] | None = None) -> Recorded:
        """The line again. records: those of its calls, where they are no part of `line`.

        Raises ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError on a wrong line.
        """
        request, attempt, about = _read_request(line["ask"]), _count(line["attempt"]), line.get("about")
        if line.get("code"):
            return Recorded(request, attempt, about, None)
        calls, tokens, cost, seconds = line["usage"]
        usage = Usage(_count(calls), _count(tokens), _amount(cost), _amount(seconds))
        found = list(line.get("calls", ())) if records is None else records
        return Recorded(request, attempt, about, Reply(self._read_outcome(line["reply"]), usage, found))

    def _write_outcome(self, outcome: Outcome) -> list[Any]:
        match outcome:
            case Proposed(actions, priors):
                return ["proposed", [_plain(a) for a in actions], None if priors is None else list(priors)]
            case Rated(values, verdicts, clamped, settled):
                rated = ["rated", list(values), None if verdicts is None else list(verdicts), clamped]
                return [*rated, True] if settled else rated
            case Stepped():
                flags = [outcome.solved, outcome.claimed, outcome.terminal, outcome.missed, outcome.unjudged]
                state, key = self.dump_state(outcome.state), self._write_key(outcome.key)
                stepped = ["stepped", state, key, flags, outcome.reward, outcome.value, outcome.observation]
                return stepped if outcome.foreseen is None else [*stepped, outcome.foreseen]
            case Illegal():
                return ["illegal", outcome.rule, *([] if outcome.foreseen is None else [outcome.foreseen])]
            case Reflected(lesson):
                return ["reflected", lesson]
            case Answered(fields, verified, rule, reward, feedback):
                return ["answered", self.dump_fields(fields), verified, rule, reward, feedback]
            case Unread(text, value, why):
                return ["unread", text] if value is None and why is None else ["unread", text, value, why]
            case Failed(error, fatal, transient, retry_after):
                return ["failed", error, fatal, transient, retry_after]
            case _:
                raise TypeError(f"{outcome!r} is not written to a journal")

    def _write_key(self, key: Any) -> bool | list[Any]:
        if key is None or self.dump_key is None:
            return key is not None
        return [self.dump_key(key)]

    def _read_outcome(self, parts: list[Any]) -> Outcome:
        kind, *rest = parts
        match kind:
            case "proposed":
                actions, priors = rest
                return Proposed(tuple(actions), None if priors is None else tuple(map(float, priors)))
            case "rated":
                values, verdicts, clamped, *settled = rest
                words = None if verdicts is None else tuple(verdicts)
                return Rated(tuple(map(float, values)), words, int(clamped), bool(settled and settled[0]))
            case "stepped":
                return self._read_stepped(rest)
            case "illegal":
                return Illegal(str(rest[0]), bool(rest[1]) if rest[1:] else None)
            case "reflected":
                return Reflected(str(rest[0]))
            case "answered":
                fields, verified, rule, reward, feedback = rest
                return Answered(self.load_fields(fields), bool(verified), rule, reward, feedback)
            case "unread":
                text, value, why = (*rest, None, None)[:3]
                return Unread(str(text), None if value is None else float(value), None if why is None else str(why))
            case "failed":
                error, fatal, transient, retry_after = rest
                wait = None if retry_after is None else float(retry_after)
                return Failed(str(error), bool(fatal), bool(transient), wait)
            case _:
                raise ValueError(f"unknown outcome {kind!r}")

    def _read_stepped(self, rest: list[Any]) -> Stepped:
        written, keyed, flags, reward, value, observation, *told = rest
        state = self.load_state(written)
        solved, claimed, terminal, missed, unjudged = map(bool, flags)
        key = self.load_key(keyed[0]) if isinstance(keyed, list) else self.key(state) if keyed else None
        hash(key)
        foreseen = bool(told[0]) if told else None
        return Stepped(state, key, solved, claimed, terminal, missed, reward, value, observation, unjudged, foreseen)


def _plain(action: Any) -> Any:
    """`action`, if JSON gives it back as it is: a tuple would be read as a list, an enum as its value."""
    if action is None or type(action) in (str, int, float, bool):
        return action
    kind = type(action).__name__
    raise TypeError(f"the action {action!r} is a {kind}; propose text or numbers, and read them in code")


def _write_request(request: Request) -> list[Any]:
    match request:
        case Propose(node, n, sample, lessons):
            return ["propose", node, n, sample, lessons]
        case Rate(nodes, sample, rater):
            return ["rate", list(nodes), sample, rater]
        case Step(node):
            return ["step", node]
        case Reflect(node):
            return ["reflect", node]
        case Answer(node):
            return ["answer", node]


def _read_request(parts: list[Any]) -> Request:
    kind, *rest = parts
    match kind:
        case "propose":
            node, n, sample, lessons = rest
            return Propose(_count(node), None if n is None else _count(n), _count(sample), _count(lessons))
        case "rate":
            nodes, sample, rater = rest
            return Rate(tuple(map(_count, nodes)), _count(sample), str(rater))
        case "step":
            return Step(*map(_count, rest))
        case "reflect":
            return Reflect(*map(_count, rest))
        case "answer":
            return Answer(*map(_count, rest))
        case _:
            raise ValueError(f"unknown request {kind!r}")


def _count(value: Any) -> int:
    """A whole number of a journal. Below 0 it would lift a ceiling."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def _amount(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < inf:
        raise ValueError(f"{value!r} is no amount")
    return float(value)
