"""Hindsight: finished searches as a data set for each role, on which one role is tuned at one call an example."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from os import PathLike
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import dspy
from dspy.evaluate.evaluate import EvaluationResult as Evaluated

from ..modules.header import digest, settled
from ..modules.prediction import SearchPrediction
from ..modules.program import Program
from ..modules.trace import Trace
from ..search import SearchResult
from ..search.protocol import Illegal, Propose, Rate
from ..tasks import Task, stepping
from ..tasks.environment_task import EnvironmentTask
from .gathering import accepts
from .hindsight import labels
from .replaying import journals_in, replayed
from .role_example import RoleExample, reply_of
from .scoring import Scorer
from .seen import ROLE_OF, Seen

Sets: TypeAlias = dict[str, list[RoleExample]]
ROLES = ("propose", "rate", "world")  # whose replies can be judged by themselves


def role_examples(
    results: Any,
    program: Program,
    *,
    examples: Sequence[dspy.Example] | None = None,
    metric: Callable[..., Any] | None = None,
    metric_threshold: float | None = None,
    roles: Iterable[str] | None = None,
    balanced: bool = True,
    proposals_are_all: bool = False,
    seed: int = 0,
) -> Sets:
    """A data set for each role of `program`: state to steps, state to verdict, state and action to next state.

        sets = role_examples(program.batch(trainset), program)
        tuned = dspy.BootstrapFewShot(metric=role_metric).compile(program.rate, trainset=sets["rate"])

    results: what searches of this program left: predictions, (example, prediction) pairs, an evaluation, traces, or
    journals (files and folders of them, which need `examples`). metric: whether an answer is right, where code cannot
    tell; it needs the examples, and accepts from metric_threshold on (None: above 0). roles: only these. balanced: as
    many good states as bad ones among the ratings. proposals_are_all: see `labels`. seed: of what is left out to
    balance.

    A verdict's label is what the search found below the state, or what code says; a state of which neither tells is
    left out. The right steps are those that a solution follows. Equal examples are given once; of two that contradict
    each other, the one with a solution is right. Raises TypeError and ValueError for results that cannot be used.
    """
    wanted = tuple(ROLES if roles is None else roles)
    for name in wanted:
        if name not in ROLES:
            raise ValueError(f"roles={wanted!r}: {name!r} is none of {', '.join(map(repr, ROLES))}")
    if not isinstance(program, Program):
        raise TypeError(f"program={type(program).__name__}: must be one of ours; of a pipeline, give the inner program")
    seen = list(seen_in(results, program, examples, metric, metric_threshold, proposals_are_all))
    return sets_of(seen, wanted, balanced=balanced, seed=seed)


def sets_of(seen: Iterable[Seen], roles: Sequence[str] = ROLES, *, balanced: bool = True, seed: int = 0) -> Sets:
    """The same, of searches that were seen."""
    found: dict[str, dict[str, RoleExample]] = {role: {} for role in roles}
    for one in seen:
        for example in examples_of(one, roles):
            kept, key = found[example.role], digest(settled(dict(example.inputs().items())))
            if key not in kept or (example.truth and not kept[key].truth):
                kept[key] = example
    sets = {role: list(kept.values()) for role, kept in found.items() if kept}
    if balanced and "rate" in sets:
        sets["rate"] = balance(sets["rate"], seed)
    return sets


def balance(examples: Sequence[RoleExample], seed: int = 0) -> list[RoleExample]:
    """As many good as bad ones, in their order; those that are neither stay. One class alone stays as it is."""
    good = [i for i, example in enumerate(examples) if example.truth is True]
    bad = [i for i, example in enumerate(examples) if example.truth is False]
    if not good or not bad:
        return list(examples)
    rng, size = Random(seed), min(len(good), len(bad))
    kept = {*rng.sample(good, size), *rng.sample(bad, size)}
    return [example for i, example in enumerate(examples) if example.truth is None or i in kept]


def examples_of(seen: Seen, roles: Sequence[str]) -> Iterator[RoleExample]:
    """Of one search, in the order of its requests, with those that contradict each other."""
    for request in seen.requests():
        role = ROLE_OF[type(request)]
        if role not in roles or (isinstance(request, Propose | Rate) and request.sample):
            continue
        evidence = seen.evidence(request)
        reply = {} if evidence is None else reply_of(evidence)
        if reply:
            inputs = seen.fields(request)
            yield RoleExample(role=role, evidence=evidence, **inputs, **reply).with_inputs(*inputs)


# ---- what results may be


def seen_in(
    results: Any,
    program: Program,
    examples: Sequence[dspy.Example] | None,
    metric: Any,
    threshold: float | None,
    proposals_are_all: bool,
) -> Iterator[Seen]:
    """Each search that `results` hold, in any of the forms that `role_examples` takes."""
    scorer = None if metric is None else Scorer(metric)
    for example, thing in _pairs(results, program, examples):
        accepted = None
        if scorer is not None:
            if example is None:
                raise ValueError("metric=: needs the example of each result; give examples=, or (example, prediction)")
            prediction = thing if isinstance(thing, SearchPrediction) else _answer(thing)
            accepted = accepts(scorer.read(scorer.call(example, prediction)).value, threshold)
        if isinstance(thing, Trace):
            yield Seen.of(thing, accepted=accepted, proposals_are_all=proposals_are_all)
            continue
        result: Any = thing
        inputs = None if example is None else dict(example.inputs().items())
        if isinstance(thing, SearchPrediction):
            result, inputs = thing.search, thing._inputs or inputs
        if inputs is None:
            raise ValueError("a result says nothing of its inputs; give (example, result), or examples= in its order")
        if result.task is None:
            raise ValueError("this result has no task; load it with one: SearchResult.load(path, task)")
        result = restored(result)
        known = labels(result, accepted=accepted, proposals_are_all=proposals_are_all)
        yield Seen(program, inputs, result, known, accepted=accepted)


def restored(result: SearchResult[Any, Any]) -> SearchResult[Any, Any]:
    """A result that was loaded from a file, with the task's own actions again; any other as it is."""
    task: Any = result.task
    if not result.explained or not isinstance(task, Task) or isinstance(task, EnvironmentTask):
        return result
    tree = deepcopy(result.tree)
    for node in tree:
        parent = tree[node.parent or 0].state
        if isinstance(node.action, str) and parent is not None:
            action = stepping.parse(task, parent, node.action)
            node.action = node.action if isinstance(action, Illegal) else action
    return result.replace(tree=tree, best=tree[result.best.id])


def _answer(thing: Any) -> SearchPrediction:
    """What the search of a journal, or a saved one, answered."""
    result: Any = thing.result if isinstance(thing, Trace) else thing
    return SearchPrediction(search=result, **(result.answer or {}))


def _pairs(
    results: Any, program: Program, examples: Sequence[dspy.Example] | None
) -> Iterator[tuple[dspy.Example | None, Any]]:
    if isinstance(results, Evaluated):  # what failed, it lists itself
        results = [triple for triple in results.results if isinstance(triple[1], SearchPrediction)]
    elif isinstance(results, SearchPrediction | SearchResult | Trace | str | PathLike):
        results = [results]
    elif not isinstance(results, Iterable) or isinstance(results, dspy.Example):
        results = [_known(results)]
    results = list(results)
    for number, thing in enumerate(results):
        if isinstance(thing, str | PathLike):
            if examples is None:
                raise ValueError(f"{thing}: a journal names its inputs by a digest alone; give examples=")
            yield from replayed(program, journals_in(Path(thing)), examples)
        elif isinstance(thing, tuple):
            example, found, *_ = thing
            yield example, _known(found)
        else:
            example = examples[number] if examples is not None and len(examples) == len(results) else None
            yield example, _known(thing)


def _known(thing: Any) -> Any:
    if isinstance(thing, SearchPrediction | SearchResult | Trace):
        return thing
    raise TypeError(
        f"results: {type(thing).__name__} is no prediction of a search; give those that the program returned, "
        "(example, prediction) pairs, an evaluation's result, or journals"
    )
