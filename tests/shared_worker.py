"""A process of a run that several make together: `python shared_worker.py FOLDER NAME`, each with a file of its runs.

NAME: what it writes its runs to. A worker called "held" comes to no end with the first example that it takes.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import dspy

from thoughtree import Evaluate
from thoughtree.optimize import EvaluationStopped, SharedRun

DEVSET = [dspy.Example(number=number).with_inputs("number") for number in range(12)]


class Answers(dspy.Module):
    """The number itself; 5 and 7 cannot be answered."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__()
        self._runs, self._held = folder / f"runs-{name}", name == "held"

    def forward(self, number: int) -> Any:
        with open(self._runs, "a") as runs:
            runs.write(f"{number}\n")
        if self._held:
            threading.Event().wait()
        if number in (5, 7):
            raise ValueError(f"{number} is too hard")
        return dspy.Prediction(answer=number)


def even(example: Any, prediction: Any, trace: Any = None) -> bool:
    return bool(prediction.answer % 2 == 0)


def told(result: Any) -> dict[str, Any]:
    return {
        "scores": [score for *_, score in result.results],
        "errors": [outcome.error for outcome in result.errors],
        "not_run": result.not_run,
        "resumed": sum(outcome.resumed for outcome in result.outcomes),
    }


if __name__ == "__main__":
    folder, name, run, max_errors = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    evaluate = Evaluate(
        devset=DEVSET, metric=even, num_threads=2, max_errors=max_errors, resume=SharedRun(folder / "kept", run)
    )
    try:
        print(json.dumps(told(evaluate(Answers(folder, name)))))
    except EvaluationStopped as stopped:
        print(json.dumps({"why": stopped.why, **told(stopped.result)}))
