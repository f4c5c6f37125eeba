"""The next state out of a world model's reply (RAP, Hao et al. 2023, arXiv 2305.14992)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from . import facts_verdict as verdict
from .facts_objects import Entries, entries
from .facts_parts import Part, predicted
from .facts_words import Lines, Stated, Vocabulary
from .text import plain
from .values import values

Error = Literal["contradiction", "cut off", "incomplete", "unread"]
LINES = Lines()


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a world model says of an action.

    valid: there is a new state to go on from. state: that one; after an illegal action, or one that changes nothing,
    the state as it was; None if there is no telling. reason: why it is not valid, in words. error: what is wrong with
    the reply itself, which may be asked for again; None for a verdict about the action. noop: nothing changes.
    done: whether the reply says that the goal is met; None if it does not say.
    """

    valid: bool
    state: frozenset[str] | None
    reason: str | None = None
    error: Error | None = None
    noop: bool = False
    done: bool | None = None


def facts(
    reply: str | None,
    given: Collection[str],
    action: str = "",
    *,
    vocabulary: Vocabulary | None = None,
    cut: bool = False,
) -> Predicted:
    """The state that a reply predicts for `action` in the state `given`.

    It may list all facts, in any notation that the vocabulary knows, or in JSON; tell what changes; or say that the
    action is illegal and why. Of several states the first counts. vocabulary: of the world; None: each line is a fact.
    cut: the reply is known to have been cut off.
    """
    vocabulary = LINES if vocabulary is None else vocabulary
    said = plain(reply)
    if not said:
        return Predicted(False, None, "the reply is empty", "unread")
    before = frozenset(given)
    for whole in (True, False):
        for value, _, _ in values(said, whole=whole):
            read = entries(value, before, vocabulary)
            if read.statements or read.removed or read.illegal or read.unchanged:
                return _of_object(read, before, vocabulary, cut or not whole)
    done, said = verdict.goal(_TAGS.sub(" ", said), keep=not vocabulary.names(before))
    part = predicted(said, action)
    return _of_text(said, part, before, vocabulary, cut, done)


def _of_object(read: Entries, before: frozenset[str], vocabulary: Vocabulary, cut: bool) -> Predicted:
    if read.illegal:
        return Predicted(False, before, read.illegal, done=read.done)
    if cut:
        return Predicted(False, None, "the reply was cut off", "cut off", done=read.done)
    if read.unchanged and not read.statements:
        return _no_change(before, read.done)
    return _state(read.statements, read.removed, before, vocabulary, read.delta, read.done)


def _of_text(
    said: str, part: Part, before: frozenset[str], vocabulary: Vocabulary, cut: bool, done: bool | None
) -> Predicted:
    """The verdict, if the reply gives one before it predicts anything; else what it predicts."""
    told = said[: said.find(part.text)] if part.kind == "state" else said if part.kind == "text" else part.text
    if (why := verdict.illegal(told or said)) is not None:
        return Predicted(False, before, why, done=done)
    tells = bool(vocabulary.names(before))  # this world can be told of in words, and not only listed
    added, removed = _listed_change(part.text)
    text, later = _ARROW.sub(r"\g<who> was \g<old> and is now \g<new>", part.text), False
    if tells and added is None:
        text = _only_facts(text)
        if result := _RESULT.search(text):
            text, later = text[result.start() :], True
    delta = part.kind == "change" or added is not None
    read = vocabulary.said(text if added is None else added, before)
    gone = [each.fact for each in vocabulary.said(removed, before).statements] if removed else []
    stated = {each.fact for each in read.statements if each.holds}
    whole = len(stated) > (not tells) and vocabulary.lost(stated, before) is None
    if not whole and not delta and (why := verdict.unable(told)) is not None:
        return Predicted(False, before, why, done=done)
    if cut or read.dangling:
        return Predicted(False, None, "the reply was cut off", "cut off", done=done)
    if not whole and verdict.unchanged(said):
        return _no_change(before, done)
    if not read.statements and not gone:
        return Predicted(False, None, "the reply says no fact", "unread", done=done)
    delta = delta or (not whole and (later or verdict.rest_unchanged(said) or bool(_CHANGING.search(text))))
    return _state(read.statements, gone, before, vocabulary, delta, done)


# Where a reply that first goes over what holds comes to what will.
_RESULT = re.compile(
    r"(?:\A|(?<=[.!?:\n]))\s{0,3}(?:so,? |thus,? |then,? )?(?:after (?:this|that|the (?:action|move)|it|\w{4,12}ing)\b"
    r"|as a result\b|the (?:new|resulting|next|updated) state\b)",
    re.IGNORECASE,
)
_TAGS = re.compile(r"</?(?:answer|output|result|response|prediction|(?:next_|new_)?state|facts?)>", re.IGNORECASE)
# `hand: empty -> holding amber`
_ARROW = re.compile(
    r"(?P<who>[^:;,.\n]{1,60}): {0,3}(?P<old>[^:;,.\n>→]{1,60}?) {0,3}(?:[-=]+>|→|⇒) {0,3}(?P<new>(?=[^\s>]))"
)
_CHANGING = re.compile(
    r"\b(?:now|becomes?|no longer|anymore|goes from|leaves|stops? being|moves? (?:from|to)|changes)\b", re.IGNORECASE
)


def _state(
    statements: Sequence[Stated],
    gone: Sequence[str],
    before: frozenset[str],
    vocabulary: Vocabulary,
    delta: bool,
    done: bool | None,
) -> Predicted:
    """The state that these statements make: all of it, or what changes of the one before."""
    stated = frozenset(each.fact for each in statements if each.holds)
    denied = frozenset(gone) | {each.fact for each in statements if not each.holds}
    if stated & denied:
        return Predicted(False, None, f"it both states and denies {min(stated & denied)}", "contradiction", done=done)
    state = vocabulary.changed(before, stated, denied) if delta else stated
    why = vocabulary.clash(state, before)
    if why is None and delta and not (stated <= state and not denied & state):
        why = f"what it says of {min((stated - state) | (denied & state))} does not fit the rest"
    if why is not None:
        return Predicted(False, None, why, "contradiction", done=done)
    if (lost := vocabulary.lost(state, before)) is not None:
        return Predicted(False, None, lost, "incomplete", done=done)
    return _no_change(before, done) if state == before else Predicted(True, state, done=done)


def _no_change(before: frozenset[str], done: bool | None) -> Predicted:
    return Predicted(False, before, "nothing changes", noop=True, done=done)


_FACT = re.compile(
    r"[\s\-*•0-9.)]*((?:not )?(?:[a-z_-]{1,30}\([^()\n]{0,80}\)|\([a-z_-]{1,30}(?:[ ,][^()\n]{0,80})?\)|hand_?empty))"
    r"[\s,;.]*(?:(?:#|//|--|<-|←|\()[^\n]{0,100})?"
)
_SIGNED = re.compile(r"^[ \t]*(?P<sign>[-+−])[ \t]*(?=[\w(])", re.MULTILINE)
_LISTS = re.compile(
    r"^[ \t*]*(?:(?P<add>add(?:ed|s|itions)?|gain(?:ed|s)?|new facts|now true)|(?P<remove>remov(?:e|ed|es)"
    r"|delet(?:e|ed|es)|lost|no longer true|now false))\s?(?:list|effects|facts)?\s?:",
    re.IGNORECASE | re.MULTILINE,
)


def _only_facts(text: str) -> str:
    """The lines in formal notation, where there are several: what is said around them is talk."""
    lines = text.casefold().rstrip().split("\n")
    formal = [match[1] for line in lines if (match := _FACT.fullmatch(line))]
    if len(formal) < 2:
        return text
    return "\n".join(formal + ([lines[-1]] if lines[-1].count("(") > lines[-1].count(")") else []))


def _listed_change(text: str) -> tuple[str | None, str]:
    """(what was added, what was removed) of `+ a` and `- b` lines, or of lists with such headings; else (None, "")."""
    if any(match["sign"] == "+" for match in _SIGNED.finditer(text)):
        lines = [(match["sign"], line[match.end() :]) for line in text.split("\n") if (match := _SIGNED.match(line))]
        added, removed = ("\n".join(said for sign, said in lines if (sign == "+") is plus) for plus in (True, False))
        return added, removed
    headings = list(_LISTS.finditer(text))
    pieces: dict[bool, list[str]] = {True: [], False: []}
    for k, heading in enumerate(headings):
        end = headings[k + 1].start() if k + 1 < len(headings) else len(text)
        pieces[heading["add"] is not None].append(text[heading.end() : end])
    return ("\n".join(pieces[True]) if headings else None), "\n".join(pieces[False])
