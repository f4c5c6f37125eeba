"""HumanEval without a model: which of the recorded programs to hand in, from visible tests and agreement."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from thoughtree.tasks.hidden_tests import passes
from thoughtree.tasks.sandbox import Check, Checked, Sandbox
from thoughtree.tasks.visible_tests import preamble, visible_tests

from .data import DataMissing, lines
from .report import Report, Row, at_least, beside

REACH = 109  # of the 115 tasks in the folder
TYPING = "from typing import *\n"  # the recorded programs use its names without importing them
PROCESSES = 2
SANDBOX = Sandbox(cpu_seconds=3, wall_seconds=12)


@dataclass(frozen=True, slots=True)
class Problem:
    """A task and its recorded programs. asserts: recorded ones, that models wrote, right or wrong."""

    id: str
    entry: str
    setup: str
    visible: tuple[Check, ...]
    asserts: tuple[Check, ...]
    hidden: str
    programs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program with what the visible tests and the recorded asserts said of it."""

    problem: Problem
    program: str
    ok: bool
    visible: tuple[Checked, ...]
    asserts: tuple[Checked, ...]

    @property
    def rate(self) -> float:
        """The share of visible tests passed; without any, whether it ran."""
        passed = [check.passed for check in self.visible] or [self.ok]
        return sum(passed) / len(passed)


def problems(data: Path) -> list[Problem]:
    """The tasks in the folder. No verdict recorded there is read."""
    tasks = {row["id"]: row for row in lines(data / "sets" / "humaneval.jsonl")}
    recorded = [row for row in lines(data / "sets" / "humaneval_lm_solutions.jsonl") if row["id"] in tasks]
    if not recorded:
        raise DataMissing(f"{data / 'sets'}: no recorded solution of a task that is there")
    found = []
    for row in recorded:
        task = tasks[row["id"]]
        entry = task["entry_point"]
        found.append(
            Problem(
                row["id"],
                entry,
                TYPING + preamble(task["prompt"], entry),
                visible_tests(task["visible_tests"], entry),
                visible_tests([text for text, _ in row["lm_tests"]], entry),
                task["test"],
                tuple(solution["code"] for solution in row["solutions"]),
            )
        )
    return found


def tried(problem: Problem, program: str) -> Candidate:
    """One run: the visible tests, then the recorded asserts."""
    result = SANDBOX.run(program, checks=[*problem.visible, *problem.asserts], setup=problem.setup)
    shown = len(problem.visible)
    return Candidate(problem, program, result.ok, result.checks[:shown], result.checks[shown:])


def finalists(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Most visible tests passed; then, of those, the largest agreement. Several where that does not tell them apart.

    Programs agree that give the same on every recorded assert; a group weighs as many as its members times the asserts
    that they pass (Chen et al. 2022, "CodeT", arXiv 2207.10397, which groups by verdicts alone).
    """
    best = max(candidate.rate for candidate in candidates)
    fitting = [candidate for candidate in candidates if candidate.rate == best]
    groups = Counter(candidate.asserts for candidate in fitting)
    weights = [groups[c.asserts] * (1 + sum(check.passed for check in c.asserts)) for c in fitting]
    return [candidate for candidate, weight in zip(fitting, weights, strict=True) if weight == max(weights)]


def chosen(candidates: Sequence[Candidate]) -> Candidate:
    """A finalist, drawn by hash: the order of the recording is not neutral."""
    return max(finalists(candidates), key=lambda one: hashlib.sha256(one.program.encode()).hexdigest())


def solves(candidate: Candidate) -> bool:
    """The one hidden run of a task."""
    problem = candidate.problem
    return passes(candidate.program, problem.hidden, SANDBOX, entry=problem.entry, setup=problem.setup)


def run(data: Path) -> Iterator[Row]:
    found = problems(data)
    with ThreadPoolExecutor(PROCESSES) as pool:
        pairs = [(problem, program) for problem in found for program in problem.programs]
        candidates = list(pool.map(lambda pair: tried(*pair), pairs))
        groups = [[one for one in candidates if one.problem is problem] for problem in found]
        solved = sum(pool.map(solves, map(chosen, groups)))
    of = f"{len(found)} tasks, {len(candidates)} programs"
    yield at_least("visible tests, then agreement", solved, REACH, "solved", of)
    right = _recorded(data)
    for figure, pick in (("the same, ties at random", finalists), ("random choice", list[Candidate])):
        shares = (mean(right[one.problem.id, one.program] for one in pick(group)) for group in groups)
        yield beside(figure, float(sum(shares)), "solved on average", of)
    some = sum(any(right[one.problem.id, one.program] for one in group) for group in groups)
    yield beside("any program that is right", some, "solved", of)


def _recorded(data: Path) -> dict[tuple[str, str], bool]:
    """Whether each program passes the hidden tests, as recorded: for what is printed beside, and for no choice."""
    rows = lines(data / "sets" / "humaneval_lm_solutions.jsonl")
    return {(row["id"], one["code"]): bool(one["passes_hidden"]) for row in rows for one in row["solutions"]}


def measure(data: Path) -> Report:
    return Report(
        "humaneval",
        "which recorded program to hand in, without a model: visible tests, then agreement, one hidden run a task",
        list(run(data)),
        [
            "The choice reads visible tests and recorded asserts, right and wrong ones alike; no recorded verdict.",
            "Averages are over the recorded verdicts. Recorded final programs were picked by a search that saw the"
            " hidden tests, so these are no pass rates of a model.",
        ],
    )
