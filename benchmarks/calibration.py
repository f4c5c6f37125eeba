"""A calibrated value mapping against 20 / 1 / 0.001, under noise as GPT-4's: puzzles solved at equal calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import dspy

from thoughtree import BestFirst, Game24, TreeOfThoughts
from thoughtree.optimize import Calibration, calibrate_rater
from thoughtree.testing import RuleLM

from .checker import proves
from .data import Puzzle, lines, papers_puzzles
from .game24 import Outcomes
from .report import Report, Row, at_least, beside, exactly
from .stub_policy import CONFIGS, StubPolicy
from .whole_program import NOTHING, WORDS, shown_state

NOISE = CONFIGS["gpt4-like"]
SEEDS = (0, 1, 2)
FIT_ON = 60  # puzzles, none of those measured on
CEILINGS = (6, 8, 10, 12, 16, 24, 40, 100)  # calls a puzzle
COMPARED = (10, 16, 40)


def measure(data: Path) -> Report:
    puzzles = papers_puzzles(data)
    report = _calibrated(_others(data, puzzles))
    paper = {
        (words, ceiling): solve_all(puzzles, program(ceiling, prune_below=below))
        for words, below in (("nothing pruned", 0.0), ("the scale's cut", None))
        for ceiling in CEILINGS
    }
    rows, false = list[Row](), sum(got.false for got in paper.values())
    n = len(puzzles)
    for ceiling in COMPARED:
        got = solve_all(puzzles, report.apply(program(ceiling)))
        false += got.false
        beaten = _at(paper, got.calls)
        at, reach = f"{got.calls:.2f} calls", (beaten.solved + 1) / len(SEEDS)
        told = f"calibrated, at most {ceiling} calls: solved, against {beaten.solved / len(SEEDS):.2f}"
        rows.append(at_least(told, round(got.solved / len(SEEDS), 2), round(reach, 2), f"of {n}", at))
    blind = _calibrated(_others(data, puzzles), Blind())
    for ceiling in (COMPARED[1], COMPARED[-1]):
        got = solve_all(puzzles, blind.apply(program(ceiling)))
        false += got.false
        told = f"by what searches found alone, at most {ceiling} calls: solved, against"
        told += f" {_at(paper, got.calls).solved / len(SEEDS):.2f}"
        rows.append(beside(told, got.solved / len(SEEDS), f"of {n}", f"{got.calls:.2f} calls"))
    rows.append(exactly("claims that the independent checker refuses", false, 0))
    for (words, ceiling), got in paper.items():
        at = f"{got.calls:.2f} calls"
        rows.append(
            beside(f"20 / 1 / 0.001, {words}, at most {ceiling} calls: solved", got.solved / len(SEEDS), f"of {n}", at)
        )
    for row in report.rows:
        if row.depth is not None and row.worth is not None:
            rows.append(beside(f"worth of {row.verdict} at depth {row.depth}", row.worth, at=f"{row.good} of {row.n}"))
    notes = [
        f"{n} puzzles, mean of {len(SEEDS)} seeds; best-first, siblings rated together. Fit on {FIT_ON} other puzzles.",
        "Against: the most that 20 / 1 / 0.001 solves, with either pruning, up to the next ceiling that costs more.",
        *report.summary().splitlines(),
    ]
    return Report("calibration", "what each verdict is worth, measured, against the paper's numbers", rows, notes)


class Blind(Game24):
    """Without the truth: a state is known to be good or dead only by what a search found below it."""

    def solvable(self, state: Any) -> None:
        return None


def program(ceiling: int = 100, prune_below: float | None = 0.0, task: Game24 | None = None) -> TreeOfThoughts:
    controller = BestFirst(branching=None, keep=None, prune_below=prune_below, expansions=100)
    return TreeOfThoughts(task=task or Game24(), controller=controller, rate="siblings", concurrency=1, budget=ceiling)


def solve_all(puzzles: Sequence[Puzzle], solve: Any) -> Outcomes:
    """Sums over the puzzles and the seeds, one call in flight."""
    total = Outcomes()
    for seed in SEEDS:
        with dspy.context(lm=model(seed)):
            for puzzle in puzzles:
                prediction = solve(numbers=puzzle.text)
                found = prediction.search
                false = found.solved and not proves(prediction.answer, puzzle.numbers)
                spent = {role: usage.calls for role, usage in found.spent_by.items()}
                total += Outcomes(1, int(found.solved), int(false), spent.get("propose", 0), spent.get("rate", 0))
    return total


def model(seed: int) -> dspy.LM:
    """A language model that says what the policy would, of any puzzle."""

    @cache
    def policy(numbers: str) -> StubPolicy:
        return StubPolicy(NOISE, numbers, seed)

    def propose(fields: Mapping[str, str], n: int | None) -> list[str]:
        return list(map(str, policy(fields["numbers"]).propose(shown_state(fields)))) or [NOTHING]

    def rate(fields: Mapping[str, str]) -> str:
        return WORDS[policy(fields["numbers"]).rate(shown_state(fields))]

    return RuleLM(propose=propose, rate=rate)


def _others(data: Path, measured: Sequence[Puzzle]) -> list[Puzzle]:
    taken = {puzzle.numbers for puzzle in measured}
    rows = lines(data / "sets" / "game24.jsonl")
    found = [Puzzle(tuple(row["numbers"]), row["split"]) for row in rows if not row["paper_test"]]
    return Random(0).sample([puzzle for puzzle in found if puzzle.numbers not in taken], FIT_ON)


def _calibrated(puzzles: Sequence[Puzzle], task: Game24 | None = None) -> Calibration:
    examples = [dspy.Example(numbers=puzzle.text).with_inputs("numbers") for puzzle in puzzles]
    with dspy.context(lm=model(SEEDS[0])):
        return calibrate_rater(program(task=task), examples, num_threads=1)


def _at(found: Mapping[Any, Outcomes], calls: float) -> Outcomes:
    """The best that was solved with the fewest calls that are no fewer than these; else the best of all."""
    dearer = [got for got in found.values() if got.calls >= calls]
    cheaper = [got for got in found.values() if got.calls < calls]
    nearest = [min(dearer, key=lambda got: got.calls)] if dearer else []
    return max([*nearest, *cheaper], key=lambda got: (got.solved, -got.calls))
