"""Which examples settings are raced on, and which are kept for the end."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import dspy

FRESH = 0.4  # of the examples, for the end, where there is no valset
LEAST = 8  # examples, in all


def split(
    trainset: Sequence[dspy.Example], valset: Sequence[dspy.Example] | None, seed: int
) -> tuple[list[dspy.Example], list[int], list[int]]:
    """All examples, the places of those to race on, shuffled, and of the fresh ones. ValueError for too few."""
    for name, given in (("trainset", trainset), ("valset", valset or [])):
        for number, example in enumerate(given):
            if not isinstance(example, dspy.Example):
                raise TypeError(f"{name}[{number}]={example!r}: must be a dspy.Example, with its inputs set")
    examples = [*trainset, *(valset or [])]
    if len(examples) < LEAST:
        raise ValueError(f"{len(examples)} examples in trainset and valset: too few to tune on; give at least {LEAST}")
    places = list(range(len(trainset)))
    Random(seed).shuffle(places)
    if valset:
        if not trainset:
            raise ValueError("trainset=[]: there is nothing to try settings on")
        return examples, places, list(range(len(trainset), len(examples)))
    cut = len(places) - max(2, round(FRESH * len(places)))
    return examples, places[:cut], places[cut:]
