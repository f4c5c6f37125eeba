"""Which recorded request comes nearest to one that is not there, and in what the two differ.

All of the newest 20,000 are compared by what their texts have in common from either end, which takes some 10 us
each; the best few by `difflib`. The result goes into an error that a person reads.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from ..calls.redaction import redact
from .asked import Asked
from .errors import UnknownRequest

LOOKED_AT = 20_000  # requests
FEW = 8  # of them are looked at closely
CLOSELY = 2_000  # characters of each
BEFORE, BEHIND = 24, 40  # characters shown around the first difference
TOLD = 4  # differences


def unknown(recording: Any, lm: Any, asked: Asked) -> UnknownRequest:
    """The error for a request that is not in a recording."""
    shown = asked.shown(lm)
    place = "memory" if recording.path is None else repr(str(recording.path))
    text = f"no reply is recorded in {place} for this request, and a ReplayLM calls no model. "
    found = nearest(recording, shown)
    if found is None:
        return UnknownRequest(text + "The recording holds no reply at all; make some with RecordLM", model=lm.model)
    at, near = found
    told = list(differences(near, shown))
    more = f"; and {len(told) - TOLD} more" if len(told) > TOLD else ""
    what = "; ".join(told[:TOLD]) or "only what recordings leave out: a key, or the content of media"
    text += f"The nearest of {len(recording)} is line {recording.number(at)}; they differ in {what}{more}. "
    return UnknownRequest(
        text + f"To add it, run this with RecordLM(lm, {'recording' if recording.path is None else place})",
        model=lm.model,
    )


def nearest(recording: Any, shown: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
    """The place of the nearest recorded request, and what it asks; None: nothing is recorded."""
    wanted = _texts(shown)
    scored = (
        (_alike(wanted, _texts(asked)) + _same_settings(shown, asked), place, asked)
        for place, asked, _ in recording.replies(LOOKED_AT)
    )
    best = heapq.nlargest(FEW, scored, key=lambda entry: entry[:2])
    if not best:
        return None
    _, place, near = max(best, key=lambda entry: (_closely(wanted, _texts(entry[2])), entry[0], entry[1]))
    return place, near


def differences(there: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """What is other in two requests: the most telling first, and of the messages only the first that is other."""
    old, new = there["request"], now["request"]
    if old.get("model") != new.get("model"):
        yield _pair("model", old.get("model"), new.get("model"))
    for name in ("rollout_id", "n", "model_type"):
        if there.get(name) != now.get(name):
            yield _pair(name, there.get(name), now.get(name))
    before, after = _messages(old), _messages(new)
    if len(before) != len(after):
        yield f"the number of messages: {len(before)} there, {len(after)} now"
    for number, ((role, text), (_, other)) in enumerate(zip_longest(before, after, fillvalue=("", "")), 1):
        if text != other:
            yield _first(f"message {number} ({role or after[number - 1][0]})", text, other)
            break
    theirs, ours = old.get("config", {}), new.get("config", {})
    for name in sorted(theirs.keys() | ours.keys()):
        if theirs.get(name) != ours.get(name):
            yield _pair(name, theirs.get(name), ours.get(name))
    for name in sorted((old.keys() | new.keys()) - {"model", "config", "messages", "system"}):
        if old.get(name) != new.get(name):
            yield _first(name, _json(old.get(name)), _json(new.get(name)))


def _texts(asked: dict[str, Any]) -> list[str]:
    return [text for _, text in _messages(asked["request"])]


def _messages(request: dict[str, Any]) -> list[tuple[str, str]]:
    """Role and text of each message, the system's first. What is no text is shown as JSON."""
    system = request.get("system")
    found = [] if system is None else [("system", _text(system))]
    return found + [
        (str(message.get("role")), _text(message.get("parts", message.get("content"))))
        for message in request.get("messages", ())
    ]


def _text(parts: Any) -> str:
    if isinstance(parts, str):
        return parts
    if isinstance(parts, list):
        return "\n".join(
            part["text"] if isinstance(part, dict) and part.get("type") == "text" and "text" in part else _json(part)
            for part in parts
        )
    return _json(parts)


def _alike(wanted: list[str], other: list[str]) -> float:
    """From 0 to 1: which share of their texts is the same, counted from either end of each message."""
    same = total = 0
    for one, two in zip_longest(wanted, other, fillvalue=""):
        longer = max(len(one), len(two), 1)
        total += longer
        same += longer if one == two else _shared(one, two)
    return same / max(1, total)


def _same_settings(one: dict[str, Any], two: dict[str, Any]) -> float:
    """Far less than a word's difference: decides between equal texts."""
    names = ("rollout_id", "n", "model_type")
    same = sum(one.get(name) == two.get(name) for name in names)
    same += 2 * sum(one["request"].get(name) == two["request"].get(name) for name in ("model", "config", "tools"))
    return same * 1e-7


def _closely(wanted: list[str], other: list[str]) -> float:
    """The same, and how alike the words are behind the first difference."""
    for one, two in zip_longest(wanted, other, fillvalue=""):
        if one != two:
            start = _start(one, two)
            ours, theirs = (text[start : start + CLOSELY].split() for text in (one, two))
            return _alike(wanted, other) + SequenceMatcher(None, ours, theirs, autojunk=False).ratio() / 10
    return 2.0


def _shared(one: str, two: str) -> int:
    start = _start(one, two)
    return start + _start(one[start:][::-1], two[start:][::-1])


def _start(one: str, two: str) -> int:
    """How many characters they have in common from the start: by halving, since comparing slices is fast."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _first(name: str, there: str, now: str) -> str:
    """Two texts around the first place where they differ."""
    start = _start(there, now)
    return f"{name} from character {start}: {_cut(there, start)} there, {_cut(now, start)} now"


def _cut(text: str, start: int) -> str:
    begin, end = max(0, start - BEFORE), start + BEHIND
    shown = ("..." if begin else "") + text[begin:end] + ("..." if end < len(text) else "")
    return repr(redact(shown))


def _pair(name: str, there: Any, now: Any) -> str:
    return f"{name}: {_short(there)} there, {_short(now)} now"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "..."


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
