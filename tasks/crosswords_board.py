"""The 5x5 board of a mini crossword, as a text of 25 letters, row by row, `_` where there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

SIZE: Final = 5
BLANK: Final = "_"
EMPTY: Final = BLANK * SIZE * SIZE
SLOTS: Final = tuple(f"{direction}{place}" for direction in "hv" for place in range(1, SIZE + 1))
UNFILLED, FILLED, CHANGED = "012"  # the state of a clue's word, as the paper's code counts it


def word(board: str, slot: str) -> str:
    """The five letters of `h1` (the first row) to `v5` (the last column)."""
    place = int(slot[1]) - 1
    return board[place * SIZE : (place + 1) * SIZE] if slot[0] == "h" else board[place::SIZE]


def words(board: str) -> list[str]:
    """Those of all ten slots."""
    return [word(board, slot) for slot in SLOTS]


def written(board: str, slot: str, letters: str) -> str:
    """The board with these five letters in the slot, whatever was there."""
    place, cells = int(slot[1]) - 1, list(board)
    if slot[0] == "h":
        cells[place * SIZE : (place + 1) * SIZE] = letters
    else:
        cells[place::SIZE] = letters
    return "".join(cells)


def rows(board: str) -> str:
    """`A _ E _ _`, a row a line."""
    return "\n".join(" ".join(word(board, f"h{place}")) for place in range(1, SIZE + 1))


def read_board(text: str) -> str | None:
    """A board out of text that holds 25 letters or blanks, in any arrangement; None if it holds another number."""
    cells = re.sub(r"[^A-Za-z_]", "", text).upper()
    return cells if len(cells) == SIZE * SIZE else None


@dataclass(frozen=True, slots=True)
class Score:
    """How much of a board is right: shares of its 25 letters and 10 words, and whether all of it is."""

    letters: float
    words: float
    game: bool


def score(board: str, solution: str) -> Score:
    """A board, or an answer that shows one, against the solution. An answer that shows none is worth nothing."""
    right = read_board(solution)
    if right is None:
        raise ValueError(f"solution={solution!r}: must hold {SIZE * SIZE} letters")
    said = read_board(board) or EMPTY
    letters = sum(a == b for a, b in zip(said, right, strict=True))
    whole = sum(a == b for a, b in zip(words(said), words(right), strict=True))
    return Score(letters / len(right), whole / len(SLOTS), said == right)
