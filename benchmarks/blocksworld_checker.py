"""Does this plan reach the goal? STRIPS operators run on tuples, sharing no code with the task that a search trusts."""

from __future__ import annotations

from collections.abc import Collection, Iterable

Facts = set[tuple[str, ...]]
# (what must hold, what is added, what is deleted) of each operator; x, y: its blocks.
OPERATORS: dict[str, tuple[str, str, str]] = {
    "pick-up": ("clear x, ontable x, handempty", "holding x", "clear x, ontable x, handempty"),
    "put-down": ("holding x", "clear x, ontable x, handempty", "holding x"),
    "stack": ("holding x, clear y", "on x y, clear x, handempty", "holding x, clear y"),
    "unstack": ("on x y, clear x, handempty", "holding x, clear y", "on x y, clear x, handempty"),
}


def reaches(start: Collection[str], goal: Collection[str], plan: Iterable[str]) -> bool:
    """Do the actions, such as `(stack a b)`, lead from the start to the goal, each of them legal where it is taken?"""
    state = {_fact(text) for text in start}
    for action in plan:
        name, *blocks = action.strip("()").split()
        operator = OPERATORS.get(name)
        if operator is None or len(blocks) != (2 if name in ("stack", "unstack") else 1):
            return False
        needed, added, deleted = (_facts(text, blocks) for text in operator)
        if not needed <= state:
            return False
        state = (state - deleted) | added
    return {_fact(text) for text in goal} <= state


def _facts(text: str, blocks: list[str]) -> Facts:
    named = dict(zip("xy", blocks, strict=False))
    return {tuple(named.get(word, word) for word in part.split()) for part in text.split(", ")}


def _fact(text: str) -> tuple[str, ...]:
    return tuple(text.replace("(", " ").replace(")", "").replace(",", " ").split())
