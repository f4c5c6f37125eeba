"""Predicted states in JSON, whatever its keys: each entry is put in words until the world's vocabulary knows them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from .facts_words import Stated, Vocabulary
from .values import Value

T = TypeVar("T")

_YES = "legal valid allowed possible islegal isvalid legalaction actionlegal success ok"
_LEGAL = frozenset(_YES.split())
_ILLEGAL = frozenset({"illegal", "invalid", "isillegal", "error", "errors"})
_STATUS = frozenset({"status", "result", "verdict", "legality", "outcome"})
_WHY = "reason why explanation message error because rationale note notes reasoning"
_REASON = frozenset(_WHY.split())
_MET = "goalmet goalreached goalachieved goalsatisfied done solved finished isgoal goal"
_DONE = frozenset(_MET.split())
_ASIDE = "action step plan goals thought confidence id previousstate currentstate oldstate"
_OTHER = frozenset(_ASIDE.split())
_NEW = "add added adds addlist addeffects newfacts gained nowtrue becomestrue"
_ADDED = frozenset(_NEW.split())
_GONE = "delete deleted deletes del remove removed removes lost nolongertrue deletelist deleteeffects"
_REMOVED = frozenset(_GONE.split())
_CONTAINERS = "facts fact state newstate nextstate predictedstate resultingstate list items"
_LISTS = frozenset(_CONTAINERS.split())
_UNCHANGED = frozenset({"changed", "change", "changes"})
_PREDICATE, _ARGUMENTS = ("predicate", "relation", "fact", "name"), ("args", "arguments", "objects", "params")
_ABOVE, _BELOW = ("top", "upper", "above"), ("bottom", "lower", "below", "under", "on")
_THING = ("block", "object", "name", "id")
_MOST = 500  # entries that are read


@dataclass(slots=True)
class Entries:
    """What an object says. illegal: why, if it says so. delta: it lists what was added and removed."""

    statements: list[Stated] = field(default_factory=list[Stated])
    removed: list[str] = field(default_factory=list[str])
    illegal: str | None = None
    done: bool | None = None
    unchanged: bool = False
    delta: bool = False
    unread: int = 0


def entries(value: Value, given: Collection[str], vocabulary: Vocabulary) -> Entries:
    found = Entries()
    if isinstance(value, dict):
        value = _without_flags(value, found)
    for place, (keys, leaf) in enumerate(_leaves(value, ())):
        if place >= _MOST:
            break
        section = {_key(key) for key in keys}
        stated = _stated(keys, leaf, given, vocabulary, deltas=bool(section & (_ADDED | _REMOVED)))
        found.unread += not stated
        if section & _REMOVED:
            found.removed += [each.fact for each in stated]
        else:
            found.statements += stated
        found.delta |= bool(section & (_ADDED | _REMOVED))
    return found


def truth(value: Value) -> bool | None:
    """What a flag says: the text "False" is false; None for what is no answer."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        return bool(value)
    said = value.strip(" .!").lower() if isinstance(value, str) else ""
    if re.match(r"(?:true|yes|legal|valid|ok|met|reached|success|1)\b", said):
        return True
    return False if re.match(r"(?:false|no|not|illegal|invalid|unmet|0|fail\w*|impossible)\b", said) else None


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _without_flags(value: dict[str, Value], found: Entries) -> dict[str, Value]:
    """The object without what it says about the action as a whole, which goes into `found`."""
    kept: dict[str, Value] = {}
    reasons = [said for name, said in value.items() if _key(name) in _REASON and isinstance(said, str) and said.strip()]
    for name, said in value.items():
        key, flag = _key(name), truth(said) if not isinstance(said, list | dict) else None
        if key in _LEGAL and flag is not None:
            bad = not flag
        elif key in _ILLEGAL and not isinstance(said, list | dict):
            bad = bool(said) and flag is not False and str(said).strip().lower() not in ("none", "null", "")
        elif key in _STATUS and isinstance(said, str):
            bad = flag is False
        elif key in _DONE and not isinstance(said, list | dict):
            found.done, bad = flag if found.done is None else found.done, False
        elif key in _UNCHANGED and flag is False:
            found.unchanged, bad = True, False
        elif key in _REASON or key in _OTHER:
            bad = False
        elif isinstance(said, dict) and key not in _ADDED | _REMOVED:
            kept[name], bad = _without_flags(said, found), False
        else:
            kept[name], bad = said, False
        if bad and found.illegal is None:
            found.illegal = f"illegal: {reasons[0]}" if reasons else "illegal"
    return kept


def _leaves(value: Value, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Value]]:
    """(keys, value) of all that is no container, a relation given as predicate and arguments in one text."""
    if isinstance(value, dict):
        named = {_key(name): said for name, said in value.items()}
        predicate, arguments = _first(named, _PREDICATE, str), _first(named, _ARGUMENTS, list)
        above, below = _first(named, _ABOVE, str), _first(named, _BELOW, str)
        if predicate is not None and arguments is not None:
            yield keys, " ".join(map(str, [predicate, *arguments]))
        elif above is not None and below is not None:
            yield (*keys, above, "on"), below
        elif (name := _first(named, _THING, str)) is not None and len(value) > 1:
            yield from _leaves({key: said for key, said in value.items() if said != name}, (*keys, name))
        else:
            for key, said in value.items():
                yield from _leaves(said, (*keys, key))
    elif isinstance(value, list):
        texts = [part for part in value if isinstance(part, str)]
        if len(texts) == len(value) in (2, 3) and keys and keys[-1] == "[]":  # a list in a list is one relation
            yield keys[:-1], " | ".join(texts)
            return
        for part in value:
            yield from _leaves(part, (*keys, "[]") if isinstance(part, list) else keys)
    else:
        yield keys, value


def _first(named: dict[str, Value], keys: tuple[str, ...], kind: type[T]) -> T | None:
    return next((said for key in keys if isinstance(said := named.get(key), kind)), None)


def _stated(
    keys: tuple[str, ...], leaf: Value, given: Collection[str], vocabulary: Vocabulary, deltas: bool
) -> list[Stated]:
    """The facts that one entry states, read from the first wording in which it says any."""
    if isinstance(leaf, float):
        leaf = f"{leaf:g}"
    elif isinstance(leaf, str) and leaf.strip().lower() in ("true", "false", "yes", "no"):
        leaf = bool(truth(leaf))
    names = [
        name.replace("_", " ") for name in keys if name != "[]" and not (deltas and _key(name) in _ADDED | _REMOVED)
    ]
    for wording in _wordings(names, leaf, vocabulary.names(given)):
        said = vocabulary.said(wording, given)
        if said.statements and not said.unread:
            denied = leaf is False
            return [each if not denied else _Denied(each.fact) for each in said.statements]
    return []


@dataclass(frozen=True, slots=True)
class _Denied:
    fact: str
    holds: bool = False


def _wordings(names: list[str], leaf: Value, things: Collection[str]) -> Iterator[str]:
    """Ways to say one entry in words, the likelier first: `red on table` of {"on_table": ["red"]}.

    things: what the world's facts are about. None: its facts are texts as they stand.
    """
    inner, outer = names[-1] if names else "", names[-2] if len(names) > 1 else ""
    if isinstance(leaf, bool):
        yield from (text for text in (f"{inner} {outer}", f"{outer} {inner}", inner) if text.strip())
        return
    item = "nothing" if leaf is None or str(leaf).strip().lower() in ("", "none", "null") else str(leaf)
    if " | " in item:
        first, *rest = item.split(" | ")
        yield from (" ".join([first, *rest]), f"{first} {inner} {' '.join(rest)}", f"{inner}: {item}")
        return
    if not things:
        yield item if _key(inner) in _LISTS or not inner else f"{inner} {item}"
        return
    if item != "nothing":
        yield item
    if not inner:
        return
    if inner.lower() in things:
        yield from (f"{inner} {item}", f"{inner} {outer} {item}", f"{inner} on {item}")
    elif outer.lower() in things:
        yield from (f"{outer} {inner} {item}", f"{outer} {item}", f"{outer} on {item}")
    yield from (f"{item} {inner}", f"{inner}: {item}")
