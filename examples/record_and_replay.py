"""A model is paid once: its replies are kept, and every later run is free, offline and the same.

    python examples/record_and_replay.py record replies.jsonl "4 9 10 13"
    python examples/record_and_replay.py replay replies.jsonl "4 9 10 13"
    python examples/record_and_replay.py replay replies.jsonl "4 9 10 13" --controller dfs

Without `--model` a rule-based stand-in is recorded; with `--model openai/gpt-4o-mini`, or any other name that DSPy
takes, that model. A replay needs neither: where it would have to ask something new it ends, and says what.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import dspy

from thoughtree import DFS, Beam, Game24, RecordLM, ReplayLM, TreeOfThoughts
from thoughtree.offline import offline_lm

CONTROLLERS = {"beam": Beam(width=3), "dfs": DFS()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["record", "replay"])
    parser.add_argument("file", type=Path, help="the recording")
    parser.add_argument("numbers", nargs="*", default=["4 9 10 13"], help="puzzles to solve")
    parser.add_argument("--controller", choices=CONTROLLERS, default="beam")
    parser.add_argument("--model", help="as DSPy names it; without it a stand-in is recorded")
    asked = parser.parse_args()
    try:
        run(asked)
    except (ValueError, OSError, dspy.DSPyError) as error:  # an argument that is wrong, a file that cannot be read
        parser.exit(2, f"{error}\n")


def run(asked: argparse.Namespace) -> None:
    solve = TreeOfThoughts(task=Game24(), controller=CONTROLLERS[asked.controller])
    model = dspy.LM(asked.model) if asked.model else offline_lm()
    lm = RecordLM(model, asked.file) if asked.step == "record" else ReplayLM(asked.file)
    with dspy.context(lm=lm):
        for numbers in asked.numbers:
            search = (found := solve(numbers=numbers)).search
            print(f"{numbers}: {search.status}, {found.answer}, {search.spent.calls} calls")
    if asked.step == "record":
        print(f"paid: {lm.paid.calls} calls; from the file: {lm.hits.calls}")


if __name__ == "__main__":
    main()
