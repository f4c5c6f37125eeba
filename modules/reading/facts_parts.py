"""The parts of a reply: the state as it was, the change, the first state predicted, and what was made up after it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .actions import normal

_OLD = r"(?:current|given|initial|previous|original|old|starting|before)"
_NEW = r"(?:new|next|resulting|predicted|updated|final|following|after)"
_TAG = r"state|action|change|changes|goal|plan|thought|reasoning|reward"
_SO = r"(?:(?:so|thus|therefore|hence|then),? )?(?:here is |this is )?"
_IS = r"(?: (?:is|would be|will be|becomes|looks like)(?: now| this| as follows)?)?"
_AFTER = (
    rf"(?:the )?{_NEW}(?: world)? state(?: of the world)?{_IS}"
    rf"|(?:the )?state(?: [0-9]{{1,3}})?(?: after[^:\n]{{0,60}})?{_IS}"
)
_WORD = r"action|change|changes|effects|reasoning|explanation|analysis|thought|check|preconditions?|note|goal"
_HEADING = re.compile(
    r"^[ \t>#*_-]{0,6}(?:"
    rf"\[\s?(?P<tag>{_TAG})\s?[0-9]{{0,3}}\s?\][*_]{{0,2}}\s?:?"
    rf"|(?P<old>(?:the )?{_OLD} state|(?:state )?before(?: the action)?|initially|previously)"
    rf"[*_]{{0,2}}\s?[0-9]{{0,3}}\s?[*_]{{0,2}}:"
    rf"|{_SO}(?P<new>{_AFTER}|facts|result|output|after[^:\n]{{0,60}})[*_]{{0,2}}\s?:"
    rf"|(?P<word>{_WORD})\s?[0-9]{{0,3}}\s?[*_]{{0,2}}:)[*_]{{0,2}}",
    re.IGNORECASE | re.MULTILINE,
)
_KINDS = {"changes": "change", "effects": "change"}


@dataclass(frozen=True, slots=True)
class Part:
    """kind: "text", "old", "state", "change", "action", or another heading's own word."""

    kind: str
    text: str


def parts(text: str) -> list[Part]:
    """The reply at its headings, in order; what stands before the first one is "text"."""
    found: list[Part] = []
    kind, start = "text", 0
    for heading in _HEADING.finditer(text):
        found.append(Part(kind, text[start : heading.start()].strip()))
        word = (heading["tag"] or heading["word"] or "").lower()
        kind = "old" if heading["old"] else "state" if heading["new"] else _KINDS.get(word, word)
        start = heading.end()
    found.append(Part(kind, text[start:].strip()))
    return [part for part in found if part.text]


def predicted(text: str, action: str) -> Part:
    """The part that says where `action` leads: the first state, else the first change, else what was said first.

    A reply that repeats the state and the action that it was shown, and then predicts, predicts the state after it.
    """
    found = parts(text)
    asked = [
        k for k, part in enumerate(found) if part.kind == "action" and action and normal(part.text) == normal(action)
    ]
    if asked and any(part.kind == "state" for part in found[asked[0] + 1 :]):
        found = found[asked[0] + 1 :]
    for kind in ("state", "change"):
        for part in found:
            if part.kind == kind:
                return part
    return next((part for part in found if part.kind == "text"), Part("text", ""))
