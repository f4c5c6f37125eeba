"""Puzzles solved and calls made under noise like GPT-4's, against the published front of cost and success."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from thoughtree.search import DFS, Beam, BestFirst, Rating
from thoughtree.search.controller import Controller

from .controls import exhaustive, perfect_proposer, random_order
from .data import Puzzle, papers_puzzles
from .game24 import Outcomes, search, search_all
from .report import Report, Row, at_least, at_most, beside, exactly
from .stub import golden
from .stub_policy import CONFIGS, StubPolicy
from .whole_program import solve_all

SEEDS = (0, 1, 2)
NOISE = CONFIGS["gpt4-like"]
BEST_FIRST = BestFirst(branching=None, keep=None, prune_below=0.0, expansions=100)
SOLVED, CALLS = 58 / 70, 27.0
FRONT = ("beam1", "beam3", "beam5", "beam10", "dfs(100)", "best-first(100)")  # in the golden file

# All propose every successor that the policy recalls (branching None), as the front's algorithms do.
SETTINGS: dict[str, Controller] = {
    "beam, width 1": Beam(width=1, branching=None, stop="first"),
    "beam, width 3": Beam(width=3, branching=None, stop="first"),
    "beam, width 5": Beam(width=5, branching=None, stop="first"),
    "beam, width 10": Beam(width=10, branching=None, stop="first"),
    "beam, its own width and stop": Beam(branching=None),
    "dfs, its own threshold": DFS(branching=None),
    "dfs, nothing pruned": DFS(branching=None, threshold=0.0, expansions=100),
    "best-first, its own keep, threshold and expansions": BestFirst(branching=None),
    "best-first(100), the scale's cut": BestFirst(branching=None, keep=None, expansions=100),
    "best-first(100), nothing pruned": BEST_FIRST,
    "best-first(100), nothing pruned, 2 open": BestFirst(
        branching=None, keep=None, prune_below=0.0, expansions=100, open=2
    ),
}
# With each child rated by itself, wide beams lie under the front, in the front's own list too.
UNDER = ("beam, width 5", "beam, width 10", "beam, its own width and stop")


@dataclass(frozen=True, slots=True)
class Front:
    """What is solved at what cost: (calls, puzzles solved), sums over the same puzzles and seeds."""

    points: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, data: Path, splits: set[str]) -> Front:
        """From the golden counts of these splits."""
        sums = dict.fromkeys(FRONT, (0, 0))
        for row, split, (solved, _, proposals, ratings) in golden(data):
            if row["config"] == "gpt4-like" and row["algorithm"] in sums and split in splits:
                calls, all_solved = sums[row["algorithm"]]
                sums[row["algorithm"]] = calls + proposals + ratings, all_solved + solved
        return cls(tuple(sums.values()))

    def at(self, calls: int) -> int:
        """The most solved with at most so many calls."""
        return max((solved for cost, solved in self.points if cost <= calls), default=0)


def measure(data: Path) -> Report:
    puzzles = papers_puzzles(data)
    notes = [
        f"{len(puzzles)} puzzles, mean of {len(SEEDS)} seeds. Calls: propose and rate, a puzzle.",
        "The front is the golden file's, on these puzzles; it rates each child in a call of its own.",
        "Reach of a setting: what the front solves at no more calls. A control makes no rating calls.",
    ]
    about = "puzzles solved, and calls, with a policy as noisy as GPT-4"
    return Report("gpt4like", about, list(rows(data, puzzles)), notes)


def rows(data: Path, puzzles: Sequence[Puzzle]) -> Iterator[Row]:
    n = len(puzzles)
    best = outcomes(puzzles, BEST_FIRST, "siblings")
    solved = best.solved / len(SEEDS)
    yield at_least("best-first(100), siblings together: solved", solved, round(SOLVED * n, 2), f"of {n}")
    yield at_most("best-first(100), siblings together: calls a puzzle", best.calls, CALLS)
    program = Outcomes()
    for seed in SEEDS:
        program += solve_all(puzzles, BEST_FIRST, partial(_policy, seed), rate="siblings")
    solved = program.solved / len(SEEDS)
    yield at_least("the same by a whole program: solved", solved, round(SOLVED * n, 2), f"of {n}")
    yield at_most("the same by a whole program: calls a puzzle", program.calls, CALLS)
    yield exactly("claims that the independent checker refuses", best.false + program.false, 0)
    yield from controls(puzzles)
    front = Front.of(data, {puzzle.split for puzzle in puzzles})
    for words, together in (("siblings together", "siblings"), ("each child by itself", "each")):
        for name, controller in SETTINGS.items():
            got = outcomes(puzzles, controller, together)
            front_solved = front.at(got.proposals + got.ratings)
            met = None if together == "each" and name in UNDER else got.solved >= front_solved
            reach = f"the front's {front_solved / len(SEEDS):.1f}" if met is not None else ""
            at = f"{got.calls:.1f} calls"
            yield Row(f"{name}; {words}: solved", got.solved / len(SEEDS), f"of {n}", reach, met, at)


def outcomes(puzzles: Sequence[Puzzle], controller: Controller, together: str) -> Outcomes:
    """Sums over the puzzles and the seeds."""
    rating = Rating(together="siblings" if together == "siblings" else "each")
    total = Outcomes()
    for seed in SEEDS:
        total += search_all(puzzles, controller, partial(_policy, seed), rating=rating)
    return total


def _policy(seed: int, puzzle: Puzzle) -> StubPolicy:
    return StubPolicy(NOISE, puzzle.text, seed)


def controls(puzzles: Sequence[Puzzle]) -> Iterator[Row]:
    """The same puzzles without a rater, or without a model."""
    found: dict[str, Outcomes] = defaultdict(Outcomes)
    for seed in SEEDS:
        policy = partial(_policy, seed)
        used = {puzzle: search(puzzle, BEST_FIRST, policy(puzzle)).proposals for puzzle in puzzles}
        mean = round(sum(used.values()) / len(puzzles))
        for how, most in (
            ("expansions as many on each puzzle", used.__getitem__),
            ("up to as many as it takes on average", mean),
            ("up to 100", 100),
        ):
            found[f"its proposals in random order, {how}"] += random_order(puzzles, policy, expansions=most)
            found[f"all legal moves in random order, {how}"] += random_order(puzzles, expansions=most)
        found["its proposals, exhaustive"] += exhaustive(puzzles, policy)
    found["perfect proposer"] = perfect_proposer(puzzles)
    n = len(puzzles)
    for what, got in found.items():
        at = f"{got.expansions:.1f} expansions"
        yield beside(f"control, {what}: solved", got.share * n, f"of {n}", at)
