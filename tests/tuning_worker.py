"""A process that works at a study: run with the folder of the study and the seconds that a call takes."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import dspy

from rankings import BRANCHING, examples, program
from thoughtree.optimize.metrics import solved
from thoughtree.optimize.tuner import SearchTuner
from thoughtree.testing import RuleLM

SET = examples([1, 3] * 20)
CAP = 6
SPACE = {"controller.width": (1, 8), "controller.branching": 8, "controller.max_depth": 2, "controller.select": "top"}
SPACE |= {"controller.best": "deepest", "controller.min_score": None, "controller.solved_threshold": None}
SPACE |= {"propose": "lm", "temperature": None, "rate": "code", "samples": 1}


def tuner(folder: Path, **given: Any) -> SearchTuner:
    return SearchTuner(solved, trials=CAP, num_threads=2, log_dir=folder, **given)


def model(delay: float, held: Path | None = None) -> dspy.LM:
    """Ranks the places; with `held` it never answers, and says by that file that it was asked."""

    def propose(inputs: dict[str, str], n: int | None) -> list[str]:
        if held is not None:
            held.touch()
            time.sleep(600)
        time.sleep(delay)
        return [str(place) for place in range(1, (n or BRANCHING) + 1)]

    return RuleLM(propose=propose)


if __name__ == "__main__":
    budget = int(sys.argv[3]) if sys.argv[3:4] not in ([], ["held"]) else None
    held = Path(sys.argv[1]) / "held" if sys.argv[3:4] == ["held"] else None
    with dspy.context(lm=model(float(sys.argv[2]), held)):
        print(tuner(Path(sys.argv[1]), budget=budget).race(program(), trainset=SET, space=SPACE))
