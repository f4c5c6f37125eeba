"""`BootstrapSearch`: demonstrations for every role, from searches that found a solution, and from what died in them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.teleprompt import Teleprompter

from ..modules.parts import copy_of
from .demo_selection import Counts, Selection, selected
from .gathering import Gathered, Gatherer, NoRuns
from .metrics import solved
from .role_demos import Demo, demos_of
from .scoring import Scorer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Bootstrapped:
    """What a BootstrapSearch found.

    runs: examples that were run, rounds included. accepted: how many the metric accepted. errors: of the runs that
    failed, one line each. demos: how many, by the names of the predictors.
    """

    runs: int
    accepted: int
    errors: tuple[str, ...]
    demos: dict[str, Counts]

    def summary(self) -> str:
        """A line on the runs, and one on each predictor."""
        lines = [
            f"{self.accepted} of {self.runs} runs were accepted" + (f", {len(self.errors)} failed" * bool(self.errors))
        ]
        for name, counts in self.demos.items():
            classes = f" ({counts.good} good, {counts.bad} bad)" if counts.good or counts.bad else ""
            told = f"  {name}: {counts.shown} of {counts.found} demos{classes}, about {counts.tokens} tokens"
            if counts.found and not counts.shown:
                told += "; all are of one class, or too long"
            lines.append(told)
        return "\n".join(lines)


class BootstrapSearch(Teleprompter):
    """Demonstrations for each role, where BootstrapFewShot takes one call of each search.

        compiled = BootstrapSearch(max_demos=8).compile(program, trainset=examples)
        print(compiled.detailed_results.summary())

    A proposer is shown what was proposed on the way to a solution, without the illegal steps and the dead ends; a rater
    as many states that a solution follows as states that are known to be dead, each rightly rated; a world model
    predictions that the task's own rules confirm, where it has them; a reflector lessons that a success was built on;
    the closing call right answers. Other predictors of a pipeline are shown what they did where its answer was right.

    metric: any of DSPy's kinds; a prediction is accepted above 0, or from metric_threshold on. max_demos, max_tokens:
    for each predictor, at most (a token: four characters). per_search: demos of one search and class, at most.
    max_rounds: how often an example that was not accepted is run, each time with other samples. num_threads: examples
    at once (None: DSPy's setting, 8). max_errors: runs that may fail (None: DSPy's setting). proposals_are_all: trust
    the proposer to have named all that can follow, see `hindsight.labels`.
    """

    def __init__(
        self,
        metric: Callable[..., Any] | None = None,
        *,
        metric_threshold: float | None = None,
        max_demos: int = 8,
        max_tokens: int = 4_000,
        per_search: int = 4,
        max_rounds: int = 1,
        num_threads: int | None = None,
        max_errors: int | None = None,
        teacher_settings: dict[str, Any] | None = None,
        proposals_are_all: bool = False,
    ) -> None:
        super().__init__()
        self.metric = solved if metric is None else metric
        self.scorer = Scorer(self.metric)
        for name, least, value in (
            ("max_demos", 1, max_demos),
            ("max_tokens", 1, max_tokens),
            ("per_search", 1, per_search),
            ("max_rounds", 1, max_rounds),
            ("num_threads", 1, num_threads),
            ("max_errors", 0, max_errors),
        ):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
                raise ValueError(f"{name}={value!r}: must be a whole number of at least {least}")
        self.metric_threshold, self.max_rounds = metric_threshold, max_rounds
        self.max_demos, self.max_tokens, self.per_search = max_demos, max_tokens, per_search
        self.num_threads, self.max_errors = num_threads, max_errors
        self.teacher_settings = dict(teacher_settings or {})
        self.proposals_are_all = proposals_are_all

    def compile(
        self, student: dspy.Module, *, trainset: Sequence[dspy.Example], teacher: dspy.Module | None = None
    ) -> dspy.Module:
        """A copy of `student` with demonstrations; a predictor that none were found for keeps those it has.

        trainset: examples to run, until every predictor has enough. teacher: the program to run instead, with the same
        predictors. The copy has `detailed_results` (a Bootstrapped). Raises ValueError for arguments that cannot be
        right, or where every run failed, and the error of a run where more than max_errors fail.
        """
        if not trainset:
            raise ValueError("trainset=[]: there is nothing to search")
        runner = student if teacher is None else _alike(teacher, student)
        names = {id(predictor): name for name, predictor in runner.named_predictors()}
        gathered: list[Gathered] = []
        found: dict[str, list[list[Demo]]] = {name: [] for name in names.values()}
        selections: dict[str, Selection] = {}
        with dspy.context(**self.teacher_settings):
            for batch in self._batches(runner, trainset):
                gathered.extend(batch)
                for one in batch:
                    for name, demos in _by_predictor(one, names).items():
                        found[name].append(demos)
                selections = {name: self._selected(searches) for name, searches in found.items()}
                if all(map(self._enough, selections.values())):
                    break
        if all(one.error is not None for one in gathered):
            raise NoRuns(gathered, "learnt")
        made = copy_of(student)
        for name, predictor in made.named_predictors():
            if selections[name].demos:
                predictor.demos = [demo.example() for demo in selections[name].demos]
        extra: Any = made
        extra.detailed_results = Bootstrapped(
            runs=len(gathered),
            accepted=sum(one.accepted for one in gathered),
            errors=tuple(one.error for one in gathered if one.error is not None),
            demos={name: chosen.counts() for name, chosen in selections.items()},
        )
        told: Bootstrapped = extra.detailed_results
        logger.log(logging.WARNING if told.errors or not told.accepted else logging.INFO, "%s", told.summary())
        return made

    def _batches(self, runner: dspy.Module, trainset: Sequence[dspy.Example]) -> Iterator[list[Gathered]]:
        """All examples, `num_threads` at a time, then those that were not accepted, once more with other samples."""
        threads = self.num_threads or dspy.settings.num_threads or 8
        gatherer = Gatherer(
            runner,
            self.scorer,
            threads,
            self.metric_threshold,
            self.proposals_are_all,
            dspy.settings.max_errors if self.max_errors is None else self.max_errors,
        )
        left = list(trainset)
        for round in range(self.max_rounds):
            failed: list[dspy.Example] = []
            for begin in range(0, len(left), threads):
                found = gatherer.run(left[begin : begin + threads], round)
                failed += [one.example for one in found if not one.accepted]
                yield found
            left = failed

    def _selected(self, searches: Sequence[Sequence[Demo]]) -> Selection:
        return selected(searches, most=self.max_demos, per_search=self.per_search, tokens=self.max_tokens)

    def _enough(self, chosen: Selection) -> bool:
        """No more fit. Pairs of two classes fill an even number."""
        paired = any(demo.truth is not None for demo in chosen.demos)
        return len(chosen.demos) >= self.max_demos - (self.max_demos % 2 if paired else 0)


def _by_predictor(one: Gathered, names: dict[int, str]) -> dict[str, list[Demo]]:
    found: dict[str, list[Demo]] = {}
    for seen in one.searches:
        own = {id(predictor): name for name, predictor in seen.program.named_predictors()}
        for demo in demos_of(seen):
            found.setdefault(f"{seen.path}.{own[id(demo.predictor)]}".removeprefix("."), []).append(demo)
    for predictor, inputs, made in one.others if one.accepted else ():
        if (name := names.get(id(predictor))) is not None:
            found.setdefault(name, []).append(Demo(predictor, {**inputs, **made.toDict()}))
    return found


def _alike(teacher: dspy.Module, student: dspy.Module) -> dspy.Module:
    ours, theirs = ({name for name, _ in module.named_predictors()} for module in (student, teacher))
    if ours != theirs:
        raise ValueError(
            f"teacher={type(teacher).__name__}: its predictors are {sorted(theirs)}, the student's {sorted(ours)}; "
            "give a program of the same roles"
        )
    return teacher
