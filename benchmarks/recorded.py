"""GPT-4's recorded replies, as the policy of another search: what it said when shown these very numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from thoughtree.tasks import Game24State
from thoughtree.tasks.notation import SIGNED, Number, nearest, plain, read_number

from .data import Puzzle, lines

REPLAY = "game24_gpt4_replay.jsonl"
POLICY = "game24_gpt4_policy.jsonl"
SURE, LIKELY, IMPOSSIBLE = 20.0, 1.0, 0.001


def recorded_puzzles(data: Path) -> list[dict[str, Any]]:
    return list(lines(data / REPLAY))


def puzzle_of(row: dict[str, Any]) -> Puzzle:
    return Puzzle(tuple(map(int, row["x"].split())), row["split"])


def left(line: str) -> str | None:
    """The numbers that a line says are left, as it writes them; None if it does not say."""
    return line.rpartition("left: ")[2].partition(")")[0] if "left: " in line else None


def are(written: Sequence[str], numbers: Sequence[Number]) -> bool:
    """Are these the numbers, order aside and up to rounding? What is written longest chooses first."""
    if len(written) != len(numbers):
        return False
    rest = list(numbers)
    for text in sorted(written, key=len, reverse=True):
        number = nearest(text, rest)
        if number is None:
            return False
        rest.remove(number)
    return True


def _numbers(text: str) -> list[str]:
    return [token for token in re.findall(SIGNED, plain(text)) if _is_number(token)]


def _is_number(token: str) -> bool:
    try:
        read_number(token)
    except ZeroDivisionError:
        return False
    return True


class Recording:
    """What was said of any puzzle, and the ratings asked for so far: each state's once in the run.

    rated: the states rated, by their numbers.
    """

    def __init__(self, data: Path) -> None:
        self.rated: dict[tuple[Number, ...], float] = {}
        self._responses: dict[str, list[str]] = {}
        self._counts: dict[str, list[int]] = {}
        for row in lines(data / POLICY):
            if row["responses"]:
                self._responses.setdefault(row["canon"], row["responses"][0])
            if row["value"] is not None:
                self._counts.setdefault(row["canon"], row["value"])

    def of(self, row: dict[str, Any]) -> Recorded:
        """The policy of one puzzle."""
        return Recorded(self, row)

    def elsewhere(self, numbers: Iterable[Number | Fraction]) -> tuple[list[str], list[int] | None]:
        """The proposals for these numbers, and the counts of their ratings, whichever the puzzle."""
        canon = " ".join(map(str, numbers))
        return self._responses.get(canon, []), self._counts.get(canon)


class Recorded:
    """One puzzle's proposer and rater. Its own recording comes first; a state not seen gets no move and 0."""

    def __init__(self, recording: Recording, row: dict[str, Any]) -> None:
        self.recording = recording
        expansions = [expansion for step in row["steps"] for expansion in step["expansions"]]
        self._shown = [
            (_numbers(expansion["numbers"]), [proposal[0] for proposal in expansion["proposals"]])
            for expansion in expansions
            if expansion["kind"] == "propose"
        ]
        self._rated = [
            (_numbers(numbers), counts)
            for expansion in expansions
            for text, _, counts, *_ in expansion["proposals"]
            if counts is not None and (numbers := left(text)) is not None
        ]

    def propose(self, state: Game24State) -> list[str]:
        for written, said in self._shown:
            if are(written, state.numbers):
                return said
        return self.recording.elsewhere(state.numbers)[0]

    def rate(self, state: Game24State) -> float:
        rated = self.recording.rated
        if state.numbers not in rated:
            rated[state.numbers] = self._recorded(state.numbers)
        return rated[state.numbers]

    def _recorded(self, numbers: tuple[Number, ...]) -> float:
        counts = next((counts for written, counts in self._rated if are(written, numbers)), None)
        counts = counts or self.recording.elsewhere(numbers)[1]
        if counts is None:
            return 0.0
        sure, likely, impossible, _ = counts
        return SURE * sure + LIKELY * likely + IMPOSSIBLE * impossible
