"""The counts that the stub policy's golden file lists, for every noise, algorithm, seed and split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thoughtree.search import DFS, Beam, BestFirst
from thoughtree.search.search import Controller

from .controls import exhaustive, perfect_proposer, random_order
from .data import Puzzle, lines, papers_puzzles
from .game24 import Outcomes, search_all
from .report import Report, Row, beside, exactly
from .stub_policy import CONFIGS, StubPolicy

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


def measure(data: Path) -> Report:
    puzzles = papers_puzzles(data)
    matched: dict[str, int] = dict.fromkeys(ALGORITHMS, 0)
    listed: dict[str, int] = dict.fromkeys(ALGORITHMS, 0)
    notes = ["One call in flight; branching None; a terminal state that is no goal is not rated."]
    false = 0
    for row, split, wanted in golden(data):
        part = [puzzle for puzzle in puzzles if puzzle.split == split]
        if not part:
            continue
        got = counts(part, row["config"], row["algorithm"], row["seed"])
        found = [got.solved, got.puzzles, got.proposals, got.ratings]
        false += got.false
        listed[row["algorithm"]] += 1
        matched[row["algorithm"]] += found == wanted
        if found != wanted:
            which = f"{row['config']}, {row['algorithm']}, seed {row['seed']}, {split}"
            notes.append(f"{which}: {found}, not {wanted}")
    rows: list[Row] = [
        exactly(f"{name}: counts matched", matched[name], listed[name], f"of {listed[name]}")
        for name in ALGORITHMS
    ]
    rows.append(exactly("claims that the independent checker refuses", false, 0))
    rows += controls(puzzles)
    return Report("stub", "exact counts of the deterministic stub policy, all noises and seeds", rows, notes)


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
