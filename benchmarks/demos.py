"""Demonstrations from curated against whole traces, on a stand-in that copies its demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import dspy

from thoughtree import Beam, Game24, TreeOfThoughts
from thoughtree.optimize import BootstrapSearch
from thoughtree.search.protocol import Propose

from .checker import proves
from .copying import copying_lm
from .data import Puzzle, papers_puzzles
from .report import Report, Row, beside

SEEDS = (0, 1, 2)
DEMOS = 24  # at most
SEARCHED = 30  # puzzles that demonstrations are taken from; the others are solved with them


def measure(data: Path) -> Report:
    puzzles = papers_puzzles(data)
    searched, fresh = puzzles[:SEARCHED], puzzles[SEARCHED:]
    return Report(
        "demos",
        "puzzles solved with demonstrations of curated and of whole traces, by a stand-in whose proposals copy them",
        rows(searched, fresh),
        [
            f"{len(fresh)} puzzles, {len(SEEDS)} seeds each; the proposer has demonstrations from searches of "
            f"{len(searched)} other puzzles: as many of each kind, from the same searches.",
            "Curated: BootstrapSearch. Whole: any of the searches' proposals, drawn at random; of solved ones: of the "
            "searches alone that found a solution. The rater has none, and no way to use any.",
        ],
    )


def rows(searched: Sequence[Puzzle], fresh: Sequence[Puzzle]) -> list[Row]:
    total = dict.fromkeys(("curated", "whole", "whole, of solved ones", "none"), 0)
    shown: list[int] = []
    for seed in SEEDS:
        found = programs(searched, seed)
        shown += {len(solve.propose.predict.demos) for name, solve in found.items() if name != "none"}
        for name, solve in found.items():
            total[name] += solved(solve, fresh, seed)
    of = f"of {len(SEEDS) * len(fresh)}"
    worst = max(total["whole"], total["whole, of solved ones"])
    return [
        Row("solved with curated demos", total["curated"], of, "more than with whole", total["curated"] > worst),
        beside("solved with demos of whole traces", total["whole"], of),
        beside("solved with demos of whole traces of solved ones", total["whole, of solved ones"], of),
        beside("solved without demos", total["none"], of),
        beside("demos shown", sum(shown) / len(shown), "a seed"),
    ]


def programs(searched: Sequence[Puzzle], seed: int) -> dict[str, TreeOfThoughts]:
    """The same program with the proposer's demonstrations from the same searches."""
    plain = TreeOfThoughts(task=Game24(), controller=Beam(width=3, branching=None), concurrency=1)
    trainset = [dspy.Example(numbers=puzzle.text).with_inputs("numbers") for puzzle in searched]
    traces: list[Any] = []
    with dspy.context(lm=copying_lm(seed), search_traces=traces, trace=[]):
        for example in trainset:
            plain(**example.inputs())
        curated = BootstrapSearch(max_demos=DEMOS, num_threads=1, per_search=3).compile(plain, trainset=trainset)
    size = len(curated.propose.predict.demos)
    every = [trace for trace in traces[: len(trainset)] if trace.result is not None]
    return {
        "curated": _with(plain, curated.propose.predict.demos),
        "whole": _with(plain, _drawn(every, size, seed)),
        "whole, of solved ones": _with(plain, _drawn([t for t in every if t.result.solved], size, seed)),
        "none": plain,
    }


def _drawn(traces: Sequence[Any], size: int, seed: int) -> list[dspy.Example]:
    found = [
        dspy.Example(augmented=True, **inputs, **made.toDict())
        for trace in traces
        for request, entries in trace.kept.items()
        if isinstance(request, Propose)
        for _, inputs, made in entries
    ]
    return Random(seed).sample(found, min(size, len(found)))


def _with(program: TreeOfThoughts, demos: Sequence[dspy.Example]) -> TreeOfThoughts:
    made: TreeOfThoughts = deepcopy(program)
    made.propose.predict.demos = list(demos)
    return made


def solved(program: TreeOfThoughts, puzzles: Sequence[Puzzle], seed: int) -> int:
    """How many, as the independent checker has it."""
    count = 0
    with dspy.context(lm=copying_lm(seed)):
        for puzzle in puzzles:
            prediction = program(numbers=puzzle.text)
            count += prediction.search.solved and proves(prediction.answer, puzzle.numbers)
    return count
