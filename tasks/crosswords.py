"""Mini crosswords: ten clues, a board of 5x5 letters, filled word by word.

Source: Yao et al. 2023, "Tree of Thoughts", arXiv 2305.10601, section 4.3. Its search is depth-first: the surest words
first, a board with an impossible clue is left, and what is filled may not be changed.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..search.protocol import Illegal
from .crosswords_board import BLANK, CHANGED, EMPTY, FILLED, SLOTS, UNFILLED, rows, words, written
from .crosswords_fill import Fill, read_fill
from .layout import brief
from .task import Task

THERE = "word already there"
CHANGES = "changes a letter of another word"
MEND = "give ten, across then down: a list, a mapping of h1 to v5, or text with a line such as `h1. ..` for each"


@dataclass(frozen=True, slots=True)
class CrosswordsState:
    """board: 25 letters, row by row, `_` where there is none. status: of the ten words, h1 to h5, v1 to v5.

    A status is "0" (nobody filled it in, though its letters may all be there), "1" (filled in), or "2" (a letter that
    it had was changed: no legal state).
    """

    board: str = EMPTY
    status: str = UNFILLED * len(SLOTS)


@dataclass(frozen=True)
class Crosswords(Task[CrosswordsState, Fill]):
    """Reads `clues` (a list of ten, a mapping of h1 to v5, or text), gives `board`: five lines of letters.

    repeats: a word that is there already may be filled in again, also on a full board, as in the paper's code.
    clues: of the puzzle that this copy is about, h1 to v5; `for_inputs` sets them.
    Nothing here knows whether a word fits its clue, so no board is proved to be right: compare it with `score`.
    """

    repeats: bool = False
    clues: tuple[str, ...] | None = None

    signature = "clues -> board"

    def config(self) -> dict[str, Any]:
        return {"repeats": self.repeats}

    def instructions(self) -> str:
        return (
            "Fill in a crossword of five rows (h1 to h5, from the top) and five columns (v1 to v5, from the left); "
            "each word has five letters. A step fills in one word: write it as `h1. stone (certain)`, with certain, "
            "high, medium or low for how sure you are, the surest steps first. Letters that are on the board already "
            "must stay. A board is impossible if for any one of its clues no word fits the letters that are there. "
            "The answer is the board, five lines of five letters."
        )

    def for_inputs(self, inputs: Mapping[str, Any]) -> Crosswords:
        return replace(self, clues=read_clues(inputs))

    def initial(self, inputs: Mapping[str, Any]) -> CrosswordsState:
        read_clues(inputs)
        return CrosswordsState()

    def parse(self, text: str, state: CrosswordsState) -> Fill | Illegal:
        return read_fill(text)

    def write(self, action: Fill, state: CrosswordsState) -> str:
        """`h1. stone (certain)`: an example is of what is known."""
        return f"{action} (certain)"

    def apply(self, state: CrosswordsState, action: Fill) -> CrosswordsState | Illegal:
        """The word is written over what was there; a word that has lost a letter by it counts as changed."""
        board = written(state.board, action.slot, action.word.upper())
        at = SLOTS.index(action.slot)
        if board == state.board and not self.repeats:
            return Illegal(THERE)
        status = [
            CHANGED if any(a not in (b, BLANK) for a, b in zip(old, new, strict=True)) else was
            for was, old, new in zip(state.status, words(state.board), words(board), strict=True)
        ]
        status[at] = FILLED
        return CrosswordsState(board, "".join(status))

    def rules(self, state: CrosswordsState) -> Iterable[str]:
        return (CHANGES,) if CHANGED in state.status else ()

    def key(self, state: CrosswordsState) -> Hashable:
        return state.board

    def is_terminal(self, state: CrosswordsState) -> bool:
        """A full board is finished: no letter of it may change."""
        return BLANK not in state.board and not self.repeats

    def patterns(self, state: CrosswordsState, known: int = 0) -> list[str]:
        """A line a clue, `h1. To dry up: A _ E _ _`, of those with at least `known` letters on the board."""
        clues = self.clues or ("",) * len(SLOTS)
        return [
            f"{slot}. {clue}: {' '.join(word)}"
            for slot, clue, word in zip(SLOTS, clues, words(state.board), strict=True)
            if len(word) - word.count(BLANK) >= known
        ]

    def render(self, state: CrosswordsState) -> str:
        lines = list(zip(self.patterns(state), words(state.board), strict=True))
        left = [line for line, word in lines if BLANK in word]
        done = [line for line, word in lines if BLANK not in word]
        parts = (("Board", [rows(state.board)]), ("Not complete", left), ("Complete", done))
        return "\n\n".join("\n".join([f"{title}:", *found]) for title, found in parts if found)

    def answer(self, state: CrosswordsState) -> dict[str, Any]:
        return {"board": rows(state.board)}


def read_clues(inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """The ten clues in `inputs["clues"]`, h1 to v5. ValueError, with the mend, for anything else."""
    if "clues" not in inputs:
        raise ValueError(f"inputs={brief(dict(inputs))} has no field `clues`; {MEND}")
    given = inputs["clues"]
    if isinstance(given, str):
        given = _of_text(given)
    if isinstance(given, Mapping):
        named = {str(name).strip().lower(): clue for name, clue in given.items()}
        if missing := [slot for slot in SLOTS if slot not in named]:
            raise ValueError(f"clues: there is none for {', '.join(missing)}; {MEND}")
        given = [named[slot] for slot in SLOTS]
    if not isinstance(given, Sequence) or len(given) != len(SLOTS):
        count = f"there are {len(given)}" if isinstance(given, Sequence) else f"{brief(given)} is no list"
        raise ValueError(f"clues: {count}; {MEND}")
    for slot, clue in zip(SLOTS, given, strict=True):
        if not isinstance(clue, str) or not clue.strip():
            raise ValueError(f"clues: {slot} is {brief(clue)}; {MEND}")
    return tuple(" ".join(clue.split()) for clue in given)


def _of_text(text: str) -> dict[str, str] | list[str]:
    """Clues by slot where lines begin with one, else the lines."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [re.fullmatch(r"\W{0,3}([hv][1-5])\s?[.:)]+\s*(.*)", line, re.IGNORECASE) for line in lines]
    if any(named):
        return {match[1].lower(): match[2] for match in named if match}
    return lines
