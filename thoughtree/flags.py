"""Options by the names that they have on the command line, also where an error knows them as arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable

ARGUMENTS = ("words", "data", "source")  # which are given without a name
BARE = r"(?=$|[\s,;:.)])"  # an argument that is named without a value


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def by_flags(message: str, names: Iterable[str]) -> str:
    """What is wrong with one of these options, told so that whoever typed it finds it there.

    Beam(width=0): must be 1, or None  --width 0: must be 1, or leave it out
    split='test': leave split= out     --split 'test': leave --split out
    """
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    if not known:
        return message
    told = re.sub(rf"^\w+\(({known})=([^()]*)\): ", lambda found: f"{flag(found[1])} {found[2]}: ", message)
    told = re.sub(rf"^({known})=(?=[^\s:])", lambda found: f"{flag(found[1])} ", told)
    if told != message:
        told = re.sub(r", or None( for [\w ]+)?$", ", or leave it out", told)
    return re.sub(rf"(?<![\w.(-])({known})={BARE}", lambda found: flag(found[1]), told)
