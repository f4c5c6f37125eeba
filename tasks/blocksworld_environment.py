"""Blocksworld as a world to act in: pure, or live with snapshots. A clumsy hand may drop what it moves."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from ..search.environment import Observed
from ..search.protocol import Illegal
from .blocksworld import Blocksworld, BlocksworldState
from .blocksworld_facts import fact
from .blocksworld_move import BlockMove


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

    # What a program wants to know of an environment, the task knows.

    signature = Blocksworld.signature

    @property
    def action_format(self) -> str:
        return self.task.action_format

    def config(self) -> dict[str, Any]:
        return {"task": self.task.config(), "drop": self.drop, "seed": self.seed}

    def instructions(self) -> str:
        return self.task.instructions()

    def parse(self, text: str, state: BlocksworldState) -> BlockMove | Illegal:
        return self.task.parse(text, state)

    def moves(self, state: BlocksworldState) -> list[BlockMove]:
        return self.task.moves(state)

    def key(self, state: BlocksworldState) -> Hashable:
        return self.task.key(state)

    def render(self, state: BlocksworldState) -> str:
        return self.task.render(state)

    def answer(self, state: BlocksworldState) -> dict[str, Any]:
        return self.task.answer(state)

    def dump(self, state: BlocksworldState) -> Any:
        return self.task.dump(state)

    def load(self, value: Any) -> BlocksworldState:
        return self.task.load(value)

    # The world

    def initial(self, inputs: Mapping[str, Any]) -> BlocksworldState:
        return self.task.initial(inputs)

    def step(self, state: BlocksworldState, action: BlockMove | str) -> Observed:
        """Raises Illegal for a move that the rules forbid; nothing has happened then."""
        move = self.parse(action, state) if isinstance(action, str) else action
        if isinstance(move, Illegal):
            raise move
        new = self.task.apply(state, move)
        if isinstance(new, Illegal):
            raise new
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
        self.steps = 0
        self.reset(inputs)

    def reset(self, inputs: Mapping[str, Any]) -> str:
        """To the start of a problem; what is seen there."""
        self.state = self.environment.initial(inputs)
        return self.environment.render(self.state)

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
