"""GPT-4's recorded replies, searched with the checks in code on: more solved, with fewer requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thoughtree.search import Beam, BestFirst, Rating
from thoughtree.search.controller import Controller
from thoughtree.tasks import Game24

from .controls import exhaustive, random_order
from .data import Puzzle
from .game24 import Outcomes, search
from .recorded import Recorded, Recording, puzzle_of, recorded_puzzles
from .report import Report, Row, at_least, at_most, beside, exactly

BEAM = Beam(branching=None)  # width 5, as the recorded search's
FIRST = Beam(branching=None, stop="first")
BEST_FIRST = BestFirst(branching=None, keep=None, prune_below=0.0, expansions=16)
RATING = Rating(cut=None)  # a recorded rating is the sum of three samples already
TASKS = {"strict": Game24(strict=True), "repaired": Game24()}
PUZZLES = 70  # of those that the requirements were counted on
# (controller, task): solved at least, requests at most
WANTED = {
    ("beam 5", "strict"): (49, 1966),
    ("beam 5", "repaired"): (51, 1966),
    ("best-first(16)", "repaired"): (52, 1445),
}
CONTROLLERS: dict[str, Controller] = {
    "beam 5": BEAM,
    "beam 5, first goal ends it": FIRST,
    "best-first(16)": BEST_FIRST,
}


@dataclass(frozen=True, slots=True)
class Checked:
    """One search of all recorded puzzles. rated: distinct states over the run. used: expansions by puzzle."""

    outcomes: Outcomes
    rated: int
    used: dict[Puzzle, int]

    @property
    def requests(self) -> int:
        return self.outcomes.proposals + self.rated


def checked(data: Path, controller: Controller, task: Game24) -> Checked:
    recording, total, used = Recording(data), Outcomes(), dict[Puzzle, int]()
    for row in recorded_puzzles(data):
        puzzle = puzzle_of(row)
        got = search(puzzle, controller, recording.of(row), task=task, rating=RATING)
        total += got
        used[puzzle] = got.proposals
    return Checked(total, len(recording.rated), used)


def measure(data: Path) -> Report:
    notes = [
        "Requests: expansions, and distinct states rated in the whole run.",
        "Strict: a line counts if result and remaining numbers are right; repaired: if it has its operands.",
        "The recorded search itself solved 48, with 3412 requests.",
    ]
    return Report("checked", "GPT-4's recorded replies with the code checks on", list(rows(data)), notes)


def rows(data: Path) -> Iterator[Row]:
    n, false = len(recorded_puzzles(data)), 0
    for name, controller in CONTROLLERS.items():
        for how, task in TASKS.items():
            got = checked(data, controller, task)
            false += got.outcomes.false
            solved, requests = f"{name}, {how}: solved", f"{name}, {how}: requests"
            if n == PUZZLES and (wanted := WANTED.get((name, how))):
                yield at_least(solved, got.outcomes.solved, wanted[0], f"of {n}")
                yield at_most(requests, got.requests, wanted[1])
            else:
                yield beside(solved, got.outcomes.solved, f"of {n}")
                yield beside(requests, got.requests)
    yield exactly("claims that the independent checker refuses", false, 0)
    yield from controls(data)


def controls(data: Path) -> Iterator[Row]:
    recording = Recording(data)
    policies: dict[Puzzle, Recorded] = {puzzle_of(row): recording.of(row) for row in recorded_puzzles(data)}
    puzzles, n = list(policies), len(policies)
    policy: Callable[[Puzzle], Any] = policies.__getitem__
    for name, controller in (("beam 5", FIRST), ("best-first(16)", BEST_FIRST)):
        used = checked(data, controller, TASKS["repaired"]).used
        for how, most in (
            (f"expansions as {name}'s on each puzzle", used.__getitem__),
            (f"up to {name}'s most, {max(used.values())}", max(used.values())),
        ):
            for what, got in (
                ("recorded proposals", random_order(puzzles, policy, expansions=most)),
                ("all legal moves", random_order(puzzles, expansions=most)),
            ):
                at = f"{got.expansions:.1f} expansions"
                yield beside(f"control, {what} in random order, {how}: solved", got.share * n, f"of {n}", at)
    for what, found in (
        ("recorded proposals", exhaustive(puzzles, policy)),
        ("all legal moves", exhaustive(puzzles)),
    ):
        at = f"{found.expansions:.1f} expansions"
        yield beside(f"control, {what}, exhaustive: solved", found.solved, f"of {n}", at)
