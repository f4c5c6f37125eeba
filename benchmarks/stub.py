"""The counts that the stub policy's golden file lists, for every noise, algorithm, seed and split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thoughtree.search import DFS, Beam, BestFirst
from thoughtree.search.controller import Controller

from .controls import exhaustive, perfect_proposer, random_order
from .data import Puzzle, lines, papers_puzzles
from .game24 import Outcomes, search_all
from .report import Report, Row, beside, exactly
from .stub_policy import CONFIGS, StubPolicy
from .whole_program import solve_all

# As in the golden file: all successors, pruned under 1 or not at all, ties to the deeper, a goal ends it.
ALGORITHMS: Mapping[str, Controller] = {
    **{f"beam{width}": Beam(width=width, branching=None, stop="first") for width in (1, 3, 5, 10)},
    **{f"dfs({k})": DFS(branching=None, threshold=1.0, expansions=k) for k in (16, 100)},
    "dfs-noprune(100)": DFS(branching=None, threshold=0.0, expansions=100),
    **{
        f"best-first({k})": BestFirst(branching=None, keep=None, prune_below=0.0, ties="deeper", expansions=k)
        for k in (16, 100)
    },
}


def counts(puzzles: Sequence[Puzzle], config: str, algorithm: str, seed: int) -> Outcomes:
    noise = CONFIGS[config]
    return search_all(puzzles, ALGORITHMS[algorithm], lambda p: StubPolicy(noise, p.text, seed))


def golden(data: Path) -> list[tuple[dict[str, Any], str, list[int]]]:
    """(row, split, [solved, puzzles, propose calls, value calls]) for each split of each row of the file."""
    rows = lines(data / "game24_stub_golden.jsonl")
    return [(row, split, row[split]) for row in rows for split in row if isinstance(row[split], list)]


def program_counts(puzzles: Sequence[Puzzle], config: str, algorithm: str, seed: int) -> Outcomes:
    """The same by a whole program, whose model answers in text."""
    noise = CONFIGS[config]
    return solve_all(puzzles, ALGORITHMS[algorithm], lambda p: StubPolicy(noise, p.text, seed))


@dataclass(slots=True)
class Matches:
    """How many of the golden counts came out, by algorithm. unlike: what came out instead of the others."""

    counted: Callable[[Sequence[Puzzle], str, str, int], Outcomes]
    listed: Counter[str] = field(default_factory=Counter)
    matched: Counter[str] = field(default_factory=Counter)
    false: int = 0
    unlike: list[str] = field(default_factory=list)

    def take(self, row: dict[str, Any], split: str, wanted: list[int], puzzles: Sequence[Puzzle]) -> None:
        part = [puzzle for puzzle in puzzles if puzzle.split == split]
        if not part:
            return
        config, algorithm, seed = row["config"], row["algorithm"], row["seed"]
        got = self.counted(part, config, algorithm, seed)
        found = [got.solved, got.puzzles, got.proposals, got.ratings]
        self.false += got.false
        self.listed[algorithm] += 1
        self.matched[algorithm] += found == wanted
        if found != wanted:
            self.unlike.append(f"{config}, {algorithm}, seed {seed}, {split}: {found}, not {wanted}")

    def rows(self, of: str = "") -> list[Row]:
        return [
            exactly(f"{of}{name}: counts matched", self.matched[name], total, f"of {total}")
            for name, total in self.listed.items()
        ]


def measure(data: Path) -> Report:
    puzzles, core, program = papers_puzzles(data), Matches(counts), Matches(program_counts)
    for row, split, wanted in golden(data):
        core.take(row, split, wanted, puzzles)
        if row["config"] == "gpt4-like" and row["seed"] == 0:
            program.take(row, split, wanted, puzzles)
    false = exactly("claims that the independent checker refuses", core.false + program.false, 0)
    return Report(
        "stub",
        "exact counts of the deterministic stub policy, all noises and seeds",
        [*core.rows(), *program.rows("whole program, gpt4-like, seed 0, "), false, *controls(puzzles)],
        [
            "One call in flight; branching None; a terminal state that is no goal is not rated.",
            "Whole program: TreeOfThoughts, with a model that says in text what the policy would.",
            *core.unlike,
            *program.unlike,
        ],
    )


def controls(puzzles: Sequence[Puzzle]) -> list[Row]:
    """What needs no model, and the expansions that it takes; on the paper's 100 puzzles: 293, 71 and 3."""
    n = len(puzzles)
    runs = {
        "exhaustive": exhaustive(puzzles),
        "random depth-first, no ceiling": random_order(puzzles, seeds=range(10)),
        "perfect proposer": perfect_proposer(puzzles),
    }
    return [
        beside(f"control, {name}: solved", got.share * n, f"of {n}", f"{got.expansions:.1f} expansions")
        for name, got in runs.items()
    ]
