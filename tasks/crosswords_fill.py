"""One step in a crossword, a word in a slot: as a model proposes it, and how sure it says that it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..search.protocol import Illegal
from .crosswords_board import SIZE, SLOTS

# What a proposal's word for its confidence is worth when samples are summed (Yao et al. 2023, the authors' code).
CONFIDENCE = {"certain": 1.0, "high": 0.5, "medium": 0.2, "low": 0.1}

NO_WORD = "no clue and word"
NO_CLUE = "no such clue"
NOT_FIVE = f"word not of {SIZE} letters"


@dataclass(frozen=True, slots=True)
class Fill:
    """slot: "h1" to "h5", "v1" to "v5". word: in lower case."""

    slot: str
    word: str

    def __str__(self) -> str:
        return f"{self.slot}. {self.word}"


_SURE = rf"(?P<sure>{'|'.join(CONFIDENCE)})"
_FILL = re.compile(
    r"\W*(?P<slot>[hv]\s?[0-9]{1,2}|[0-9]{1,2}\s?(?:across|down|h|v)\b)(?=\W)[\s.:)=*_-]{1,6}"
    rf"(?P<word>[a-z](?:[ -]?[a-z])*+)(?![a-z0-9])(?:[\s*_]*[([,:–-]\s?(?:confidence\W{{1,3}})?{_SURE}\b.*)?[\W_]*",
    re.IGNORECASE,
)


def _read(text: str) -> re.Match[str] | None:
    return _FILL.fullmatch(re.sub(r"[ \t]+", " ", text.strip()))


def read_fill(text: str) -> Fill | Illegal:
    """`h1. apart`, with or without `(certain)` behind it; also `1 across: APART`."""
    found = _read(text)
    if found is None:
        return Illegal(NO_WORD)
    slot = found["slot"].lower()
    across = slot.startswith("h") or slot.endswith(("across", "h"))
    slot = ("h" if across else "v") + re.sub(r"[^0-9]", "", slot)
    if slot not in SLOTS:
        return Illegal(NO_CLUE)
    word = re.sub(r"[ -]", "", found["word"]).lower()
    return Fill(slot, word) if len(word) == SIZE else Illegal(NOT_FIVE)


def confidence(text: str) -> float:
    """What a proposal says of its own confidence, 0 to 1; 0 where it says nothing."""
    found = _read(text)
    return CONFIDENCE[found["sure"].lower()] if found is not None and found["sure"] else 0.0


def ranked(samples: Iterable[Iterable[str]]) -> list[tuple[Fill, float]]:
    """The fills of several samples of proposals with their summed confidence, highest first; ties as they came.

    This is the order in which the paper's depth-first search tries them. What cannot be read is left out.
    """
    sums: dict[Fill, float] = {}
    for text in (text for sample in samples for text in sample):
        fill = read_fill(text)
        if not isinstance(fill, Illegal):
            sums[fill] = sums.get(fill, 0.0) + confidence(text)
    return sorted(sums.items(), key=lambda pair: pair[1], reverse=True)
