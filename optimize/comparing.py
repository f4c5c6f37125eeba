"""`compare`: search programs against what needs no search, at equal spending, on the user's own examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dspy

from .comparing_baselines import Attempts, Reward, SelfConsistency, metric_for_all
from .comparing_reference import Reference, reference_of
from .comparing_report import MEASURED, NEAR, Comparison, Entry, Match, against
from .evaluate import Evaluate
from .evaluation import EvaluationResult, EvaluationStopped
from .shared_run import SharedRun
from .space import holds_search

DIRECT, THOUGHT, VOTED, BEST, REFINED = "direct answer", "chain of thought", "self-consistency", "BestOfN", "Refine"
BASELINES = (DIRECT, THOUGHT, VOTED, BEST, REFINED)
ROUNDS = 3  # of finding a number of samples
MOST_SAMPLES = 500


def compare(
    programs: Sequence[Any] | Mapping[str, Any],
    devset: Sequence[dspy.Example],
    metric: Callable[..., Any],
    *,
    match: Match = "calls",
    baselines: Iterable[str] = BASELINES,
    reward_fn: Reward | None = None,
    signature: Any = None,
    num_threads: int | None = None,
    max_errors: int | None = None,
    display_progress: bool = False,
    resume: str | Path | SharedRun | None = None,
) -> Comparison:
    """Evaluate programs, and answers without a search that spend as much, on the same examples.

        found = compare([tree], devset, exact_match, match="tokens")
        print(found.summary())

    programs: a list, or names with programs; at least one is a search of ours, or a module with searches inside, and
    the first such is the reference. Each runs as it is. The baselines are built from the reference's signature and its
    task's instructions, and call its proposer's LM, at its prices: one direct answer; one chain of thought;
    self-consistency; dspy.BestOfN and dspy.Refine, which stop at an answer that is verified, as a search does. The last
    three take as many samples as spend what the reference spends on an example, on average, within 10 % where that can
    be had: found in at most three runs each, of which the nearest counts.

    match: "calls", "tokens" or "dollars", of all examples that were run, those that failed too. signature: what the
    baselines answer, such as "question -> answer"; None: the search's own, which a pipeline may put other questions to
    than the examples do. baselines: only these. reward_fn: of the attempts of BestOfN and Refine,
    `reward_fn(inputs, prediction)`, 1.0 for an answer to stop at; None: the task's own check, or the search's reward.
    It must know no labels. metric: any of DSPy's kinds; `thoughtree.solved` checks the baselines' answers by the
    reference's task. num_threads, max_errors, display_progress: as Evaluate's. resume: a folder, with one of Evaluate's
    in it for each program and baseline, from which the same comparison goes on after a kill without paying again; a
    SharedRun: several processes make it together.

    Raises ValueError where no program holds a search, or nothing says what a baseline answers, for unknown names, and
    for dollars that nobody knows; EvaluationStopped where the evaluation of a program of the user's does. A baseline's
    is told in `left_out`.
    """
    named = _named(programs)
    reference = reference_of(named, devset, signature)
    if match not in MEASURED:
        raise ValueError(f"match={match!r}: must be one of {', '.join(map(repr, MEASURED))}")
    wanted = tuple(baselines)
    for name in wanted:
        if name not in BASELINES:
            raise ValueError(f"baselines={wanted!r}: {name!r} is none of {', '.join(map(repr, BASELINES))}")
    if match == "dollars":
        reference.refuse_unpriced()
    evaluate = Evaluate(
        devset=devset,
        metric=metric if reference.search is None else metric_for_all(metric, reference.search),
        num_threads=num_threads,
        max_errors=max_errors,
        display_progress=display_progress,
    )
    entries = [
        Entry(name, "search" if holds_search(program) else "other", result, spending(result, match))
        for number, (name, program) in enumerate(named.items(), 1)
        for result in [evaluate(program, resume=_inside(resume, f"program {number}"))]
    ]
    goal = next(entry for entry in entries if entry.name == reference.name)
    if not goal.spent:
        raise ValueError(
            f"match={match!r}: {reference.name} spent none, so there is nothing to match; give match='calls'"
        )
    with dspy.context(lm=reference.lm()):
        bench = _Bench(evaluate, reference, match, goal.spent, reward_fn or reference.reward, resume)
        for name in wanted:
            entries += bench.run(name)
    return Comparison(against(goal, entries), reference.name, match, bench.left_out, bench.trials)


class _Bench:
    """Runs the baselines, one after the other."""

    def __init__(
        self,
        evaluate: Evaluate,
        reference: Reference,
        match: Match,
        goal: float,
        reward: Reward | None,
        resume: str | Path | SharedRun | None,
    ) -> None:
        self.evaluate, self.goal, self.reward, self.resume = evaluate, goal, reward, resume
        self.match: Match = match
        self.question = reference.question
        self.left_out: dict[str, str] = {}
        self.trials = 0
        self._unit: float | None = None

    def run(self, name: str) -> list[Entry]:
        """Its entry; none, with the reason kept, where it cannot be made: what the others found is paid for."""
        try:
            return self._run(name)
        except EvaluationStopped as stopped:
            self.trials += stopped.result.spent.calls
            self.left_out[name] = str(stopped)
            return []

    def _run(self, name: str) -> list[Entry]:
        if name == DIRECT:
            return [self._entry(name, self._evaluated(dspy.Predict(self.question), name))]
        if name == THOUGHT:
            return [self._entry(name, self._thought())]
        if name == VOTED:
            return [self._matched(name, lambda n: SelfConsistency(self.question, n), 1)]
        reward = self.reward
        if reward is None:
            self.left_out[name] = "nothing but labels can tell a good attempt: no task checks it; give reward_fn="
            return []
        if name == BEST:
            return [self._matched(name, lambda n: Attempts(dspy.BestOfN, self.question, n, reward), 1)]
        return [self._matched(name, lambda n: Attempts(dspy.Refine, self.question, n, reward), 2)]

    def _thought(self) -> EvaluationResult:
        found = self._evaluated(dspy.ChainOfThought(self.question), THOUGHT)
        self._unit = spending(found, self.match)
        return found

    def _evaluated(self, program: dspy.Module, name: str) -> EvaluationResult:
        found: EvaluationResult = self.evaluate(program, resume=_inside(self.resume, name))
        return found

    def _entry(self, name: str, result: EvaluationResult, samples: int | None = None) -> Entry:
        return Entry(name, "baseline", result, spending(result, self.match), samples)

    def _matched(self, name: str, make: Callable[[int], Any], calls: int) -> Entry:
        """calls: of one sample, about: the first guess is that each spends as much as one chain of thought."""
        if self._unit is None:
            self.trials += self._thought().spent.calls
        unit = (self._unit or 0.0) * calls
        tried: dict[int, Entry] = {}
        n = _count(self.goal / unit) if unit else 1
        while n not in tried and len(tried) < ROUNDS:
            tried[n] = self._entry(name, self._evaluated(make(n), f"{name} x {n}"), n)
            spent = tried[n].spent
            if not spent or abs(spent - self.goal) <= NEAR * self.goal:
                break
            n = min(_count(n * self.goal / spent), 4 * n)
        chosen = min(tried.values(), key=lambda entry: (abs(entry.spent - self.goal), entry.samples or 0))
        self.trials += sum(entry.result.spent.calls for entry in tried.values() if entry is not chosen)
        return chosen


def spending(result: EvaluationResult, match: Match) -> float:
    """The mean on an example, whether it was scored or failed. ValueError for dollars that nobody knows."""
    found = result.per_example(MEASURED[match], failed=True)
    if found is None:
        raise ValueError(f"match={match!r}: {result.unpriced} calls have no known price; give match='tokens'")
    return found


def _inside(folder: str | Path | SharedRun | None, name: str) -> Path | SharedRun | None:
    return None if folder is None else (folder if isinstance(folder, SharedRun) else Path(folder)) / name


def _count(n: float) -> int:
    return max(1, min(MOST_SAMPLES, round(n)))


def _named(programs: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(programs, Mapping):
        named = {str(name): program for name, program in programs.items()}
    else:
        named = {}
        for program in [programs] if isinstance(programs, dspy.Module) else programs:
            kind = type(program).__name__
            count = sum(name.partition(" #")[0] == kind for name in named)
            named[f"{kind} #{count + 1}" if count else kind] = program
    for name in named:
        if name in BASELINES:
            raise ValueError(f"programs={{{name!r}: ...}}: this is a baseline's name; give the program another")
    return named
