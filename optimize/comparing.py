"""`compare`: search programs against what needs no search, at equal spending, on the user's own examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dspy

from ..modules.calls.gate import gate
from ..modules.pricing import priceable
from ..modules.program import Program
from ..modules.roles import lms_of
from .comparing_baselines import Attempts, Reward, SelfConsistency, metric_for_all, question_of, reward_of
from .comparing_report import MEASURED, NEAR, Comparison, Entry, Match, difference_of
from .evaluate import Evaluate
from .evaluation import EvaluationResult, EvaluationStopped

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
    num_threads: int | None = None,
    max_errors: int | None = None,
    display_progress: bool = False,
    resume: str | Path | None = None,
) -> Comparison:
    """Evaluate programs, and answers without a search that spend as much, on the same examples.

        found = compare([tree], devset, exact_match, match="tokens")
        print(found.summary())

    programs: a list, or names with programs; at least one is a search of ours, and the first one is the reference. Each
    runs as it is. The baselines are built from the reference's signature and its task's instructions, and call its
    proposer's LM, at its prices: one direct answer; one chain of thought; self-consistency; dspy.BestOfN and
    dspy.Refine, which stop at an answer that is verified, as a search does. The last three take as many samples as
    spend what the reference spends on an example, on average, within 10 % where that can be had: found in at most three
    runs each, of which the nearest counts.

    match: "calls", "tokens" or "dollars". baselines: only these. reward_fn: of the attempts of BestOfN and Refine,
    `reward_fn(inputs, prediction)`, 1.0 for an answer to stop at; None: the task's own check, or the search's reward.
    It must know no labels. metric: any of DSPy's kinds; `thoughtree.solved` checks the baselines' answers by the
    reference's task. num_threads, max_errors, display_progress: as Evaluate's. resume: a folder, with one of Evaluate's
    in it for each program and baseline, from which the same comparison goes on after a kill without paying again.

    Raises ValueError where no program is a search, for unknown names, and for dollars that nobody knows;
    EvaluationStopped where the evaluation of a program of the user's does. A baseline's is told in `left_out`.
    """
    named = _named(programs)
    reference = next((name for name, program in named.items() if isinstance(program, Program)), None)
    if reference is None:
        raise ValueError(f"programs={list(named)}: none is a search, so there is no spending to match; add one")
    if match not in MEASURED:
        raise ValueError(f"match={match!r}: must be one of {', '.join(map(repr, MEASURED))}")
    wanted = tuple(baselines)
    for name in wanted:
        if name not in BASELINES:
            raise ValueError(f"baselines={wanted!r}: {name!r} is none of {', '.join(map(repr, BASELINES))}")
    search: Program = named[reference]
    if match == "dollars":
        _refuse_unpriced(search)
    evaluate = Evaluate(
        devset=devset,
        metric=metric_for_all(metric, search),
        num_threads=num_threads,
        max_errors=max_errors,
        display_progress=display_progress,
    )
    entries = [
        Entry(name, "search" if isinstance(program, Program) else "other", result, spending(result, match))
        for number, (name, program) in enumerate(named.items(), 1)
        for result in [evaluate(program, resume=_inside(resume, f"program {number}"))]
    ]
    goal = next(entry for entry in entries if entry.name == reference)
    if not goal.spent:
        raise ValueError(f"match={match!r}: {reference} spent none, so there is nothing to match; give match='calls'")
    lm = lms_of(search).get("propose") or dspy.settings.lm
    if isinstance(lm, dspy.BaseLM) and search.prices:
        lm = gate(lm, prices=search.prices, retries=True)
    with dspy.context(lm=lm):
        bench = _Bench(evaluate, search, match, goal.spent, reward_fn or reward_of(search), resume)
        for name in wanted:
            entries += bench.run(name)
    compared = tuple(_against(goal, entry) for entry in entries)
    return Comparison(compared, reference, match, bench.left_out, bench.trials)


class _Bench:
    """Runs the baselines, one after the other."""

    def __init__(
        self,
        evaluate: Evaluate,
        search: Program,
        match: Match,
        goal: float,
        reward: Reward | None,
        resume: str | Path | None,
    ) -> None:
        self.evaluate, self.goal, self.reward, self.resume = evaluate, goal, reward, resume
        self.match: Match = match
        self.question = question_of(search)
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
            self.left_out[name] = "nothing but labels can tell a good attempt: the task has no check; give reward_fn="
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
    """The mean on a scored example. ValueError for dollars that nobody knows."""
    found = result.per_example(MEASURED[match])
    if found is None:
        raise ValueError(f"match={match!r}: {result.unpriced} calls have no known price; give match='tokens'")
    return found


def _refuse_unpriced(search: Program) -> None:
    """Before anything is paid for."""
    for role, lm in lms_of(search).items():
        if lm is not None and not priceable(lm, search.prices):
            raise ValueError(
                f"match='dollars': the price of {lm.model} (role {role}) is not known; give the search "
                f"prices={{{lm.model!r}: (dollars per million tokens in, out)}}, or match='tokens'"
            )


def _inside(folder: str | Path | None, name: str) -> Path | None:
    return None if folder is None else Path(folder) / name


def _count(n: float) -> int:
    return max(1, min(MOST_SAMPLES, round(n)))


def _against(reference: Entry, entry: Entry) -> Entry:
    if entry is reference:
        return entry
    difference = difference_of(reference, entry)
    return Entry(entry.name, entry.kind, entry.result, entry.spent, entry.samples, difference)


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
