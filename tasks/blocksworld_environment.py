"""Blocksworld as a world to act in: pure, or live with snapshots. A clumsy hand may drop what it moves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from ..search.environment import Observed
from ..search.protocol import Illegal
from .blocksworld import Blocksworld, BlocksworldState
from .blocksworld_facts import blocks_of, fact
from .blocksworld_move import BlockMove, read_move


@dataclass(frozen=True)
class BlocksworldEnvironment:
    """A pure environment, for any problem of Blocksworld.

    task: whose style observations are in. drop: how likely, 0 to 1, a block that is taken or stacked ends up on the
    table instead. Chance is a function of seed, facts, and the number of moves so far: a step that is repeated from
    the same state goes the same way, and one that is tried again later may not.
    """

    task: Blocksworld = field(default_factory=Blocksworld)
    drop: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.drop <= 1:
            raise ValueError(f"BlocksworldEnvironment(drop={self.drop!r}): must be 0 to 1")

    def initial(self, inputs: Mapping[str, Any]) -> BlocksworldState:
        return self.task.initial(inputs)

    def step(self, state: BlocksworldState, action: BlockMove | str) -> Observed:
        """Raises Illegal for a move that the rules forbid; nothing has happened then."""
        move = read_move(action, blocks_of(state.facts)) if isinstance(action, str) else action
        new = move if isinstance(move, Illegal) else self.task.apply(state, move)
        if isinstance(move, Illegal) or isinstance(new, Illegal):
            raise new if isinstance(new, Illegal) else move  # type: ignore[misc]
        if move.verb == "put down" or self._chance(state, move) >= self.drop:
            return self.observed(new)
        new = self.task.predicted(state, move, _dropped(state.facts, move))
        return self.observed(new, f"{self.task.show(move)}: the block slipped, and fell on the table.")

    def observed(self, state: BlocksworldState, happened: str = "") -> Observed:
        """What is seen in a state: the facts, and how much of the goal is met."""
        text = self.task.render(state)
        return Observed(
            state,
            observation=f"{happened}\n{text}" if happened else text,
            solved=self.task.is_goal(state),
            terminal=self.task.is_goal(state),
            value=self.task.goal_share(state),
            key=self.task.key(state),
        )

    def _chance(self, state: BlocksworldState, move: BlockMove) -> float:
        """0 to 1, evenly spread."""
        who = json.dumps([self.seed, sorted(state.facts), len(state.plan), move.pddl])
        return int(sha256(who.encode()).hexdigest()[:13], 16) / 16**13


def _dropped(facts: frozenset[str], move: BlockMove) -> frozenset[str]:
    """What holds once the block that was being moved lies on the table; `completed` adds what follows."""
    place = {fact("holding", move.block), fact("on", move.block, move.other or ""), fact("ontable", move.block)}
    return facts - place | {fact("ontable", move.block)}


class LiveBlocksworld:
    """The same world in a single state at a time, which it can be put back to. steps: how many were made, ever."""

    def __init__(self, environment: BlocksworldEnvironment, inputs: Mapping[str, Any]) -> None:
        self.environment = environment
        self.state = environment.initial(inputs)
        self.steps = 0

    def step(self, action: BlockMove | str) -> Observed:
        """Raises Illegal for a move that the rules forbid; the state is then as it was."""
        self.steps += 1
        observed = self.environment.step(self.state, action)
        self.state = observed.state
        return observed

    def snapshot(self) -> BlocksworldState:
        return self.state

    def restore(self, token: BlocksworldState) -> None:
        self.state = token
