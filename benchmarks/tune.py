"""The tuner on problems whose truth is known: what it finds, pays, claims, and takes for itself."""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import dspy

from thoughtree import Beam, Game24, TreeOfThoughts
from thoughtree.optimize import SearchTuner, solved
from thoughtree.optimize.paired import Difference
from thoughtree.optimize.trials import key_of
from thoughtree.optimize.tuning import Tuning
from thoughtree.testing import RuleLM

from . import calibration, demos
from .report import Report, Row, at_least, at_most, beside, exactly
from .stub_policy import successors
from .tuning_core import disagreements, tuner_of
from .tuning_task import COINS, NARROWED, TUNED_ON, Point, Problem, Truth, grid, point, program, puzzles, space
from .whole_program import shown_state

SEEDS, TRIALS, PLAIN_TRIALS = range(600, 610), 320, 100  # seeds not used in development
TOLERANCE = 0.01  # with one standard error of what is raced and checked, a little less than the mark's two points
SHARE = 1 / 5  # of plain Optuna's calls
AGREEING, PUZZLES = 3, 20  # settings of each seed, and puzzles, on which whole programs are compared with the core
NOISE_RUNS, NOISE_EXAMPLES, NOISE_TRIALS = 20, 60, 12
CALL, OVERHEAD = 0.020, 5.0  # seconds, percent


def measure(data: Path) -> Report:
    notes = [
        f"A policy as noisy as GPT-4, one for each seed, plays {TUNED_ON} puzzles for tuning. Scores and costs below"
        f" are the truth: of {len(puzzles(data)[1])} other puzzles, under {len(COINS)} policies that no tuner meets."
        " Best: the highest score of a grid, at the least cost. The mark: within 2 points of the best score, at no more"
        " than 1.1 times its cost.",
        f"Plain: Optuna's TPE, two objectives, all {TUNED_ON} puzzles a trial, at most {PLAIN_TRIALS} trials, the"
        " default first; its calls are counted up to the first trial that meets the mark, which only an oracle could"
        " know, or to the last trial. The tuner's are all that it paid, its final check included, and its own choice"
        " must meet the mark.",
        "In both the search core stands in for whole programs, which solve, make and pay the same, as is measured.",
        "Tuned against default: on the puzzles that were not tuned on, under the seed's own policy.",
        f"Noise: {NOISE_RUNS} runs on scores that are coins, and settings that all cost the same.",
        "What is calibrated, and demonstrations: the benchmarks `calibration` and `demos`, whose notes say how.",
    ]
    return Report("tune", "settings found, and calls paid for them, where the truth is known", list(rows(data)), notes)


@dataclass(frozen=True, slots=True)
class Found:
    """One seed's outcome. plain: calls until the mark, or of all trials. plain_met: in which trial; None: in none."""

    seed: int
    default: Point
    tuned: Point
    meets: bool
    paid: int
    plain: int
    plain_met: int | None
    against: Difference
    saving: float
    disagreements: int

    @property
    def in_time(self) -> bool:
        return self.meets and self.paid <= SHARE * self.plain

    @property
    def worse(self) -> bool:
        """By more than the interval."""
        return self.against.clear and self.against.difference < 0

    @property
    def gained(self) -> bool:
        """Better at no more cost, or cheaper at no lower score, as far as these puzzles can tell."""
        better = self.against.clear and self.against.difference > 0 and self.saving >= 0
        return better or (self.saving > 0 and not self.worse)

    def row(self) -> Row:
        met = "never" if self.plain_met is None else f"in trial {self.plain_met}"
        told = f"{self.tuned.cost:.1f} calls; paid {self.paid:,}; plain {self.plain:,}, {met}"
        return beside(f"seed {self.seed}: tuned, score", self.tuned.score, at=told)


def rows(data: Path) -> Iterator[Row]:
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        settings = list(grid())
        points = dict(pool.map(partial(truth_of, data), settings, chunksize=4))
        truth = Truth(data, points)
        values, best = truth.best()
        print(f"tune: best of the grid: {told(values)}: {best}", file=sys.stderr, flush=True)
        for one in settings:
            yield beside(f"grid: {told(one)}", points[key_of(one)].score, at=f"{points[key_of(one)].cost:.1f} calls")
        yield beside(f"best of the grid: {told(values)}", best.score, at=f"{best.cost:.1f} calls")
        found = list(_said(pool.map(partial(found_by, data, points), SEEDS)))
        claims = list(pool.map(noise, range(NOISE_RUNS)))
    default = found[0].default
    yield beside("default", default.score, at=f"{default.cost:.1f} calls")
    yield from (one.row() for one in found)
    yield at_least(
        "seeds in which it found the mark for a fifth of plain Optuna's calls", sum(o.in_time for o in found), 9
    )
    yield at_most(
        "seeds in which tuned is worse than default by more than the interval", sum(o.worse for o in found), 0
    )
    yield at_least(
        "seeds in which tuned is better for no more, or cheaper and as good", sum(o.gained for o in found), 9
    )
    compared = f"of {len(found) * AGREEING * PUZZLES}"
    yield exactly(
        "searches in which a whole program differs from the core", sum(o.disagreements for o in found), 0, compared
    )
    yield at_least("runs on noise that report no improvement", claims.count(False), 18, f"of {NOISE_RUNS}")
    yield at_most("wall time of the tuner itself, 20 ms a call", overhead(), OVERHEAD, "%")
    for beside_knobs in (calibration, demos):
        yield from beside_knobs.measure(data).rows


def _said(found: Iterable[Found]) -> Iterator[Found]:
    """It takes a while: each seed's outcome as it is known."""
    for one in found:
        row = one.row()
        print(f"tune: {row.figure} {row.measured:.3f}, {row.at}", file=sys.stderr, flush=True)
        yield one


def told(values: Mapping[str, Any]) -> str:
    """A setting of the grid, by what it varies."""
    own = (
        name for name in ("width", "threshold", "keep", "prune_below", "expansions") if f"controller.{name}" in values
    )
    varied = ", ".join(f"{name} {values[f'controller.{name}']}" for name in own)
    return f"{values['controller']}, {values['rate']}, branching {values['controller.branching']}, {varied}"


def truth_of(data: Path, values: Mapping[str, Any]) -> tuple[str, Point]:
    """In a process of its own, whose policies are kept."""
    return key_of(values), _truth(data).of(values)


@cache
def _truth(data: Path) -> Truth:
    return Truth(data)


def found_by(data: Path, points: Mapping[str, Point], seed: int) -> Found:
    logging.getLogger("thoughtree").setLevel(logging.ERROR)
    truth, problem = Truth(data, dict(points)), Problem(data, seed)
    _, best = truth.best()
    tuner = tuner_of(problem, solved, trials=TRIALS)
    with dspy.context(lm=problem.model):
        made: Any = tuner.compile(
            program(), trainset=problem.examples, space=NARROWED, pick="cheapest", tolerance=TOLERANCE
        )
    tuning: Tuning = made.detailed_results
    defaults = space().defaults()
    values = tuning.values if tuning.improved else defaults
    others = puzzles(data)[1]
    mine, theirs = problem.on(others, values), problem.on(others, defaults)
    met, calls = plain(problem, truth, best)
    whole = [values, *(s.values for s in tuning.settings.values())][:AGREEING]
    return Found(
        seed=seed,
        default=truth.of(defaults),
        tuned=truth.of(values),
        meets=truth.meets(values, best),
        paid=tuning.paid,
        plain=calls,
        plain_met=met,
        against=Difference.of([(float(a.solved), float(b.solved)) for a, b in zip(mine, theirs, strict=True)]),
        saving=point(theirs).cost - point(mine).cost,
        disagreements=disagreements(problem, whole, problem.tuned_on[:PUZZLES]),
    )


def plain(problem: Problem, truth: Truth, best: Point) -> tuple[int | None, int]:
    """The trial of Optuna alone that meets the mark, or None; and LM calls up to it, or of all trials."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    calls = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(seed=problem.seed)
        study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    study.enqueue_trial(space().params(space().defaults()))
    for number in range(PLAIN_TRIALS):
        trial = study.ask()
        values = space().suggest(trial)
        outcomes = problem.on(problem.tuned_on, values)
        calls += sum(outcome.proposals + outcome.ratings for outcome in outcomes)
        if truth.meets(values, best):
            return number, calls
        scored = point(outcomes)
        study.tell(trial, [scored.score, scored.cost])
    return None, calls


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
