"""LM calls per second of many searches, run by Evaluate, against as many threads of a bare Predict."""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import dspy

from thoughtree import Beam, Evaluate, TreeOfThoughts, limit

from .program import SHOWN, bare
from .report import Report, at_least, beside
from .schedule import MEAN
from .steady import steady_lm

SEARCHES, IN_FLIGHT = 16, 8
EXAMPLES = 2 * SEARCHES
BEAM = Beam(width=40, branching=8, max_depth=3)  # wide: each level waits for its last call, and that is no overhead
CALLS = (1 + 8) + (8 + 64) + (40 + 320)
REPEATS = 3
LEAST = 0.9


def searches(solve: TreeOfThoughts) -> float:
    """Calls per second."""
    devset = [dspy.Example(question=f"{SHOWN['question']} {i}").with_inputs("question") for i in range(EXAMPLES)]
    evaluate = Evaluate(devset=devset, metric=lambda example, prediction: 1.0, num_threads=SEARCHES)
    started = perf_counter()
    with limit(in_flight=SEARCHES * IN_FLIGHT):
        calls = evaluate(solve).spent.calls
    seconds = perf_counter() - started
    assert calls == EXAMPLES * CALLS
    return calls / seconds


def predicts(predict: Any) -> float:
    """Calls per second of as many calls, by as many threads as the searches have calls in flight."""
    calls = EXAMPLES * CALLS
    with ThreadPoolExecutor(SEARCHES * IN_FLIGHT) as pool:
        started = perf_counter()
        jobs = [pool.submit(contextvars.copy_context().run, lambda: predict(**SHOWN)) for _ in range(calls)]
        for job in jobs:
            job.result()
        return calls / (perf_counter() - started)


def measure(data: Path | None = None) -> Report:
    solve = TreeOfThoughts("question -> answer", controller=BEAM, answer="path", concurrency=IN_FLIGHT)
    predict = bare()
    ours: list[float] = []
    theirs: list[float] = []
    with dspy.context(lm=steady_lm(BEAM.branching, Always(MEAN))):
        for _ in range(REPEATS):  # in turn, so that a slow moment of the machine meets both
            ours.append(searches(solve))
            theirs.append(predicts(predict))
    return Report(
        "evaluation",
        f"LM calls per second of {SEARCHES} searches at a time, {IN_FLIGHT} calls in flight each, through Evaluate, "
        f"threads, {1000 * MEAN:g} ms a call",
        [
            at_least(f"over {SEARCHES * IN_FLIGHT} threads of a bare Predict", max(ours) / max(theirs), LEAST),
            beside("searches", max(ours), "calls/s"),
            beside("bare Predict", max(theirs), "calls/s"),
        ],
        [
            f"The most of {REPEATS} repeats, taken in turn; {EXAMPLES} examples of {CALLS} calls each, in a limit of "
            f"{SEARCHES * IN_FLIGHT} in flight.",
        ],
    )


class Always(Sequence[float]):
    """The same latency, however many calls there are."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __getitem__(self, number: Any) -> Any:
        return self.seconds

    def __len__(self) -> int:
        return sys.maxsize
