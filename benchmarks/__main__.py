"""`python -m benchmarks NAME [--data DIR] [--json]`.

Exits with 0 if all that must be reached is, with 1 if not, with 2 for a misuse or where the data is missing.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from .data import VARIABLE, DataMissing, folder
from .report import Report

# name -> what it measures, and whether it reads the data folder
BENCHMARKS = {
    "core": ("time of the search core per node", False),
    "driver": ("time of the drivers per LM call", False),
    "program": ("time per LM call of a whole program over a bare Predict's", False),
    "wall": ("wall time over the ideal, with slow calls", False),
    "evaluation": ("calls per second of many searches at a time, through Evaluate", False),
    "deadline": ("time of a search whose time is up while something hangs", False),
    "journal": ("wall time with a journal over without, and the time to resume from it", False),
    "imports": ("time to import thoughtree over the time to import dspy", False),
    "view": ("the viewer with 10,000 nodes in a browser", False),
    "sandbox": ("time of a sandboxed program over a bare interpreter's", False),
    "demos": ("puzzles solved with demonstrations of curated and of whole traces", True),
    "mcts": ("time and memory of Monte-Carlo tree search, and rollouts in flight", False),
    "stub": ("exact counts of a deterministic stand-in for a model", True),
    "calibration": ("puzzles solved with ratings worth what was measured, at equal calls", True),
    "gpt4like": ("puzzles solved, and calls, under noise as GPT-4's", True),
    "lies": ("a proposer that gets 30 % of its sums wrong", True),
    "replay": ("GPT-4's recorded beam search, step by step", True),
    "blocksworld": ("planning in code: a perfect guide, A*, goals left", True),
    "rap_blocksworld": ("planning by MCTS in a world that a noisy model predicts and judges", True),
    "crosswords": ("GPT-4's recorded depth-first search on mini crosswords", True),
    "checked": ("GPT-4's recorded replies, with the checks in code on", True),
    "tune": ("the tuner where the truth is known: what it finds, pays and claims", True),
    "local": ("puzzles that small real models solve by choosing among moves, beside chance; an hour", False),
    "humaneval": ("which recorded program to hand in, from visible tests and agreement", True),
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    names = list(BENCHMARKS) if options.name == "all" else [options.name]
    try:
        data = folder(options.data) if any(BENCHMARKS[name][1] for name in names) else None
    except DataMissing as missing:
        print(f"benchmarks: {missing}", file=sys.stderr)
        return 2
    reports: list[Report] = []
    for name in names:
        module = importlib.import_module(f".{name}", __package__)
        reports.append(module.measure(data))
        if not options.json:
            reports[-1].show(Console())
    if options.json:
        found = [report.json() for report in reports]
        print(json.dumps({"benchmarks": found} if options.name == "all" else found[0], ensure_ascii=False))
    return 0 if all(report.met for report in reports) else 1


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, BENCHMARKS))
    listed = "\n".join(f"  {name:{width}} {about}" for name, (about, _) in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"benchmarks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=[*BENCHMARKS, "all"], metavar="NAME", help="one of these, or all")
    parser.add_argument("--data", type=Path, help=f"folder of recorded data (else data in {VARIABLE})")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


if __name__ == "__main__":
    sys.exit(main())
