"""A model that plays the Game of 24 with 4 9 10 13 by a script: its proposals and ratings, by state."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import dspy
import pytest

from engines import Engine, lm

KINDS = {
    "propose": "next_thoughts",
    "rate": "thought_rating",
    "siblings": "thought_ratings",
    "vote": "best_thought",
    "compare": "better_thought",
    "assess": "rating_score",
}
PUZZLE = "4 9 10 13"
PATH = ["10-4=6", "13-9=4", "6*4=24"]
STEPS = {
    "4 9 10 13": ["10 - 4 = 6", "4 + 9 = 13", "13 * 4 = 52"],
    "6 9 13": ["6 + 9 = 15", "13 - 9 = 4"],
    "13 15": ["13 + 15 = 28", "15 - 13 = 2", "13 * 15 = 195"],
    "4 6": ["4 + 6 = 10", "6 * 4 = 24"],
    "10 13 13": ["13 + 13 = 26", "13 - 13 = 0"],
    "9 10 52": ["52 - 9 = 43", "10 + 9 = 19"],
}
RATINGS = {"6 9 13": "sure", "13 15": "sure", "4 6": "maybe"}  # every other state is impossible


def script(kind: Any, inputs: Mapping[str, str], n: int) -> dict[str, Any]:
    """Replies with the fields that are asked for."""
    if kind == "propose":
        return {
            "next_thoughts": "\n".join(
                f"{i}. {s}" for i, s in enumerate(STEPS.get(inputs["search_state"], ["give up"]), 1)
            )
        }
    assert kind == "rate", kind
    return {
        "rating_reasoning": "by script",
        "thought_rating": RATINGS.get(inputs["search_state"], "impossible"),
    }


def engine(fn: Callable[..., Any] = script, delay: float = 0.0, **settings: Any) -> Engine:
    return Engine(fn, delay, kinds=KINDS, **settings)


def call(program: Any, model: Any, driver: str = "threads", **inputs: Any) -> Any:
    """One call of the program with this model (an Engine or an LM), by threads or on an event loop."""
    with dspy.context(lm=lm(model) if isinstance(model, Engine) else model):
        if driver == "threads":
            return program(**inputs)
        return asyncio.run(program.acall(**inputs))


drivers = pytest.mark.parametrize("driver", ["threads", "asyncio"])
each = pytest.mark.parametrize(("driver", "concurrency"), [(d, c) for d in ("threads", "asyncio") for c in (1, 8)])
