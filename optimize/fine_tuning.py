"""Supervised rows: what each role said rightly, as the messages of a chat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import dspy

from ..modules.header import digest
from ..modules.program import Program
from ..search.protocol import Answer, Propose, Rate, Step
from ..search.story import Story, Told
from .chat import exchange
from .replaying import journals_in
from .role_demos import demos_of
from .role_sets import ROLES, examples_of, seen_in
from .seen import ROLE_OF, Seen

ALL = ("propose", "rate", "world", "reflect", "answer")


def supervised_rows(
    results: Any,
    program: Program | None = None,
    *,
    roles: Iterable[str] | None = None,
    examples: Sequence[dspy.Example] | None = None,
    metric: Callable[..., Any] | None = None,
    metric_threshold: float | None = None,
    proposals_are_all: bool = False,
) -> list[dict[str, Any]]:
    """Rows for fine-tuning, in the chat format: {"messages": [system, user, assistant]}, a row a call.

        rows = supervised_rows("runs/", program, examples=trainset)

    Of journals (and of traces) the calls that were right, as `BootstrapSearch` chooses demonstrations: proposals on the
    way to a solution without dead ends, ratings that the search bore out, right predictions, lessons that helped,
    right answers. Of predictions and results, which hold no replies, the replies that are known to be right, as of
    `role_examples`: without a reasoning, which is nobody's to invent. Prompts are the program's, without its
    demonstrations, as the configured adapter writes them.

    results, examples, metric, metric_threshold, proposals_are_all: as of `role_examples`. roles: only these of
    propose, rate, world, reflect, answer. program: may be left out for journals alone: then the calls on the path to a
    solution, to the letter. Equal rows are given once.
    """
    wanted = tuple(ALL if roles is None else roles)
    for name in wanted:
        if name not in ALL:
            raise ValueError(f"roles={wanted!r}: {name!r} is none of {', '.join(map(repr, ALL))}")
    if program is None:
        if metric is not None:
            raise ValueError("metric=: needs the program that made these results")
        made = (row for story in _stories(results) for row in _to_the_letter(story, wanted))
    else:
        seen = seen_in(results, program, examples, metric, metric_threshold, proposals_are_all)
        made = (row for one in seen for row in _of_seen(one, wanted))
    return list({digest(row): row for row in made}.values())


def _of_seen(seen: Seen, roles: Sequence[str]) -> Iterator[dict[str, Any]]:
    predictors = {id(predictor): name.partition(".")[0] for name, predictor in seen.program.named_predictors()}
    if seen.entries:
        for demo in demos_of(seen):
            if predictors.get(id(demo.predictor)) in roles:
                yield _row(*exchange(demo.predictor.signature, demo.fields))
        return
    for example in examples_of(seen, [role for role in ROLES if role in roles]):
        role = getattr(seen.program, example.role)
        yield _row(*exchange(role.predict.signature, dict(example.items())))


def _row(asked: list[dict[str, Any]], said: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [*asked, said]}


# ---- without the program


def _stories(results: Any) -> Iterator[Story]:
    for thing in [results] if isinstance(results, str | PathLike) or not isinstance(results, Iterable) else results:
        if isinstance(thing, Story):
            yield thing
            continue
        if not isinstance(thing, str | PathLike):
            raise TypeError(
                f"results: {type(thing).__name__}: without program=, prompts and replies are known of journals alone; "
                "give their paths, or the program"
            )
        yield from map(Story.read, journals_in(Path(thing)))


def _to_the_letter(story: Story, roles: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The calls on the path to a solution; of the ratings, those of one node alone."""
    result = story.result()
    if not result.solved:
        return
    path = {node.id for node in result.tree.path(result.best)}
    for told in story.told:
        if ROLE_OF[type(told.request)] in roles and _leads(told, path, result.best.id):
            for record in told.records:
                if record.get("messages") and record.get("outputs"):
                    yield _row(list(record["messages"]), {"role": "assistant", "content": record["outputs"][0]})


def _leads(told: Told, path: set[int], best: int) -> bool:
    request = told.request
    if told.outcome is None or told.outcome[0] in ("unread", "failed"):
        return False
    if isinstance(request, Propose):
        return request.node in path and request.node != best
    if isinstance(request, Rate):
        return len(request.nodes) == 1 and request.nodes[0] in path
    return isinstance(request, Step | Answer) and request.node in path
