"""One action out of a reply that goes on by itself: later turns, with observations that nobody made."""

from __future__ import annotations

import re

_LABEL = r"[*_#]{{0,4}}(?:{names})[ \t]?[0-9]{{0,3}}[*_]{{0,2}}[ \t]?:[*_]{{0,2}}[ \t]*"
_START = r"^[ \t]{0,8}"
_ANYWHERE = r"(?:^|(?<=\s))"


def _pattern(place: str, names: str) -> re.Pattern[str]:
    return re.compile(place + _LABEL.format(names=names), re.IGNORECASE | re.MULTILINE)


_OBSERVATION = {place: _pattern(place, "observation|obs") for place in (_START, _ANYWHERE)}
_ACTION = {place: _pattern(place, "action") for place in (_START, _ANYWHERE)}
_TURN = {place: _pattern(place, "thought|action|observation|obs") for place in (_START, _ANYWHERE)}


def first_action(text: str, *, anywhere: bool = False) -> str:
    """The first action in `text`, without its label; "" if an observation comes first.

    Labels (`Action 2:`, `Observation:`) count at the start of a line; with `anywhere`, within one too.
    """
    place = _ANYWHERE if anywhere else _START
    observed = _OBSERVATION[place].search(text)
    said = text[: observed.start()] if observed else text
    label = _ACTION[place].search(said)
    said = said[label.end() :] if label else said
    following = _TURN[place].search(said)
    return (said[: following.start()] if following else said).strip()
