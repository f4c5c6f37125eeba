"""The tuner on problems whose truth is known: what it finds, pays, claims, and takes for itself."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import dspy

from thoughtree import Beam, Game24, TreeOfThoughts
from thoughtree.optimize import SearchTuner, solved
from thoughtree.optimize.paired import Difference
from thoughtree.optimize.tuning import Tuning
from thoughtree.testing import RuleLM

from .report import Report, Row, at_least, at_most, beside
from .stub_policy import successors
from .tuning_task import NARROWED, Point, Problem, point
from .whole_program import shown_state

SEEDS, TRIALS, PLAIN_TRIALS = range(10), 60, 100
SHARE = 1 / 5  # of plain Optuna's calls
NOISE_RUNS, NOISE_EXAMPLES, NOISE_TRIALS = 20, 60, 12
CALL, OVERHEAD = 0.020, 5.0  # seconds, percent


def measure(data: Path) -> Report:
    notes = [
        "A policy as noisy as GPT-4, one for each seed, plays 100 puzzles for tuning, and 200 others that no tuner"
        " sees, on which all scores and costs below are taken. Best: the highest score of a grid, at the least cost.",
        "The mark: within 2 points of the best score, at no more than 1.1 times its cost.",
        f"Plain: Optuna's TPE, two objectives, all 100 puzzles a trial, at most {PLAIN_TRIALS} trials, the default"
        " first; its calls are counted up to the first trial that meets the mark, which only an oracle could know. The"
        " tuner's are all that it paid, its final check included, and its own choice must meet the mark.",
        f"Noise: {NOISE_RUNS} runs on scores that are coins, and settings that all cost the same.",
    ]
    return Report("tune", "settings found, and calls paid for them, where the truth is known", list(rows(data)), notes)


@dataclass(frozen=True, slots=True)
class Found:
    """One seed's outcome. plain: calls until the mark; None: not met."""

    best: Point
    default: Point
    tuned: Point
    meets: bool
    tuning: Tuning
    plain: int | None
    against: Difference
    saving: float


def _in_time(one: Found) -> bool:
    return one.meets and (one.plain is None or one.tuning.paid <= SHARE * one.plain)


def _worse(one: Found) -> bool:
    """By more than the interval."""
    return one.against.clear and one.against.difference < 0


def _gained(one: Found) -> bool:
    """Better at no more cost, or cheaper at no lower score, as far as 200 puzzles can tell."""
    better = one.against.clear and one.against.difference > 0 and one.saving >= 0
    return better or (one.saving > 0 and not _worse(one))


def _before(one: Found) -> str:
    best, default = one.best, one.default
    return f"best {best.score:.3f} at {best.cost:.1f}, default {default.score:.3f} at {default.cost:.1f}"


def rows(data: Path) -> Iterator[Row]:
    found = [found_by(Problem(data, seed)) for seed in SEEDS]
    for seed, one in zip(SEEDS, found, strict=True):
        plain = "never" if one.plain is None else f"{one.plain:,}"
        at = f"{one.tuned.cost:.1f} calls; paid {one.tuning.paid:,}, plain {plain}"
        yield beside(f"seed {seed}: tuned; {_before(one)}", one.tuned.score, at=at)
    in_time, worse, gained = (sum(of(one) for one in found) for of in (_in_time, _worse, _gained))
    yield at_least("seeds in which it found the mark for a fifth of plain Optuna's calls", in_time, 9)
    yield at_most("seeds in which tuned is worse than default by more than the interval", worse, 0)
    yield at_least("seeds in which tuned is better for no more, or cheaper and as good", gained, 9)
    claims = [noise(seed) for seed in range(NOISE_RUNS)]
    yield at_least("runs on noise that report no improvement", claims.count(False), 18, f"of {NOISE_RUNS}")
    yield at_most("wall time of the tuner itself, 20 ms a call", overhead(), OVERHEAD, "%")


def found_by(problem: Problem) -> Found:
    _, best = problem.best()
    program = problem.program()
    with dspy.context(lm=problem.model):
        made = SearchTuner(solved, trials=TRIALS, num_threads=2, seed=problem.seed).compile(
            program, trainset=problem.examples, space=NARROWED, pick="cheapest"
        )
    tuning: Tuning = made.detailed_results
    defaults = problem.space.defaults()
    values = tuning.values if tuning.improved else defaults
    mine, theirs = problem.on(problem.others, values), problem.on(problem.others, defaults)
    pairs = [(float(a.solved), float(b.solved)) for a, b in zip(mine, theirs, strict=True)]
    return Found(
        best=best,
        default=point(theirs),
        tuned=point(mine),
        meets=problem.meets(values, best),
        tuning=tuning,
        plain=plain_calls(problem, best),
        against=Difference.of(pairs),
        saving=point(theirs).cost - point(mine).cost,
    )


def plain_calls(problem: Problem, best: Point) -> int | None:
    """LM calls that Optuna alone makes until a trial meets the mark; None: no trial does."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space, calls = problem.space, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(
            directions=["maximize", "minimize"], sampler=optuna.samplers.TPESampler(seed=problem.seed)
        )
    study.enqueue_trial(space.params(space.defaults()))
    for _ in range(PLAIN_TRIALS):
        trial = study.ask()
        values = space.suggest(trial)
        outcomes = problem.on(problem.tuned_on, values)
        calls += sum(outcome.proposals + outcome.ratings for outcome in outcomes)
        if problem.meets(values, best):
            return calls
        scored = point(outcomes)
        study.tell(trial, [scored.score, scored.cost])
    return None


# ---- noise


def noise(seed: int) -> bool:
    """Whether a study on coins claims an improvement. Temperatures differ, and nothing hangs on them."""
    times = Counter[str]()

    def coin(example: Any, prediction: Any, trace: Any = None) -> bool:
        times[example.numbers] += 1
        return sha256(f"{seed}|{example.numbers}|{times[example.numbers]}".encode()).digest()[0] < 128

    examples = [dspy.Example(numbers=f"{n} 1 1 1").with_inputs("numbers") for n in range(1, NOISE_EXAMPLES + 1)]
    space: Mapping[str, Any] = {name: value for name, value in _fixed().items() if name != "temperature"}
    with dspy.context(lm=_any_move(0.0)):
        made = SearchTuner(coin, trials=NOISE_TRIALS, num_threads=1, seed=seed).compile(
            _small(), trainset=examples, space={**space, "temperature": (0.0, 1.5)}
        )
    return bool(made.detailed_results.improved)


def _small() -> TreeOfThoughts:
    return TreeOfThoughts(
        task=Game24(), controller=Beam(width=1, branching=1, max_depth=1), answer="path", concurrency=1
    )


def _fixed() -> dict[str, Any]:
    """Every knob as it is."""
    from thoughtree.optimize import space_of

    program = _small()
    return {dimension.name: dimension.default for dimension in space_of(program)}


def _any_move(delay: float) -> dspy.LM:
    def propose(fields: Mapping[str, str], n: int | None) -> list[str]:
        time.sleep(delay)
        return [str(move) for move, _, _ in successors(shown_state(fields).numbers)][:n]

    def rate(fields: Mapping[str, str]) -> str:
        time.sleep(delay)
        return "maybe"

    return RuleLM(propose=propose, rate=rate)


# ---- its own time


def overhead() -> float:
    """Percent of the wall time of a study in which no example ran."""
    examples = [dspy.Example(numbers=f"{n} {n + 1} 1 1").with_inputs("numbers") for n in range(1, 41)]
    space = {**_fixed(), "controller.width": (1, 4), "controller.branching": (1, 4), "controller.max_depth": (1, 3)}
    with dspy.context(lm=_any_move(CALL)):
        made = SearchTuner(solved, trials=12, num_threads=8, seed=0).compile(_small(), trainset=examples, space=space)
    tuning: Tuning = made.detailed_results
    return 100 * (1 - tuning.running / tuning.seconds)
