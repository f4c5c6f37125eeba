"""Which examples settings are raced on, and which are kept for the end."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from random import Random

import dspy

from .fields import keys_of

logger = logging.getLogger(__name__)

FRESH = 0.4  # of the examples, for the end, where there is no valset
LEAST = 8  # examples, in all
RACED = 4  # that are left to race on, if none of the fresh ones is to be among them


def split(
    trainset: Sequence[dspy.Example], valset: Sequence[dspy.Example] | None, seed: int
) -> tuple[list[dspy.Example], list[int], list[int]]:
    """All examples, the places of those to race on, shuffled, and of the fresh ones. ValueError for too few.

    Inputs that are in both sets, or there twice, are kept for the end, as a setting that is chosen by them has seen
    them. Where next to nothing else is there to race on, the fresh ones are a part of all, as without a valset.
    """
    for name, given in (("trainset", trainset), ("valset", valset or [])):
        for number, example in enumerate(given):
            if not isinstance(example, dspy.Example):
                raise TypeError(f"{name}[{number}]={example!r}: must be a dspy.Example, with its inputs set")
    examples = [*trainset, *(valset or [])]
    if len(examples) < LEAST:
        raise ValueError(f"{len(examples)} examples in trainset and valset: too few to tune on; give at least {LEAST}")
    places = list(range(len(trainset)))
    Random(seed).shuffle(places)
    if not valset:
        cut = len(places) - max(2, round(FRESH * len(places)))
        return examples, _unlike(examples, places[:cut], places[cut:]) or places[:cut], places[cut:]
    if not trainset:
        raise ValueError("trainset=[]: there is nothing to try settings on")
    fresh = list(range(len(trainset), len(examples)))
    raced = _unlike(examples, places, fresh)
    if len(raced) == len(places):
        return examples, places, fresh
    logger.warning(
        "inputs of %d examples of trainset are in valset too: no setting is raced on them", len(places) - len(raced)
    )
    return (examples, raced, fresh) if len(raced) >= RACED else split(_once(examples), None, seed)


def _unlike(examples: Sequence[dspy.Example], some: Sequence[int], others: Sequence[int]) -> list[int]:
    """Those of some places whose inputs are at none of the others."""
    seen = {_inputs(examples[place]) for place in others}
    return [place for place in some if _inputs(examples[place]) not in seen]


def _once(examples: Sequence[dspy.Example]) -> list[dspy.Example]:
    return list({_inputs(example): example for example in examples}.values())


def _inputs(example: dspy.Example) -> str:
    return keys_of([example.inputs()])[0]
