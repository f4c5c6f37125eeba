"""A search is compiled, prompts and knobs, saved, and called by another pipeline in another process.

    python examples/compiled_pipeline.py compile solver.json
    python examples/compiled_pipeline.py use solver.json "4 9 10 13" "1 5 5 5"

The first command takes seconds and no key: a rule-based stand-in answers. With
`--model openai/gpt-4o-mini`, or any other name that DSPy takes, that model answers.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random
from typing import Any

import dspy

import thoughtree
from thoughtree import Beam, Game24, SearchTuner, TreeOfThoughts, solved
from thoughtree.offline import offline_lm
from thoughtree.optimize import BootstrapSearch


def puzzles(number: int, seed: int) -> list[dspy.Example]:
    """Four cards each, all different."""
    rng = Random(seed)
    found = dict[str, None]()
    while len(found) < number:
        found[" ".join(map(str, sorted(rng.choices(range(1, 14), k=4))))] = None
    return [dspy.Example(numbers=numbers).with_inputs("numbers") for numbers in found]


def compiled(examples: list[dspy.Example], log_dir: Path | None = None) -> Any:
    """A solver with demonstrations from its own solved searches, and with the cheapest knobs that do as well."""
    solver = TreeOfThoughts(task=Game24(), controller=Beam(width=5, branching=5))
    third = len(examples) // 3
    taught = BootstrapSearch(metric=solved).compile(solver, trainset=examples[:third])
    tuner = SearchTuner(metric=solved, trials=6, log_dir=log_dir)
    space = {"controller.width": (1, 6), "controller.branching": (3, 6)}
    fixed = {"controller.max_depth": 3, "controller.select": "top", "controller.best": "deepest", "samples": 1}
    fixed |= {"propose": "lm", "rate": "value", "scale": "verdict", "scale.maybe": 1.0, "temperature": None}
    fixed |= {"controller.min_score": None, "controller.solved_threshold": None}
    return tuner.compile(taught, trainset=examples[third:], space=space | fixed, pick="cheapest")


class Worksheet(dspy.Module):
    """Another pipeline: it knows nothing of searches, and calls one as it would call any module."""

    def __init__(self, solver: dspy.Module) -> None:
        super().__init__()
        self.solver = solver

    def forward(self, cards: list[str]) -> dspy.Prediction:
        with thoughtree.limit(calls=100 * len(cards)):  # for all of them together
            answers = [self.solver(numbers=numbers) for numbers in cards]
        return dspy.Prediction(
            lines=[f"{numbers}: {told(found)}" for numbers, found in zip(cards, answers, strict=True)]
        )


def told(found: dspy.Prediction) -> str:
    if found.search.solved:
        return found.answer
    return found.search.first_error if found.search.ended == "error" else "no solution was found"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["compile", "use"])
    parser.add_argument("file", type=Path, help="the saved solver")
    parser.add_argument("cards", nargs="*", default=["4 9 10 13"], help="puzzles to solve")
    parser.add_argument("--model", help="as DSPy names it; without it a rule-based stand-in answers")
    parser.add_argument("--puzzles", type=int, default=90, help="how many to compile on, 12 to 1000")
    asked = parser.parse_args()
    if not 12 <= asked.puzzles <= 1000:
        parser.error(f"--puzzles {asked.puzzles}: must be 12 to 1000")
    dspy.configure(lm=dspy.LM(asked.model) if asked.model else offline_lm())
    try:
        run(asked)
    except (ValueError, OSError, RuntimeError) as error:  # a wrong argument, a file or a model that is not there
        parser.exit(2, f"{error}\n")


def run(asked: argparse.Namespace) -> None:
    if asked.step == "compile":
        asked.file.parent.mkdir(parents=True, exist_ok=True)
        solver = compiled(puzzles(asked.puzzles, seed=0))
        solver.save(asked.file)
        print(solver.detailed_results.summary())
    else:
        print("\n".join(Worksheet(thoughtree.load(asked.file))(cards=asked.cards).lines))


if __name__ == "__main__":
    main()
