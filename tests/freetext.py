"""Free-text programs and models for tests: what is proposed, how it is rated, what is answered at the end."""

from __future__ import annotations

from typing import Any

from engines import Engine
from puzzle24 import KINDS
from thoughtree import Beam, TreeOfThoughts

ONE = Beam(width=5, branching=3, max_depth=1)


def thinks(answer: Any = None, thoughts: str = "1. a\n2. b") -> Engine:
    """Proposes, finds everything good, and answers with these fields (or by a function of the inputs)."""

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "propose":
            return {"next_thoughts": thoughts}
        if kind == "rate":
            return {"rating_reasoning": "r", "thought_rating": "sure"}
        return answer(inputs, n) if callable(answer) else answer

    return Engine(fn, kinds=KINDS)


def closings(model: Engine) -> list[Any]:
    """The calls of a model that were no role's but the closing one."""
    return [c for c in model.calls if c.kind not in KINDS]


def answering(signature: Any = "question -> answer", **knobs: Any) -> TreeOfThoughts:
    """One level of thoughts, then an answer."""
    return TreeOfThoughts(signature, **{"controller": ONE, **knobs})


def rater(**replies: Any) -> Engine:
    """Proposes a, b, c, and rates with these fields, or with functions of the inputs."""

    def fn(kind: Any, inputs: Any, n: int) -> Any:
        if kind == "propose":
            return {"next_thoughts": "1. a\n2. b\n3. c"}
        return {name: value(inputs) if callable(value) else value for name, value in replies.items()}

    return Engine(fn, kinds=KINDS)


def rating(**knobs: Any) -> TreeOfThoughts:
    """One level of thoughts, rated; the path is the answer."""
    knobs.setdefault("controller", ONE)
    return TreeOfThoughts("question -> answer", answer="path", **knobs)


def last(inputs: Any) -> str:
    """The last step of the path that a prompt shows."""
    return str(inputs["search_path"].splitlines()[-1].split(". ", 1)[1])


def values(found: Any) -> dict[str, float | None]:
    """The values of the first level, by thought."""
    return {str(n.action): n.value for n in found.search.tree if n.depth == 1}
